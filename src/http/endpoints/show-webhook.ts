import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { formatWebhook, WEBHOOK_EXAMPLE, webhookView } from '../webhook-fields.ts';

/** GET /v1/webhooks/{id} (webhooks.md 1). */
export const showWebhook = defineEndpoint({
  method: 'GET',
  path: '/v1/webhooks/:id',
  params: { id: 'Id of the webhook' },
  family: 'vault',
  tag: 'Webhooks',
  operationId: 'showWebhook',
  permission: 'webhooks:manage',
  summary: 'Show a webhook',
  description: 'One webhook, with its last attempt. The secret is never shown again.',
  data: webhookView,
  failures: ['unknown_webhook'],
  example: { data: WEBHOOK_EXAMPLE },
  async run(call) {
    return formatWebhook(await call.services.webhooks.get(call.tenant, pathParameter(call, 'id')));
  },
});
