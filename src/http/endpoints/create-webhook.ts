import { formatSecret } from '../../webhooks/signature.ts';
import { defineEndpoint } from '../endpoint.ts';
import { object } from '../fields.ts';
import {
  formatWebhook,
  newWebhookView,
  WEBHOOK_EXAMPLE,
  webhookDescription,
  webhookEvents,
  webhookUrl,
} from '../webhook-fields.ts';

/** POST /v1/webhooks (webhooks.md 1). */
export const createWebhook = defineEndpoint({
  method: 'POST',
  path: '/v1/webhooks',
  family: 'vault',
  tag: 'Webhooks',
  operationId: 'createWebhook',
  permission: 'webhooks:manage',
  summary: 'Create a webhook',
  description:
    'Events are sent to the URL, signed as Standard Webhooks 1.0.0 says. The secret is shown once. An account has at most 10 webhooks in each environment.',
  body: object({ url: webhookUrl, events: webhookEvents, description: webhookDescription }),
  data: newWebhookView,
  failures: ['not_possible'],
  example: {
    body: { url: WEBHOOK_EXAMPLE.url, events: WEBHOOK_EXAMPLE.events },
    data: { ...WEBHOOK_EXAMPLE, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' },
  },
  async run({ services, transaction, tenant, body }) {
    const { endpoint, secret } = await services.webhooks.create(transaction, tenant, body, 'api-key');
    return { ...formatWebhook({ endpoint, last: undefined }), secret: formatSecret(secret) };
  },
});
