import { invalidField } from '../../kernel/failure.ts';
import { LIMITS } from '../../kernel/limits.ts';
import { DELIVERY_STATUSES, type DeliveryStatus, isEventId } from '../../webhooks/webhook.ts';
import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { object, output } from '../fields.ts';
import { deliveryView, formatDelivery } from '../webhook-fields.ts';

/** GET /v1/webhooks/{id}/deliveries (webhooks.md 1). */
export const listDeliveries = defineEndpoint({
  method: 'GET',
  path: '/v1/webhooks/:id/deliveries',
  params: { id: 'Id of the webhook' },
  parameters: {
    status: {
      in: 'query',
      description: 'Only deliveries of this status',
      required: false,
      schema: { type: 'string', enum: DELIVERY_STATUSES },
    },
    before: {
      in: 'query',
      description: 'The event_id of the last delivery of the page before',
      required: false,
      schema: { type: 'string' },
    },
  },
  family: 'vault',
  tag: 'Webhooks',
  operationId: 'listDeliveries',
  permission: 'webhooks:manage',
  summary: 'List the deliveries of a webhook',
  description: `The newest first, ${LIMITS.webhookDeliveriesPerPage} a page. Events and deliveries are removed 30 days after the event.`,
  data: object({ deliveries: output.list(deliveryView, 'The deliveries') }),
  failures: ['unknown_webhook'],
  example: {
    query: 'status=delivered',
    data: {
      deliveries: [
        {
          event_id: 'evt_aahlqkczgvaaatqbhwzmfnrcx',
          type: 'payment.authorized',
          created_at: '2026-01-15T10:30:00.000Z',
          status: 'delivered',
          attempts: 1,
          last_attempt_at: '2026-01-15T10:30:00.120Z',
          last_status_code: 204,
        },
      ],
    },
  },
  async run(call) {
    const { services, tenant, query } = call;
    const deliveries = await services.webhooks.listDeliveries(tenant, pathParameter(call, 'id'), parseQuery(query));
    return { deliveries: deliveries.map(formatDelivery) };
  },
});

function parseQuery(query: string): { status: DeliveryStatus | undefined; before: string | undefined } {
  const given = new URLSearchParams(query);
  const [status, before] = [given.get('status') ?? undefined, given.get('before') ?? undefined];
  const known = DELIVERY_STATUSES.find((each) => each === status);
  if (status !== undefined && known === undefined)
    throw invalidField('status', 'choice', { words: DELIVERY_STATUSES.join(', ') });
  if (before !== undefined && !isEventId(before)) throw invalidField('before', 'eventId');
  return { status: known, before };
}
