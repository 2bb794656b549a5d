import type { ValueOf } from '../../../../../src/http/fields.ts';
import { ALL_EVENTS, EVENT_TYPES } from '../../../../../src/webhooks/webhook.ts';
import type { listDeliveries, listWebhooks } from '../../../../wire/webhooks.ts';

export type Webhook = ValueOf<typeof listWebhooks.data>['webhooks'][number];
export type Delivery = ValueOf<typeof listDeliveries.data>['deliveries'][number];

/** The values of the form. */
export interface WebhookForm {
  readonly url: string;
  readonly isAll: boolean;
  readonly events: readonly string[];
  readonly description: string;
  readonly isEnabled: boolean;
}

export const NEW_WEBHOOK: WebhookForm = { url: '', isAll: true, events: [], description: '', isEnabled: true };

export const toForm = ({ url, events, description, state }: Webhook): WebhookForm => ({
  url,
  isAll: events.includes(ALL_EVENTS),
  events: events.filter((type) => type !== ALL_EVENTS),
  description: description ?? '',
  isEnabled: state === 'enabled',
});

const ALL: (typeof ALL_EVENTS)[] = [ALL_EVENTS];

export const toAttributes = ({ url, isAll, events, description }: WebhookForm) => ({
  url: url.trim(),
  events: isAll ? ALL : EVENT_TYPES.filter((type) => events.includes(type)),
  ...(description.trim() !== '' && { description: description.trim() }),
});
