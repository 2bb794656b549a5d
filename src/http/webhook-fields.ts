import { formatIso8601 } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import {
  DELIVERY_ERRORS,
  DELIVERY_STATUSES,
  type Delivery,
  DISABLED_REASONS,
  type LastAttempt,
  type StoredEndpoint,
  statusOf,
} from '../webhooks/webhook.ts';
import { anyString, list, object, optional, output, plainText, type ValueOf } from './fields.ts';

/** Fields of the endpoints of webhooks (webhooks.md 1). */

const MAX_EVENT_TYPES = 100;

export const webhookUrl = anyString('Where events are sent; https');
export const webhookEvents = list(
  anyString('A type, as payment.authorized'),
  { min: 1, max: MAX_EVENT_TYPES },
  'The types to send; ["*"] for all, also those of later versions',
);
export const webhookDescription = optional(plainText(LIMITS.webhookDescriptionCharacters, 'Free text'));

const lastDelivery = object({
  at: output.time('Time of the attempt'),
  status_code: optional(output.integer('Status of the response, when there was one')),
  error: optional(output.oneOf(DELIVERY_ERRORS, 'Why the attempt failed')),
});

const members = {
  id: output.text('Id of the webhook'),
  url: output.text('Where events are sent'),
  events: output.texts('The selected types'),
  description: optional(output.text('Free text')),
  status: output.oneOf(['enabled', 'disabled'], 'Whether events are sent'),
  disabled_reason: optional(
    output.oneOf(DISABLED_REASONS, 'request: by a change; gone: it responded 410; failing: nothing could be delivered'),
  ),
  created_at: output.time('Creation time'),
  last_delivery: optional(lastDelivery),
};

export const webhookView = object(members);
export const newWebhookView = object({ ...members, secret: output.text('Verifies signatures; shown only here') });

export const deliveryView = object({
  event_id: output.text('Id of the event: webhook-id of every attempt'),
  type: output.text('Type of the event'),
  created_at: output.time('Time of the event'),
  status: output.oneOf(DELIVERY_STATUSES, 'waiting for its next attempt, delivered, or failed'),
  attempts: output.integer('Attempts so far'),
  last_attempt_at: optional(output.time('Time of the last attempt')),
  last_status_code: optional(output.integer('Status of its response, when there was one')),
  last_error: optional(output.oneOf(DELIVERY_ERRORS, 'Why it failed')),
  next_attempt_at: optional(output.time('Time of the next attempt')),
});

const formatLast = ({ at, statusCode, error }: LastAttempt) => ({
  at: formatIso8601(at),
  status_code: statusCode,
  error,
});

export function formatWebhook({ endpoint, last }: StoredEndpoint): ValueOf<typeof webhookView> {
  const { id, url, events, description, disabledReason, createdAt } = endpoint;
  return {
    ...{ id, url, events, description },
    status: statusOf(endpoint),
    disabled_reason: disabledReason,
    created_at: formatIso8601(createdAt),
    last_delivery: last && formatLast(last),
  };
}

export const formatDelivery = ({
  eventId,
  type,
  createdAt,
  status,
  attempts,
  last,
  nextAttemptAt,
}: Delivery): ValueOf<typeof deliveryView> => ({
  event_id: eventId,
  type,
  created_at: formatIso8601(createdAt),
  status,
  attempts,
  last_attempt_at: last && formatIso8601(last.at),
  last_status_code: last?.statusCode,
  last_error: last?.error,
  next_attempt_at: nextAttemptAt === undefined ? undefined : formatIso8601(nextAttemptAt),
});

export const WEBHOOK_EXAMPLE = {
  id: 'wh_4m8x2p7k1qd9s3v6c0t5b2n8',
  url: 'https://shop.example.com/cardvault',
  events: ['payment.authorized', 'payment.declined'],
  status: 'enabled',
  created_at: '2026-01-15T10:30:00.000Z',
} as const;
