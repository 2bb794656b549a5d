import type { Tenant } from '../kernel/environment.ts';

/** Webhooks: events are sent to servers of the merchant (Standard Webhooks 1.0.0). */

export const EVENT_TYPES = [
  'payment.authorized',
  'payment.collected',
  'payment.declined',
  'payment.failed',
  'payment.cancelled',
  'payment.voided',
  'payment.refunded',
  'payment.in_doubt',
  'payment.resolved',
  'capture_session.completed',
  'capture_session.failed',
  'token.deleted',
  'key.expiring',
  'certificate.expiring',
  'webhook.disabled',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Selects all types, also those of later versions. */
export const ALL_EVENTS = '*';

export const isEventType = (text: string): text is EventType => (EVENT_TYPES as readonly string[]).includes(text);

/** The type of a trial that an endpoint gets on request, whatever it has selected. */
export const TEST_TYPE = 'webhook.test';

/** True for the id of an event that was written, as deliveries have it. */
export const isEventId = (text: string): boolean => /^evt_[a-z]{25}$/.test(text);

export const DISABLED_REASONS = ['request', 'gone', 'failing'] as const;

/** Why an endpoint is disabled: by a change, by its response 410, or because nothing was delivered. */
export type DisabledReason = (typeof DISABLED_REASONS)[number];

export type EndpointStatus = 'enabled' | 'disabled';

/** Attributes of an endpoint that a merchant chooses. */
export interface EndpointAttributes {
  readonly url: string;
  /** Types, or `*` alone. */
  readonly events: readonly string[];
  readonly description?: string | undefined;
}

/** The 32 bytes of a secret, with the time after which it signs nothing; undefined for the newest. */
export interface EndpointSecret {
  readonly bytes: Uint8Array;
  readonly until: number | undefined;
}

/** An endpoint of a tenant. Times in milliseconds. */
export interface Endpoint {
  readonly id: string;
  readonly url: string;
  /** Types, or `*` alone. */
  readonly events: readonly string[];
  readonly description: string | undefined;
  readonly disabledReason: DisabledReason | undefined;
  readonly createdAt: number;
  /** The newest first; at most two. */
  readonly secrets: readonly EndpointSecret[];
  readonly revision: number;
}

/** Outcomes of attempts that are no response with a status of 2xx (webhooks.md 1). */
export const DELIVERY_ERRORS = ['address', 'connect', 'tls', 'timeout', 'status'] as const;
export type DeliveryError = (typeof DELIVERY_ERRORS)[number];

/** The last attempt at an endpoint, or of a delivery. */
export interface LastAttempt {
  readonly at: number;
  readonly statusCode: number | undefined;
  readonly error: DeliveryError | undefined;
}

/** An endpoint with its last attempt. */
export interface StoredEndpoint {
  readonly endpoint: Endpoint;
  readonly last: LastAttempt | undefined;
}

export const DELIVERY_STATUSES = ['waiting', 'delivered', 'failed'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** The delivery of an event to an endpoint. */
export interface Delivery {
  readonly tenant: Tenant;
  readonly endpointId: string;
  readonly eventId: string;
  readonly type: string;
  readonly createdAt: number;
  readonly status: DeliveryStatus;
  /** Attempts so far, those before a replay included. */
  readonly attempts: number;
  /** Failed attempts since the schedule began. */
  readonly step: number;
  readonly last: LastAttempt | undefined;
  readonly nextAttemptAt: number | undefined;
}

export const statusOf = ({ disabledReason }: Pick<Endpoint, 'disabledReason'>): EndpointStatus =>
  disabledReason === undefined ? 'enabled' : 'disabled';

/** True when events of the type are sent to the endpoint. */
export const isSelected = ({ events, disabledReason }: Endpoint, type: string): boolean =>
  disabledReason === undefined && (events.includes(ALL_EVENTS) || events.includes(type));
