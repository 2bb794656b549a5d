import { defineEndpoint } from '../endpoint.ts';
import { object, output } from '../fields.ts';
import { formatWebhook, WEBHOOK_EXAMPLE, webhookView } from '../webhook-fields.ts';

/** GET /v1/webhooks (webhooks.md 1). */
export const listWebhooks = defineEndpoint({
  method: 'GET',
  path: '/v1/webhooks',
  family: 'vault',
  tag: 'Webhooks',
  operationId: 'listWebhooks',
  permission: 'webhooks:manage',
  summary: 'List the webhooks',
  description: 'All webhooks of the account in this environment, the oldest first.',
  data: object({ webhooks: output.list(webhookView, 'The webhooks') }),
  failures: [],
  example: { data: { webhooks: [WEBHOOK_EXAMPLE] } },
  async run({ services, tenant }) {
    return { webhooks: (await services.webhooks.list(tenant)).map(formatWebhook) };
  },
});
