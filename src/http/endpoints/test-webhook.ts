import { DELIVERY_ERRORS, type Endpoint } from '../../webhooks/webhook.ts';
import type { TrialResult } from '../../webhooks/webhooks.ts';
import { type ApiCall, defineEndpoint, pathParameter, type Services } from '../endpoint.ts';
import { object, optional, output, type ValueOf } from '../fields.ts';
import type { StagedHandler } from '../route.ts';

const data = object({
  delivered: output.bool('The webhook responded with a status of 2xx in time'),
  status_code: optional(output.integer('Status of the response, when there was one')),
  error: optional(output.oneOf(DELIVERY_ERRORS, 'Why it failed')),
  duration_ms: output.integer('How long the attempt took, in milliseconds'),
});

/** The endpoint that the test event is sent to. */
interface Trial extends Pick<ApiCall, 'tenant'> {
  readonly endpoint: Endpoint;
}

/** A repeat with the same `Idempotency-Key` sends nothing: the result of the first is stored. */
const handler: Required<StagedHandler<ApiCall, ValueOf<typeof data>, Services, Trial, TrialResult>> = {
  async intend(call) {
    const { services, transaction, tenant } = call;
    return { tenant, endpoint: await services.webhooks.beginTrial(transaction, tenant, pathParameter(call, 'id')) };
  },
  send: ({ webhooks }, { tenant, endpoint }) => webhooks.sendTrial(tenant, endpoint),
  async conclude(_call, _trial, { statusCode, error, durationMs }) {
    return { delivered: error === undefined, status_code: statusCode, error, duration_ms: durationMs };
  },
  replay: async () => undefined,
};

/** POST /v1/webhooks/{id}/test (webhooks.md 1). */
export const testWebhook = defineEndpoint({
  method: 'POST',
  path: '/v1/webhooks/:id/test',
  params: { id: 'Id of the webhook' },
  family: 'vault',
  tag: 'Webhooks',
  operationId: 'testWebhook',
  permission: 'webhooks:manage',
  summary: 'Send a test event',
  description:
    'Sends webhook.test once, now, whatever the webhook has selected and also while it is disabled. No delivery is kept. At most 10 a minute for each webhook.',
  data,
  failures: ['unknown_webhook', 'rate_limited'],
  example: { data: { delivered: true, status_code: 204, duration_ms: 87 } },
  run: handler,
});
