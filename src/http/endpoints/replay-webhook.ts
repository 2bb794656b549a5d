import { parseIso8601 } from '../../kernel/clock.ts';
import { Failure, invalidField } from '../../kernel/failure.ts';
import { explain } from '../../kernel/reasons.ts';
import { isEventId } from '../../webhooks/webhook.ts';
import { defineEndpoint, pathParameter } from '../endpoint.ts';
import { anyString, object, optional, output } from '../fields.ts';

/** POST /v1/webhooks/{id}/replay (webhooks.md 1). */
export const replayWebhook = defineEndpoint({
  method: 'POST',
  path: '/v1/webhooks/:id/replay',
  params: { id: 'Id of the webhook' },
  family: 'vault',
  tag: 'Webhooks',
  operationId: 'replayWebhook',
  permission: 'webhooks:manage',
  summary: 'Send events again',
  description:
    'Sends one delivery again, or all that failed since a time: the same id and body, and the schedule from its start. Give event_id or since.',
  body: object({
    event_id: optional(anyString('Id of the event of any delivery')),
    since: optional(anyString('Time, ISO 8601: all deliveries of events since then that failed')),
  }),
  data: object({ count: output.integer('Deliveries that will be sent again') }),
  failures: ['unknown_webhook', 'unknown_event', 'not_possible'],
  example: { body: { since: '2026-01-15T00:00:00Z' }, data: { count: 3 } },
  async run(call) {
    const { services, transaction, tenant, body } = call;
    const wanted = toWanted(body);
    return { count: await services.webhooks.replay(transaction, tenant, pathParameter(call, 'id'), wanted) };
  },
});

function toWanted({ event_id: eventId, since }: { event_id?: string | undefined; since?: string | undefined }) {
  if ((eventId === undefined) === (since === undefined))
    throw new Failure('invalid_field', explain('eventOrSince'), { field: 'event_id' });
  if (eventId !== undefined) {
    if (!isEventId(eventId)) throw new Failure('unknown_event', { field: 'event_id' });
    return { eventId };
  }
  const time = parseIso8601(since ?? '');
  if (time === undefined) throw invalidField('since', 'isoTime');
  return { since: time };
}
