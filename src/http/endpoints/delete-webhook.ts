import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { object, output } from '../fields.ts';
import { WEBHOOK_EXAMPLE } from '../webhook-fields.ts';

/** DELETE /v1/webhooks/{id} (webhooks.md 1). */
export const deleteWebhook = defineEndpoint({
  method: 'DELETE',
  path: '/v1/webhooks/:id',
  params: { id: 'Id of the webhook' },
  family: 'vault',
  tag: 'Webhooks',
  operationId: 'deleteWebhook',
  permission: 'webhooks:manage',
  summary: 'Delete a webhook',
  description: 'Deletes it with its deliveries. A request in progress may still arrive.',
  data: object({ id: output.text('Id of the webhook'), status: output.oneOf(['success'], 'success') }),
  failures: ['unknown_webhook'],
  example: { data: { id: WEBHOOK_EXAMPLE.id, status: 'success' } },
  async run(call) {
    const id = pathParameter(call, 'id');
    await call.services.webhooks.delete(call.transaction, call.tenant, id);
    return { id, status: 'success' as const };
  },
});
