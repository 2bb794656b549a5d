import { formatIso8601 } from '../../kernel/clock.ts';
import { LIMITS } from '../../kernel/limits.ts';
import { formatSecret } from '../../webhooks/signature.ts';
import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { integer, object, optional, output } from '../fields.ts';
import { WEBHOOK_EXAMPLE } from '../webhook-fields.ts';

const DEFAULT_OVERLAP_MINUTES = 60;

/** POST /v1/webhooks/{id}/rotate (webhooks.md 1). */
export const rotateWebhook = defineEndpoint({
  method: 'POST',
  path: '/v1/webhooks/:id/rotate',
  params: { id: 'Id of the webhook' },
  family: 'vault',
  tag: 'Webhooks',
  operationId: 'rotateWebhook',
  permission: 'webhooks:manage',
  summary: 'Replace the secret of a webhook',
  description:
    'The new secret is shown once. Until old_secret_until both secrets sign each attempt; another rotation ends the oldest at once.',
  body: object({
    overlap_minutes: optional(
      integer({ min: 0, max: LIMITS.webhookOverlapMinutes }, 'Minutes for which the old secret signs too; default 60'),
    ),
  }),
  data: object({
    id: output.text('Id of the webhook'),
    secret: output.text('Verifies signatures; shown only here'),
    old_secret_until: output.time('When the old secret ends'),
  }),
  failures: ['unknown_webhook'],
  example: {
    body: { overlap_minutes: 60 },
    data: {
      id: WEBHOOK_EXAMPLE.id,
      secret: 'whsec_Zm9yIHRoZSBleGFtcGxlIG9ubHksIG5vdCByYW5kb20hISE=',
      old_secret_until: '2026-01-15T11:30:00.000Z',
    },
  },
  async run(call) {
    const { services, transaction, tenant, body } = call;
    const overlapMinutes = body.overlap_minutes ?? DEFAULT_OVERLAP_MINUTES;
    const id = pathParameter(call, 'id');
    const { secret, oldSecretUntil } = await services.webhooks.rotate(
      transaction,
      tenant,
      { id, overlapMinutes },
      'api-key',
    );
    return { id, secret: formatSecret(secret), old_secret_until: formatIso8601(oldSecretUntil) };
  },
});
