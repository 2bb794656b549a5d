import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Database, text, type Value, type Write, write } from '../storage/database.ts';
import type { Endpoint } from './webhook.ts';

/**
 * Changes of all deliveries of an endpoint. There may be millions of them, so one commit changes a bounded number: the
 * commits of all other accounts go in between.
 */

const OF_ENDPOINT = 'account = ?account and environment = ?environment and endpoint = ?';
const LIMIT = LIMITS.rowsPerSweep;
/** The plus keeps the index of what waits for the selection of the rows, which would otherwise be searched for each of them. */
const FAIL_WAITING = `update webhook_deliveries set status = 'failed', next_attempt_at = null
  where ${OF_ENDPOINT} and +next_attempt_at is not null and event in
    (select event from webhook_deliveries where ${OF_ENDPOINT} and next_attempt_at is not null limit ${LIMIT})`;
const HAS_REVISION = `exists (select 1 from webhook_endpoints
  where account = ?account and environment = ?environment and id = ? and revision = ?)`;
const FAIL_WAITING_OF_REVISION = `${FAIL_WAITING} and ${HAS_REVISION}`;
const HAS_WAITING = `select 1 as found from webhook_deliveries where ${OF_ENDPOINT} and next_attempt_at is not null
  and ${HAS_REVISION} limit 1`;
const DELETE = `delete from webhook_deliveries where ${OF_ENDPOINT} and event in
  (select event from webhook_deliveries where ${OF_ENDPOINT} limit ${LIMIT})`;
const HAS_ANY = `select 1 as found from webhook_deliveries where ${OF_ENDPOINT} limit 1`;
const LIST_FAILED = `select event from webhook_deliveries where ${OF_ENDPOINT} and event > ? and status = 'failed'
  order by event limit ${LIMIT}`;
const REPLAY = `update webhook_deliveries set status = 'waiting', step = 0, first_attempt_at = null, next_attempt_at = ?
  where ${OF_ENDPOINT} and event > ? and event <= ? and status = 'failed'`;

type Revision = Pick<Endpoint, 'id' | 'revision'>;

const valuesOf = ({ account, environment }: Tenant, endpoint: string): Value[] => [account, environment, endpoint];

const valuesOfRevision = (tenant: Tenant, { id, revision }: Revision): Value[] => [...valuesOf(tenant, id), revision];

/** Ends some of the deliveries that wait for an endpoint that is disabled, which gets nothing. */
export const failWaiting = (tenant: Tenant, id: string): Write =>
  write(FAIL_WAITING, [...valuesOf(tenant, id), ...valuesOf(tenant, id)]);

/** The same, unless the endpoint was changed since this revision: it may be enabled again. */
export const failWaitingOfRevision = (tenant: Tenant, endpoint: Revision): Write =>
  write(FAIL_WAITING_OF_REVISION, [
    ...valuesOf(tenant, endpoint.id),
    ...valuesOf(tenant, endpoint.id),
    ...valuesOfRevision(tenant, endpoint),
  ]);

/** Deletes some deliveries of an endpoint that does not exist. */
export const deleteDeliveries = (tenant: Tenant, id: string): Write =>
  write(DELETE, [...valuesOf(tenant, id), ...valuesOf(tenant, id)]);

/** Ends all that wait for this revision of an endpoint, until `isStopped` returns true. */
export async function failAllWaiting(
  database: Database,
  tenant: Tenant,
  endpoint: Revision,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const values = [...valuesOf(tenant, endpoint.id), ...valuesOfRevision(tenant, endpoint)];
  while (!isStopped() && (await database.read(HAS_WAITING, ...values)).length > 0)
    await database.commit({ account: tenant.account, writes: [failWaitingOfRevision(tenant, endpoint)] });
}

/** Deletes all deliveries of an endpoint that does not exist any more. */
export async function deleteAllDeliveries(database: Database, tenant: Tenant, id: string): Promise<void> {
  while ((await database.read(HAS_ANY, ...valuesOf(tenant, id))).length > 0)
    await database.commit({ account: tenant.account, writes: [deleteDeliveries(tenant, id)] });
}

/**
 * Makes the failed deliveries of an endpoint wait again, but for the last of them: that write is returned, for the transaction
 * that records all of them. `since`: the beginning of an id of an event.
 */
export async function replayFailed(
  database: Database,
  tenant: Tenant,
  { id, since, now }: { readonly id: string; readonly since: string; readonly now: number },
): Promise<{ readonly count: number; readonly last: Write | undefined }> {
  let [after, count] = [since, 0];
  for (let last: Write | undefined; ; ) {
    const rows = await database.read(LIST_FAILED, ...valuesOf(tenant, id), after);
    const end = rows.at(-1);
    if (end === undefined) return { count, last };
    if (last !== undefined) await database.commit({ account: tenant.account, writes: [last] });
    const until = text(end, 'event');
    last = write(REPLAY, [now, ...valuesOf(tenant, id), after, until]);
    count += rows.length;
    after = until;
  }
}
