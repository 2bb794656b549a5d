import { anyString, integer, list, object, oneOf, optional, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import {
  ALL_EVENTS,
  DELIVERY_ERRORS,
  DELIVERY_STATUSES,
  DISABLED_REASONS,
  EVENT_TYPES,
} from '../../src/webhooks/webhook.ts';
import { resultOrApproval } from './approvals.ts';
import { define, done, orNull } from './definition.ts';

/** Webhooks, and the deliveries of events to them. */

const webhook = object({
  id: output.text('Id'),
  url: output.text('Address'),
  events: output.texts('Selected types, or * alone'),
  description: output.nullableText('Description'),
  state: output.oneOf(['enabled', 'disabled'] as const, 'Whether events are sent'),
  disabled_reason: orNull(output.oneOf(DISABLED_REASONS, 'Why it is disabled')),
  created_at: output.time('Time of creation'),
  last_attempt_at: output.nullableTime('Time of the last attempt'),
  last_error: orNull(output.oneOf(DELIVERY_ERRORS, 'Why it failed')),
  revision: output.integer('Sent with a change, so that concurrent changes conflict'),
});

const delivery = object({
  event_id: output.text('Id of the event'),
  type: output.text('Type of the event'),
  created_at: output.time('Time of the event'),
  state: output.oneOf(DELIVERY_STATUSES, 'Status'),
  attempts: output.integer('Attempts so far'),
  last_status_code: orNull(output.integer('Status of the last response')),
  last_error: orNull(output.oneOf(DELIVERY_ERRORS, 'Why the last attempt failed')),
  next_attempt_at: output.nullableTime('Time of the next attempt'),
});

const path = '/api/accounts/:account/:environment/webhooks';
const SELECTABLE = [ALL_EVENTS, ...EVENT_TYPES] as const;

const attributes = {
  url: plainText(LIMITS.webhookUrlCharacters, 'Address'),
  events: list(oneOf(SELECTABLE, 'A type'), { min: 1, max: EVENT_TYPES.length }, 'Types, or * alone'),
  description: optional(plainText(LIMITS.webhookDescriptionCharacters, 'Description')),
};

export const listWebhooks = define({
  method: 'GET',
  path,
  access: 'webhooks:read',
  data: object({ webhooks: output.list(webhook, 'The oldest first') }),
});

export const createWebhook = define({
  method: 'POST',
  path,
  access: 'webhooks:write',
  stepUp: true,
  dualControl: 'webhook.create',
  body: object(attributes),
  data: resultOrApproval(object({ webhook, secret: output.text('The secret, which is shown once') })),
});

export const editWebhook = define({
  method: 'POST',
  path: `${path}/:id`,
  access: 'webhooks:write',
  stepUp: true,
  dualControl: 'webhook.edit',
  body: object({
    ...attributes,
    state: oneOf(['enabled', 'disabled'], 'Whether events are sent'),
    revision: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }, 'Value that was read'),
  }),
  data: resultOrApproval(object({ webhook })),
});

export const rotateWebhook = define({
  method: 'POST',
  path: `${path}/:id/rotate`,
  access: 'webhooks:write',
  stepUp: true,
  dualControl: 'webhook.rotate',
  body: object({
    overlap_minutes: integer({ min: 0, max: LIMITS.webhookOverlapMinutes }, 'Overlap, during which both secrets sign'),
  }),
  data: resultOrApproval(object({ secret: output.text('The secret, which is shown once') })),
});

/** Needs no approval: an address that was taken over has to be removed immediately. */
export const deleteWebhook = define({
  method: 'DELETE',
  path: `${path}/:id`,
  access: 'webhooks:write',
  stepUp: true,
  allowedWhileSuspended: true,
  data: object({ done }),
});

export const testWebhook = define({
  method: 'POST',
  path: `${path}/:id/test`,
  access: 'webhooks:write',
  data: object({
    delivered: output.bool('It responded with a status of 2xx in time'),
    status_code: orNull(output.integer('Status of the response')),
    error: orNull(output.oneOf(DELIVERY_ERRORS, 'Why it failed')),
    duration_ms: output.integer('Duration in milliseconds'),
  }),
});

export const listDeliveries = define({
  method: 'GET',
  path: `${path}/:id/deliveries`,
  access: 'webhooks:read',
  query: object({
    status: optional(oneOf(DELIVERY_STATUSES, 'Status')),
    cursor: optional(anyString('Event id of the last delivery of the previous page')),
  }),
  data: object({
    webhook,
    deliveries: output.list(delivery, 'Newest first'),
    next: output.nullableText('Where the next page begins; null at the end'),
  }),
});

/** The body as every attempt sends it: no card number, no secret. */
export const showEvent = define({
  method: 'GET',
  path: `${path}/:id/deliveries/:event`,
  access: 'webhooks:read',
  data: object({ body: output.text('JSON') }),
});

export const replayDelivery = define({
  method: 'POST',
  path: `${path}/:id/deliveries/:event/replay`,
  access: 'webhooks:write',
  data: object({ done }),
});
