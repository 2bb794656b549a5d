import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext, UnsealError } from '../crypto/seal.ts';
import { sealJson, unsealJson } from '../crypto/sealed-json.ts';
import { MINUTE, SECOND } from '../kernel/clock.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import {
  blob,
  type Database,
  integer,
  integerOrNull,
  type Row,
  text,
  textOrNull,
  type Value,
  type Write,
  write,
} from '../storage/database.ts';
import { yieldBeforeScan } from '../storage/pagination.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';
import type { Table } from '../storage/table.ts';
import type {
  Delivery,
  DeliveryError,
  DeliveryStatus,
  DisabledReason,
  Endpoint,
  EndpointSecret,
  LastAttempt,
  StoredEndpoint,
} from './webhook.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'webhook_endpoints',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'integer',
      environment: 'integer',
      id: 'text',
      revision: 'integer',
      record: 'blob',
      created_at: 'integer',
      last_attempt_at: 'integer',
      last_status: 'integer',
      last_error: 'text',
      last_success_at: 'integer',
      trials: 'integer',
      trials_since: 'integer',
    },
  },
  {
    name: 'webhook_events',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'integer',
      environment: 'integer',
      id: 'text',
      type: 'text',
      record: 'blob',
      created_at: 'integer',
    },
  },
  {
    name: 'webhook_deliveries',
    key: ['account', 'environment', 'endpoint', 'event'],
    columns: {
      account: 'integer',
      environment: 'integer',
      endpoint: 'text',
      event: 'text',
      status: 'text',
      attempts: 'integer',
      step: 'integer',
      first_attempt_at: 'integer',
      last_attempt_at: 'integer',
      last_status: 'integer',
      last_error: 'text',
      next_attempt_at: 'integer',
    },
  },
];

/** The time for the commits before and after an attempt. */
export const COMMIT_MS = 4 * SECOND;
/** Longer than an attempt with its commits; another node continues the delivery of a node that ended this long after it began. */
export const CLAIM_MS = LIMITS.webhookAttemptMs + 2 * COMMIT_MS;

const OF_TENANT = 'account = ?account and environment = ?environment';
const ENDPOINT_COLUMNS = 'id, revision, record, created_at, last_attempt_at, last_status, last_error';
const LIST_ENDPOINTS = `select ${ENDPOINT_COLUMNS} from webhook_endpoints where ${OF_TENANT} order by created_at, id`;
const FIND_ENDPOINT = `select ${ENDPOINT_COLUMNS} from webhook_endpoints where ${OF_TENANT} and id = ?`;
const INSERT_ENDPOINT = `insert into webhook_endpoints (account, environment, id, revision, record, created_at, trials, trials_since)
  select ?account, ?environment, ?, 1, ?, ?, 0, 0
  where (select count(*) from webhook_endpoints where ${OF_TENANT}) < ${LIMITS.webhookEndpoints}`;
const UPDATE_ENDPOINT = `update webhook_endpoints set record = ?, revision = revision + 1
  where ${OF_TENANT} and id = ? and revision = ?`;
const DELETE_ENDPOINT = `delete from webhook_endpoints where ${OF_TENANT} and id = ?`;
const NOTE_ATTEMPT = `update webhook_endpoints set last_attempt_at = ?, last_status = ?, last_error = ?
  where ${OF_TENANT} and id = ?`;
const NOTE_SUCCESS = `update webhook_endpoints set last_attempt_at = ?, last_status = ?, last_error = null, last_success_at = ?
  where ${OF_TENANT} and id = ?`;
/** A window of a minute begins with its first trial. A beginning in the future is from a clock that was wrong. */
const COUNT_TRIAL = `update webhook_endpoints set
    trials = case when trials_since between ? and ? then trials + 1 else 1 end,
    trials_since = case when trials_since between ? and ? then trials_since else ? end
  where ${OF_TENANT} and id = ? and (trials < ${LIMITS.webhookTestsPerMinute} or trials_since not between ? and ?)`;
const LAST_SUCCESS = `select last_success_at from webhook_endpoints where ${OF_TENANT} and id = ?`;

const INSERT_EVENT = `insert into webhook_events (account, environment, id, type, record, created_at)
  values (?account, ?environment, ?, ?, ?, ?)`;
const FIND_EVENT = `select type, record, created_at from webhook_events where ${OF_TENANT} and id = ?`;
const INSERT_DELIVERY = `insert into webhook_deliveries (account, environment, endpoint, event, status, attempts, step, next_attempt_at)
  values (?account, ?environment, ?, ?, 'waiting', 0, 0, ?)`;

const DELIVERY_COLUMNS = `d.account, d.environment, d.endpoint, d.event, d.status, d.attempts, d.step, d.first_attempt_at,
  d.last_attempt_at, d.last_status, d.last_error, d.next_attempt_at`;
/** The next endpoint with a waiting delivery, and the time at which its first one is due, in the order of the index. */
const NEXT_WAITING = `select account, environment, endpoint, next_attempt_at from webhook_deliveries
  where next_attempt_at is not null and (account, environment, endpoint) > (?account, ?environment, ?)
  order by account, environment, endpoint, next_attempt_at limit 1`;
const LIST_DUE = `select ${DELIVERY_COLUMNS} from webhook_deliveries d
  where d.account = ?account and d.environment = ?environment and d.endpoint = ? and d.next_attempt_at <= ?
  order by d.next_attempt_at limit ?`;
/** Moving the time forward is the lease of the delivery. */
const CLAIM = `update webhook_deliveries set next_attempt_at = ?, attempts = attempts + 1,
    first_attempt_at = coalesce(first_attempt_at, ?), last_attempt_at = ?
  where ${OF_TENANT} and endpoint = ? and event = ? and attempts = ? and next_attempt_at = ?`;
const CONCLUDE = `update webhook_deliveries set status = ?, step = ?, last_status = ?, last_error = ?, next_attempt_at = ?
  where ${OF_TENANT} and endpoint = ? and event = ? and attempts = ? and next_attempt_at = ? and first_attempt_at is not null`;
const CONCLUDE_REPLAYED = `update webhook_deliveries set last_status = ?, last_error = ?, next_attempt_at = ?
  where ${OF_TENANT} and endpoint = ? and event = ? and attempts = ? and next_attempt_at = ? and first_attempt_at is null`;
const listDeliveriesSql = (
  condition: string,
): string => `select ${DELIVERY_COLUMNS}, e.type, e.created_at from webhook_deliveries d
  join webhook_events e on e.account = d.account and e.environment = d.environment and e.id = d.event
  where d.account = ?account and d.environment = ?environment and d.endpoint = ? and d.event < ? ${condition}
  order by d.event desc limit ?`;
const LIST_DELIVERIES = listDeliveriesSql('');
/** With the status in its text, so that the index of failed deliveries is used. */
const LIST_FAILED = listDeliveriesSql("and d.status = 'failed'");
/** For few waiting deliveries among many others: the index of those that wait has them in another order. */
const LIST_FEW_WAITING = listDeliveriesSql(`and d.event in (select w.event from webhook_deliveries w
  where w.account = ?account and w.environment = ?environment and w.endpoint = ? and w.next_attempt_at is not null)`);
const COUNT_WAITING_OF = `select count(*) as number from (select 1 from webhook_deliveries
  where ${OF_TENANT} and endpoint = ? and next_attempt_at is not null limit ${LIMITS.rowsPerScan + 1}) waiting`;
/**
 * A claim that has not ended stays, because its attempt is in progress; one that lasts longer than a claim can is of a clock that was ahead. Every claim sets `first_attempt_at`, so that its absence shows
 * the node of the attempt that the delivery was replayed meanwhile.
 */
const REPLAY_ONE = `update webhook_deliveries set status = 'waiting', step = 0, first_attempt_at = null,
    next_attempt_at = case when next_attempt_at between ? and ? and next_attempt_at = last_attempt_at + ${CLAIM_MS}
      then next_attempt_at else ? end
  where ${OF_TENANT} and endpoint = ? and event = ?`;
const LIST_OLD = 'select account, environment, id from webhook_events where created_at < ? order by created_at limit ?';
const HAS_OLD = 'select 1 as due from webhook_events where created_at < ? limit 1';
const DELETE_EVENT = `delete from webhook_events where ${OF_TENANT} and id = ?`;
const DELETE_DELIVERIES_OF_EVENT = `delete from webhook_deliveries where ${OF_TENANT} and event = ?`;
/** Waiting deliveries up to a bound, and the id of the oldest, whose beginning is its time. */
const COUNT_WAITING = `select count(*) as number, min(event) as oldest from
  (select event from webhook_deliveries where next_attempt_at is not null limit ${LIMITS.countedRecords}) waiting`;

interface EndpointRecord {
  readonly url: string;
  readonly events: readonly string[];
  readonly description?: string | undefined;
  readonly disabled?: DisabledReason | undefined;
  readonly secrets: readonly { readonly bytes: string; readonly until?: number | undefined }[];
}

const endpointContext = (
  { environment, account }: Tenant,
  id: string,
  revision: number,
  at: number,
): EncryptionContext =>
  encryptionContext(environment, account, 'webhook-endpoints', id, String(revision), String(at), 'record');

const eventContext = ({ environment, account }: Tenant, id: string, type: string, at: number): EncryptionContext =>
  encryptionContext(environment, account, 'webhook-events', id, type, String(at), 'record');

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'webhook_endpoints',
    purpose: 'webhooks',
    scope: 'tenant',
    key: ['id'],
    bound: ['revision', 'created_at'],
    contexts: {
      record: (row) =>
        endpointContext(tenantOf(row), text(row, 'id'), integer(row, 'revision'), integer(row, 'created_at')),
    },
  },
  {
    table: 'webhook_events',
    purpose: 'webhooks',
    scope: 'tenant',
    key: ['id'],
    bound: ['type', 'created_at'],
    contexts: {
      record: (row) => eventContext(tenantOf(row), text(row, 'id'), text(row, 'type'), integer(row, 'created_at')),
    },
  },
];

const scopeOf = ({ account, environment }: Tenant): Value[] => [account, environment];

/** Without those that were altered in the database. */
export async function listEndpoints(database: Database, keyring: Keyring, tenant: Tenant): Promise<StoredEndpoint[]> {
  const rows = await database.read(LIST_ENDPOINTS, ...scopeOf(tenant));
  const endpoints = await Promise.all(rows.map((row) => unsealEndpoint(keyring, tenant, row)));
  return endpoints.filter((each) => each !== undefined);
}

/** Undefined also when it was altered in the database. */
export async function findEndpoint(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
): Promise<StoredEndpoint | undefined> {
  const [row] = await database.read(FIND_ENDPOINT, ...scopeOf(tenant), id);
  return row === undefined ? undefined : unsealEndpoint(keyring, tenant, row);
}

async function unsealEndpoint(keyring: Keyring, tenant: Tenant, row: Row): Promise<StoredEndpoint | undefined> {
  const [id, revision, createdAt] = [text(row, 'id'), integer(row, 'revision'), integer(row, 'created_at')];
  const context = endpointContext(tenant, id, revision, createdAt);
  const record = await unsealJson<EndpointRecord>(keyring, tenant, 'webhooks', context, blob(row, 'record'));
  if (record === undefined) return undefined;
  const { url, events, description, disabled: disabledReason } = record;
  const secrets = record.secrets.map(
    ({ bytes, until }): EndpointSecret => ({ bytes: Uint8Array.from(Buffer.from(bytes, 'base64')), until }),
  );
  return {
    endpoint: { id, url, events, description, disabledReason, createdAt, secrets, revision },
    last: lastOf(row),
  };
}

async function sealEndpoint(
  keyring: Keyring,
  tenant: Tenant,
  endpoint: Endpoint,
  revision: number,
): Promise<Uint8Array> {
  const { id, url, events, description, disabledReason: disabled, createdAt } = endpoint;
  const secrets = endpoint.secrets.map(({ bytes, until }) => ({ bytes: Buffer.from(bytes).toString('base64'), until }));
  const record: EndpointRecord = { url, events, description, disabled, secrets };
  return sealJson(keyring, tenant, 'webhooks', endpointContext(tenant, id, revision, createdAt), record);
}

/** Follows `lockAccount` in its transaction. Conflicts when the environment has the maximum number of endpoints. */
export async function insertEndpoint(keyring: Keyring, tenant: Tenant, endpoint: Endpoint): Promise<Write> {
  const record = await sealEndpoint(keyring, tenant, endpoint, 1);
  return write(INSERT_ENDPOINT, [...scopeOf(tenant), endpoint.id, record, endpoint.createdAt, ...scopeOf(tenant)], 1);
}

/** Replaces the revision that `endpoint` was read with; conflicts when another request was faster. */
export async function updateEndpoint(keyring: Keyring, tenant: Tenant, endpoint: Endpoint): Promise<Write> {
  const record = await sealEndpoint(keyring, tenant, endpoint, endpoint.revision + 1);
  return write(UPDATE_ENDPOINT, [record, ...scopeOf(tenant), endpoint.id, endpoint.revision], 1);
}

/** Conflicts when there is no such endpoint. Its deliveries are left: `deleteDeliveries`. */
export const deleteEndpoint = (tenant: Tenant, id: string): Write =>
  write(DELETE_ENDPOINT, [...scopeOf(tenant), id], 1);

/** An event with the bytes that are sent. */
export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  readonly createdAt: number;
  readonly body: Buffer;
}

export async function insertEvent(keyring: Keyring, tenant: Tenant, event: StoredEvent): Promise<Write> {
  const { id, type, createdAt, body } = event;
  const seal = await keyring.sealer(tenant, 'webhooks', 1);
  const record = seal(eventContext(tenant, id, type, createdAt), body);
  return write(INSERT_EVENT, [...scopeOf(tenant), id, type, record, createdAt], 1);
}

export const insertDeliveries = (tenant: Tenant, endpoints: readonly string[], event: string, now: number): Write => ({
  sql: INSERT_DELIVERY,
  rows: endpoints.map((endpoint) => [...scopeOf(tenant), endpoint, event, now]),
});

/** Undefined also when it was altered in the database. */
export async function findEvent(
  database: Database,
  keyring: Keyring,
  tenant: Tenant,
  id: string,
): Promise<StoredEvent | undefined> {
  const [row] = await database.read(FIND_EVENT, ...scopeOf(tenant), id);
  if (row === undefined) return undefined;
  const [type, createdAt] = [text(row, 'type'), integer(row, 'created_at')];
  const context = eventContext(tenant, id, type, createdAt);
  try {
    return { id, type, createdAt, body: await keyring.unseal(tenant, 'webhooks', context, blob(row, 'record')) };
  } catch (error) {
    if (error instanceof UnsealError) return undefined;
    throw error;
  }
}

/** An endpoint that has waiting deliveries. */
export interface WaitingEndpoint extends Tenant {
  readonly endpoint: string;
  /** When its first delivery is due. */
  readonly dueAt: number;
}

/** Returns the waiting endpoint that follows in the order of the index. */
export async function findNextWaitingEndpoint(
  database: Database,
  after: WaitingEndpoint | undefined,
): Promise<WaitingEndpoint | undefined> {
  const start = after === undefined ? ['', 'production', ''] : [after.account, after.environment, after.endpoint];
  const [row] = await database.read(NEXT_WAITING, ...start);
  if (row === undefined) return undefined;
  return { ...tenantOf(row), endpoint: text(row, 'endpoint'), dueAt: integer(row, 'next_attempt_at') };
}

const tenantOf = (row: Row): Tenant => ({
  account: text(row, 'account'),
  environment: text(row, 'environment') as Environment,
});

const lastOf = (row: Row): LastAttempt | undefined => {
  const at = integerOrNull(row, 'last_attempt_at');
  if (at === undefined) return undefined;
  const error = textOrNull(row, 'last_error') as DeliveryError | undefined;
  return { at, statusCode: integerOrNull(row, 'last_status'), error };
};

/** A delivery as the dispatcher reads it. */
export interface DueDelivery {
  readonly tenant: Tenant;
  readonly endpoint: string;
  readonly event: string;
  readonly attempts: number;
  readonly step: number;
  readonly firstAttemptAt: number | undefined;
  readonly nextAttemptAt: number;
}

export async function listDue(
  database: Database,
  { endpoint, ...tenant }: WaitingEndpoint,
  now: number,
  limit: number,
): Promise<DueDelivery[]> {
  const rows = await database.read(LIST_DUE, ...scopeOf(tenant), endpoint, now, limit);
  return rows.map((row) => ({
    tenant: tenantOf(row),
    endpoint,
    event: text(row, 'event'),
    attempts: integer(row, 'attempts'),
    step: integer(row, 'step'),
    firstAttemptAt: integerOrNull(row, 'first_attempt_at'),
    nextAttemptAt: integer(row, 'next_attempt_at'),
  }));
}

/** Conflicts when another node has claimed it, or when it does not wait any more. */
export const claimDelivery = (due: DueDelivery, now: number, until: number): Write =>
  write(CLAIM, [until, now, now, ...scopeOf(due.tenant), due.endpoint, due.event, due.attempts, due.nextAttemptAt], 1);

/** The result of an attempt. */
export interface AttemptResult {
  readonly status: DeliveryStatus;
  readonly step: number;
  readonly statusCode: number | undefined;
  readonly error: DeliveryError | undefined;
  readonly nextAttemptAt: number | undefined;
}

/** Stores the result of a claimed attempt. Conflicts when the delivery was claimed again, replayed, failed or deleted since. */
export const concludeDelivery = (due: DueDelivery, claimedUntil: number, result: AttemptResult): Write =>
  write(
    CONCLUDE,
    [
      ...[result.status, result.step, result.statusCode ?? null, result.error ?? null, result.nextAttemptAt ?? null],
      ...[...scopeOf(due.tenant), due.endpoint, due.event, due.attempts + 1, claimedUntil],
    ],
    1,
  );

/**
 * Stores the result of a claimed attempt whose delivery was replayed since, and makes the delivery due: its schedule starts again.
 * Changes nothing when it was not replayed.
 */
export const concludeReplayed = (
  due: DueDelivery,
  claimedUntil: number,
  { statusCode, error }: AttemptResult,
  now: number,
): Write =>
  write(CONCLUDE_REPLAYED, [
    ...[statusCode ?? null, error ?? null, now],
    ...[...scopeOf(due.tenant), due.endpoint, due.event, due.attempts + 1, claimedUntil],
  ]);

export const noteAttempt = (tenant: Tenant, endpoint: string, { at, statusCode, error }: LastAttempt): Write =>
  error === undefined
    ? write(NOTE_SUCCESS, [at, statusCode ?? null, at, ...scopeOf(tenant), endpoint])
    : write(NOTE_ATTEMPT, [at, statusCode ?? null, error, ...scopeOf(tenant), endpoint]);

/** Conflicts when the endpoint got the maximum number of trials in the last minute, on all nodes together. */
export function countTrial(tenant: Tenant, endpoint: string, now: number): Write {
  const window = [now - MINUTE + 1, now + MINUTE];
  return write(COUNT_TRIAL, [...window, ...window, now, ...scopeOf(tenant), endpoint, ...window], 1);
}

export async function findLastSuccess(
  database: Database,
  tenant: Tenant,
  endpoint: string,
): Promise<number | undefined> {
  const [row] = await database.read(LAST_SUCCESS, ...scopeOf(tenant), endpoint);
  return row === undefined ? undefined : integerOrNull(row, 'last_success_at');
}

/** `before`: the id of an event; the newest first. */
export async function listDeliveries(
  database: Database,
  tenant: Tenant,
  endpoint: string,
  { status, before, limit }: { status: DeliveryStatus | undefined; before: string; limit: number },
): Promise<Delivery[]> {
  const scope = [...scopeOf(tenant), endpoint];
  const read = async (sql: string, ...values: Value[]): Promise<Delivery[]> =>
    (await database.read(sql, ...scope, ...values)).map((row) => toDelivery(tenant, endpoint, row));
  if (status === undefined) return read(LIST_DELIVERIES, before, limit);
  if (status === 'failed') return read(LIST_FAILED, before, limit);
  if (status === 'waiting' && (await hasFewWaiting(database, scope)))
    return read(LIST_FEW_WAITING, before, ...scope, limit);
  // No index has them in this order, so that others may lie between them, as many as there are.
  const found: Delivery[] = [];
  for (let last = before; ; ) {
    const deliveries = await read(LIST_DELIVERIES, last, LIMITS.rowsPerScan);
    found.push(...deliveries.filter((each) => each.status === status));
    const end = deliveries.length < LIMITS.rowsPerScan ? undefined : deliveries.at(-1);
    if (end === undefined || found.length >= limit) return found.slice(0, limit);
    last = end.eventId;
    await yieldBeforeScan();
  }
}

async function hasFewWaiting(database: Database, scope: readonly Value[]): Promise<boolean> {
  const [row = {}] = await database.read(COUNT_WAITING_OF, ...scope);
  return integer(row, 'number') <= LIMITS.rowsPerScan;
}

const toDelivery = (tenant: Tenant, endpointId: string, row: Row): Delivery => ({
  tenant,
  endpointId,
  eventId: text(row, 'event'),
  type: text(row, 'type'),
  createdAt: integer(row, 'created_at'),
  status: text(row, 'status') as DeliveryStatus,
  attempts: integer(row, 'attempts'),
  step: integer(row, 'step'),
  last: lastOf(row),
  nextAttemptAt: integerOrNull(row, 'next_attempt_at'),
});

const HAS_DELIVERY = `select 1 as held from webhook_deliveries where ${OF_TENANT} and endpoint = ? and event = ?`;

export const hasDelivery = async (
  database: Database,
  tenant: Tenant,
  endpoint: string,
  event: string,
): Promise<boolean> => (await database.read(HAS_DELIVERY, ...scopeOf(tenant), endpoint, event)).length > 0;

/** Takes effect when an attempt in progress has ended. Conflicts when there is no such delivery. */
export const replayDelivery = (tenant: Tenant, endpoint: string, event: string, now: number): Write =>
  write(REPLAY_ONE, [now + 1, now + 2 * CLAIM_MS, now, ...scopeOf(tenant), endpoint, event], 1);

export const hasOldEvents = async (database: Database, before: number): Promise<boolean> =>
  (await database.read(HAS_OLD, before)).length > 0;

/** Deletes events of before this time with their deliveries; returns how many events. */
export async function purgeOldEvents(database: Database, before: number, limit: number): Promise<number> {
  const rows = await database.read(LIST_OLD, before, limit);
  if (rows.length === 0) return 0;
  const keys = rows.map((row) => [text(row, 'account'), text(row, 'environment'), text(row, 'id')]);
  await database.commit({
    writes: [
      { sql: DELETE_DELIVERIES_OF_EVENT, rows: keys },
      { sql: DELETE_EVENT, rows: keys },
    ],
  });
  return rows.length;
}

export async function countWaiting(database: Database): Promise<{ number: number; oldest: string | undefined }> {
  const [row] = await database.read(COUNT_WAITING);
  return row === undefined
    ? { number: 0, oldest: undefined }
    : { number: integer(row, 'number'), oldest: textOrNull(row, 'oldest') };
}
