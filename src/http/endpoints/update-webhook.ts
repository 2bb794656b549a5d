import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { object, oneOf, optional } from '../fields.ts';
import {
  formatWebhook,
  WEBHOOK_EXAMPLE,
  webhookDescription,
  webhookEvents,
  webhookUrl,
  webhookView,
} from '../webhook-fields.ts';

/** POST /v1/webhooks/{id} (webhooks.md 1). */
export const updateWebhook = defineEndpoint({
  method: 'POST',
  path: '/v1/webhooks/:id',
  params: { id: 'Id of the webhook' },
  family: 'vault',
  tag: 'Webhooks',
  operationId: 'updateWebhook',
  permission: 'webhooks:manage',
  summary: 'Change a webhook',
  description:
    'Members that are absent stay. Holds for every attempt that begins 5 seconds later. What waits for a webhook fails when it is disabled; enabling sends nothing by itself: replay does.',
  body: object({
    url: optional(webhookUrl),
    events: optional(webhookEvents),
    description: webhookDescription,
    status: optional(oneOf(['enabled', 'disabled'], 'Whether events are sent')),
  }),
  data: webhookView,
  failures: ['unknown_webhook'],
  example: {
    body: { status: 'disabled' },
    data: { ...WEBHOOK_EXAMPLE, status: 'disabled', disabled_reason: 'request' },
  },
  async run(call) {
    const { services, transaction, tenant, body } = call;
    return formatWebhook(
      await services.webhooks.update(transaction, tenant, pathParameter(call, 'id'), body, 'api-key'),
    );
  },
});
