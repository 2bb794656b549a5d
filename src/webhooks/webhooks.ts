import { createSecretKey, type KeyObject } from 'node:crypto';
import { lockAccount } from '../accounts/account-store.ts';
import type { ChangeControl, ChangeRight, Consent, RestrictedChange } from '../accounts/change-control.ts';
import type { AuditAction, AuditEvent } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { type Clock, MINUTE, type Random, SECOND } from '../kernel/clock.ts';
import { assertDisplayable } from '../kernel/displayable.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure, invalidField, notPossible } from '../kernel/failure.ts';
import { minIdAt, newId, parseIdTime } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Database } from '../storage/database.ts';
import {
  deleteAllDeliveries,
  deleteDeliveries,
  failAllWaiting,
  failWaiting,
  replayFailed,
} from './delivery-batches.ts';
import { EVENT_ID_PREFIX, formatBody } from './outbox.ts';
import {
  type EndpointChanges,
  type IssuedSecret,
  parseCreation,
  parseRotation,
  parseUpdate,
  type RequestedRotation,
  toCreation,
  toRotation,
  toUpdate,
} from './requested-changes.ts';
import type { OutgoingMessage, SendResult, WebhookSender } from './send.ts';
import { SECRET_BYTES, signMessage } from './signature.ts';
import { parseTargetUrl, type TargetAddresses } from './target-address.ts';
import {
  ALL_EVENTS,
  type Delivery,
  type DeliveryStatus,
  type Endpoint,
  type EndpointAttributes,
  type EndpointSecret,
  type EndpointStatus,
  isEventType,
  type StoredEndpoint,
  statusOf,
  TEST_TYPE,
} from './webhook.ts';
import {
  countTrial,
  countWaiting,
  deleteEndpoint,
  findEndpoint,
  findEvent,
  hasDelivery,
  hasOldEvents,
  insertEndpoint,
  listDeliveries,
  listEndpoints,
  purgeOldEvents,
  replayDelivery,
  updateEndpoint,
} from './webhook-store.ts';

const ID_LETTERS = 24;
/** Sorts behind every id of an event. */
const AFTER_ALL = `${EVENT_ID_PREFIX}~`;

/**
 * The right to change an endpoint. An API key needs no consent: in an account under dual control a second person has approved
 * its permission `webhooks:manage`.
 */
type WebhookRight = ChangeRight | 'api-key';

/** `secret`: one that was issued before. */
type Rotation = Omit<RequestedRotation, 'secret'> & Partial<Pick<RequestedRotation, 'secret'>>;

/** The result of a trial. */
export interface TrialResult extends SendResult {
  readonly durationMs: number;
}

/** The new secret is shown once. */
interface WithSecret {
  readonly endpoint: Endpoint;
  readonly secret: Uint8Array;
}

/** Creates, lists, changes, tries and deletes the endpoints of a tenant, and replays their deliveries. */
export class Webhooks {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #addresses: TargetAddresses;
  readonly #sender: WebhookSender;
  readonly #changeControl: Pick<ChangeControl, 'permit'>;
  readonly #userAgent: string;
  /** Times of the newest trials of each tenant in this thread. */
  readonly #trials = new Map<string, readonly number[]>();

  constructor(options: {
    database: Database;
    keyring: Keyring;
    clock: Clock;
    random: Random;
    addresses: TargetAddresses;
    sender: WebhookSender;
    changeControl: Pick<ChangeControl, 'permit'>;
    userAgent: string;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#addresses = options.addresses;
    this.#sender = options.sender;
    this.#changeControl = options.changeControl;
    this.#userAgent = options.userAgent;
  }

  /** Returns a new id and secret. An operator gets them with the request for approval, before they take effect. */
  issueSecret(): IssuedSecret {
    return { id: newId('wh', ID_LETTERS, this.#random), secret: this.#random.bytes(SECRET_BYTES) };
  }

  /**
   * Throws `invalid_field`, `not_possible` when the environment has the maximum number of endpoints, and what
   * `ChangeControl.permit` throws.
   */
  async create(
    transaction: Transaction,
    tenant: Tenant,
    attributes: EndpointAttributes,
    right: WebhookRight,
    issued = this.issueSecret(),
  ): Promise<WithSecret> {
    const checked = this.normalize(tenant, attributes);
    await this.#permit(transaction, tenant, toCreation(checked, issued), right);
    const { id, secret } = issued;
    const endpoint: Endpoint = {
      id,
      url: checked.url,
      events: checked.events,
      description: checked.description,
      disabledReason: undefined,
      createdAt: transaction.now,
      secrets: [{ bytes: secret, until: undefined }],
      revision: 1,
    };
    const full = notPossible('webhookEndpointsFull', { number: LIMITS.webhookEndpoints });
    transaction.write(lockAccount(tenant.account));
    transaction.write(await insertEndpoint(this.#keyring, tenant, endpoint), full);
    record(transaction, right, webhookAuditEvent('webhook.created', tenant, endpoint));
    return { endpoint, secret };
  }

  /** Creates the endpoint of a request that was approved: `toCreation`. */
  async createRequested(transaction: Transaction, tenant: Tenant, body: string, consent: Consent): Promise<void> {
    const { attributes, issued } = parseCreation(body);
    await this.create(transaction, tenant, attributes, { consent }, issued);
  }

  /**
   * Returns attributes as they would be stored: an address can be written in many ways that hide its host. Throws what creating or
   * changing an endpoint with them would throw.
   */
  normalize<Changes extends EndpointChanges>(tenant: Tenant, attributes: Changes): Changes {
    return { ...attributes, ...this.#check(tenant, attributes) };
  }

  list(tenant: Tenant): Promise<StoredEndpoint[]> {
    return listEndpoints(this.#database, this.#keyring, tenant);
  }

  /** Throws `unknown_webhook`. */
  async get(tenant: Tenant, id: string): Promise<StoredEndpoint> {
    const found = await findEndpoint(this.#database, this.#keyring, tenant, id);
    if (found === undefined) throw unknownWebhook();
    return found;
  }

  /** Throws `unknown_webhook`, `invalid_field`, and what `ChangeControl.permit` throws. */
  async update(
    transaction: Transaction,
    tenant: Tenant,
    id: string,
    changes: EndpointChanges,
    right: WebhookRight,
  ): Promise<StoredEndpoint> {
    const { endpoint, last } = await this.get(tenant, id);
    const changed = this.#change(tenant, endpoint, changes);
    const request = { id, revision: endpoint.revision, changes };
    await this.#permit(transaction, tenant, toUpdate(request, { ...changed, status: statusOf(changed) }), right);
    const [wasDisabled, isDisabled] = [endpoint, changed].map(({ disabledReason }) => disabledReason !== undefined);
    // A process may have ended while it disabled the endpoint: the rest must not be sent now.
    if (wasDisabled && !isDisabled) await failAllWaiting(this.#database, tenant, endpoint);
    transaction.write(await updateEndpoint(this.#keyring, tenant, changed));
    if (isDisabled && !wasDisabled) {
      transaction.write(failWaiting(tenant, endpoint.id));
      // Where this ends early, the dispatcher does the rest.
      const disabled = { id, revision: endpoint.revision + 1 };
      transaction.afterCommit(() => failAllWaiting(this.#database, tenant, disabled).catch(() => undefined));
    }
    const detail = { changed: listChanged(endpoint, changed) };
    record(transaction, right, webhookAuditEvent('webhook.changed', tenant, changed, detail));
    return { endpoint: { ...changed, revision: endpoint.revision + 1 }, last };
  }

  /** Makes the change of a request that was approved. Throws `changed_meanwhile` when its approver saw another endpoint. */
  async updateRequested(transaction: Transaction, tenant: Tenant, body: string, consent: Consent): Promise<void> {
    const { id, revision, changes } = parseUpdate(body);
    if ((await this.get(tenant, id)).endpoint.revision !== revision) throw new Failure('changed_meanwhile');
    await this.update(transaction, tenant, id, changes, { consent });
  }

  /** Deletes one that was altered in the database as well. Throws `unknown_webhook`. */
  async delete(transaction: Transaction, tenant: Tenant, id: string): Promise<void> {
    const found = await findEndpoint(this.#database, this.#keyring, tenant, id);
    transaction.write(deleteEndpoint(tenant, id), unknownWebhook());
    transaction.write(deleteDeliveries(tenant, id));
    // Where this ends early, the rest is never shown nor sent, and is removed with its events.
    transaction.afterCommit(() => deleteAllDeliveries(this.#database, tenant, id).catch(() => undefined));
    transaction.record(webhookAuditEvent('webhook.deleted', tenant, found?.endpoint ?? { id }));
  }

  /**
   * The old secret signs beside the new one for `overlapMinutes`; an older one ends. Throws `unknown_webhook`, and what
   * `ChangeControl.permit` throws.
   */
  async rotate(
    transaction: Transaction,
    tenant: Tenant,
    { id, overlapMinutes, secret = this.#random.bytes(SECRET_BYTES) }: Rotation,
    right: WebhookRight,
  ): Promise<WithSecret & { readonly oldSecretUntil: number }> {
    const { endpoint } = await this.get(tenant, id);
    await this.#permit(transaction, tenant, toRotation(endpoint.url, { id, secret, overlapMinutes }), right);
    const oldSecretUntil = transaction.now + overlapMinutes * MINUTE;
    const [newest] = endpoint.secrets;
    const old: EndpointSecret[] =
      newest === undefined || overlapMinutes === 0 ? [] : [{ ...newest, until: oldSecretUntil }];
    const changed: Endpoint = { ...endpoint, secrets: [{ bytes: secret, until: undefined }, ...old] };
    transaction.write(await updateEndpoint(this.#keyring, tenant, changed));
    const detail = { overlap_minutes: overlapMinutes };
    record(transaction, right, webhookAuditEvent('webhook.secret-rotated', tenant, endpoint, detail));
    return { endpoint: changed, secret, oldSecretUntil };
  }

  /** Replaces the secret as requested, once the request was approved. */
  async rotateRequested(transaction: Transaction, tenant: Tenant, body: string, consent: Consent): Promise<void> {
    await this.rotate(transaction, tenant, parseRotation(body), { consent });
  }

  /** The newest first. `before`: the id of the last delivery of the page before. Throws `unknown_webhook`. */
  async listDeliveries(
    tenant: Tenant,
    id: string,
    { status, before = AFTER_ALL }: { status?: DeliveryStatus | undefined; before?: string | undefined },
  ): Promise<Delivery[]> {
    const { endpoint } = await this.get(tenant, id);
    return listDeliveries(this.#database, tenant, endpoint.id, {
      status,
      before,
      limit: LIMITS.webhookDeliveriesPerPage,
    });
  }

  hasDelivery(tenant: Tenant, id: string, eventId: string): Promise<boolean> {
    return hasDelivery(this.#database, tenant, id, eventId);
  }

  /** Returns the body of an event that the endpoint gets; undefined when there is no such delivery. */
  async readEvent(tenant: Tenant, id: string, eventId: string): Promise<string | undefined> {
    if (!(await this.hasDelivery(tenant, id, eventId))) return undefined;
    return (await findEvent(this.#database, this.#keyring, tenant, eventId))?.body.toString('utf8');
  }

  /**
   * Sends one delivery again, or all that failed since a time; returns how many. One that is being sent is sent again when that
   * attempt has ended. Throws `unknown_webhook`, `unknown_event`, and `not_possible` for a disabled endpoint.
   */
  async replay(
    transaction: Transaction,
    tenant: Tenant,
    id: string,
    wanted: { readonly eventId: string } | { readonly since: number },
  ): Promise<number> {
    const { endpoint } = await this.get(tenant, id);
    if (endpoint.disabledReason !== undefined) throw notPossible('webhookDisabled');
    const count =
      'eventId' in wanted
        ? this.#replayOne(transaction, tenant, endpoint, wanted.eventId)
        : await this.#replaySince(transaction, tenant, endpoint, wanted.since);
    transaction.record(webhookAuditEvent('webhook.replayed', tenant, endpoint, { count }));
    return count;
  }

  #replayOne(transaction: Transaction, tenant: Tenant, { id }: Endpoint, eventId: string): number {
    const unknown = new Failure('unknown_event', { field: 'event_id' });
    transaction.write(replayDelivery(tenant, id, eventId, transaction.now), unknown);
    return 1;
  }

  /** The last of many is in the transaction: a process that ends before leaves the others without a record, to be sent again. */
  async #replaySince(transaction: Transaction, tenant: Tenant, { id }: Endpoint, time: number): Promise<number> {
    const since = `${EVENT_ID_PREFIX}${minIdAt(time)}`;
    const { count, last } = await replayFailed(this.#database, tenant, { id, since, now: transaction.now });
    if (last !== undefined) transaction.write(last);
    return count;
  }

  /**
   * Counts and records a trial that `sendTrial` sends next, and returns its endpoint. Throws `unknown_webhook`, and `rate_limited`
   * beyond the trials of a minute.
   */
  async beginTrial(transaction: Transaction, tenant: Tenant, id: string): Promise<Endpoint> {
    const { endpoint } = await this.get(tenant, id);
    if (transaction.attempt === 0) this.#admitTrial(tenant);
    transaction.write(countTrial(tenant, id, transaction.now), new Failure('rate_limited'));
    transaction.record(webhookAuditEvent('webhook.tested', tenant, endpoint));
    return endpoint;
  }

  /** The count of an endpoint ends with its deletion, so that trials of an account are counted as well. */
  #admitTrial({ account, environment }: Tenant): void {
    const name = `${environment}/${account}`;
    const now = this.#clock();
    const recent = (this.#trials.get(name) ?? []).filter((at) => at > now - MINUTE && at <= now);
    if (recent.length >= LIMITS.webhookTestsPerTenant) throw new Failure('rate_limited');
    this.#trials.set(name, [...recent, now]);
    if (this.#trials.size > LIMITS.trackedAddresses) this.#trials.delete(this.#trials.keys().next().value ?? '');
  }

  /** Sends a trial once, whatever the endpoint has selected, and stores nothing. */
  async sendTrial(tenant: Tenant, endpoint: Endpoint): Promise<TrialResult> {
    const now = this.#clock();
    const id = newId('evt', ID_LETTERS, this.#random);
    const body = formatBody(TEST_TYPE, now, tenant, {});
    const result = await this.#sender.send(toMessage(endpoint, { id, body }, now, this.#userAgent));
    return { ...result, durationMs: Math.max(0, this.#clock() - now) };
  }

  /** Deliveries that wait, up to a bound, and the age of the oldest event in seconds; 0 when none waits. */
  async countWaiting(): Promise<{ number: number; ageSeconds: number }> {
    const { number, oldest } = await countWaiting(this.#database);
    const since = oldest === undefined ? this.#clock() : parseIdTime(oldest.slice(EVENT_ID_PREFIX.length));
    return { number, ageSeconds: Math.max(0, (this.#clock() - since) / SECOND) };
  }

  isSweepDue(now: number): Promise<boolean> {
    return hasOldEvents(this.#database, now - DAYS_KEPT_MS);
  }

  /** Removes events and deliveries of before `LIMITS.webhookDaysKept` days; returns how many events. */
  sweep(now: number): Promise<number> {
    return purgeOldEvents(this.#database, now - DAYS_KEPT_MS, LIMITS.rowsPerSweep);
  }

  async #permit(
    transaction: Transaction,
    tenant: Tenant,
    change: RestrictedChange,
    right: WebhookRight,
  ): Promise<void> {
    if (right !== 'api-key') await this.#changeControl.permit(transaction, tenant, change, right);
  }

  #change(tenant: Tenant, endpoint: Endpoint, { status, ...attributes }: EndpointChanges): Endpoint {
    const { url, events, description } = this.#check(tenant, attributes);
    return {
      ...endpoint,
      url: url ?? endpoint.url,
      events: events ?? endpoint.events,
      description: description === '' ? undefined : (description ?? endpoint.description),
      disabledReason: status === undefined ? endpoint.disabledReason : statusToReason(status, endpoint),
    };
  }

  #check(tenant: Tenant, { url, events, description }: EndpointChanges): Partial<EndpointAttributes> {
    if (events !== undefined) assertEvents(events);
    if (description !== undefined && description !== '') assertDisplayable(description, 'description');
    return {
      ...(url !== undefined && { url: parseTargetUrl(url, tenant.environment, this.#addresses) }),
      ...(events !== undefined && { events: [...new Set(events)] }),
      ...(description !== undefined && { description }),
    };
  }
}

const unknownWebhook = (): Failure => new Failure('unknown_webhook', { field: 'id' });

const DAYS_KEPT_MS = LIMITS.webhookDaysKept * 24 * 60 * MINUTE;

function assertEvents(events: readonly string[]): void {
  const isAll = events.length === 1 && events[0] === ALL_EVENTS;
  if (!isAll && (events.length === 0 || !events.every(isEventType))) throw invalidField('events', 'webhookEvents');
}

/** An endpoint that the service has disabled keeps that reason until it is enabled. */
const statusToReason = (status: EndpointStatus, { disabledReason }: Endpoint): Endpoint['disabledReason'] =>
  status === 'enabled' ? undefined : (disabledReason ?? 'request');

const listChanged = (before: Endpoint, after: Endpoint): string[] =>
  (['url', 'events', 'description', 'disabledReason'] as const)
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
    .map((name) => (name === 'disabledReason' ? 'status' : name));

/** Records a change; one that an operator requested names the operator and the approval. */
function record(transaction: Transaction, right: WebhookRight, event: AuditEvent): void {
  const consent = right === 'api-key' ? undefined : right.consent;
  const approval = consent === undefined ? [] : [`approval:${consent.approvalId}`];
  transaction.record({ ...event, targets: [...(event.targets ?? []), ...approval] }, consent?.requester);
}

/** Names the host of the URL alone: its path and query may be secret. */
export function webhookAuditEvent(
  action: Extract<AuditAction, `webhook.${string}`>,
  tenant: Tenant,
  { id, url }: Pick<Endpoint, 'id'> & Partial<Pick<Endpoint, 'url'>>,
  detail: Readonly<Record<string, string | number | readonly string[]>> = {},
): AuditEvent {
  return {
    action,
    outcome: 'success',
    ...tenant,
    targets: [`webhook:${id}`],
    detail: { ...(url !== undefined && { host: new URL(url).host }), ...detail },
  };
}

/** Returns one attempt to deliver an event, signed with every secret that is valid at that time. */
export function toMessage(
  { url, secrets }: Pick<Endpoint, 'url' | 'secrets'>,
  { id, body }: { readonly id: string; readonly body: Uint8Array },
  now: number,
  userAgent: string,
): OutgoingMessage {
  const timestamp = Math.floor(now / SECOND);
  const keys: KeyObject[] = secrets
    .filter(({ until }) => until === undefined || until > now)
    .map(({ bytes }) => createSecretKey(bytes));
  return {
    url,
    headers: {
      'content-type': 'application/json',
      'user-agent': userAgent,
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signMessage(keys, { id, timestamp, body }),
    },
    body,
  };
}
