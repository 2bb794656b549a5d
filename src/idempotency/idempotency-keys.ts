import { type DigestKey, type DigestKeys, withVersion } from '../crypto/digest-keys.ts';
import { keyedDigest } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext } from '../crypto/seal.ts';
import { DAY, type Random, SECOND } from '../kernel/clock.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import {
  blob,
  blobOrNull,
  type Database,
  integerOrNull,
  type Row,
  text,
  textOrNull,
  type Value,
  type Write,
  write,
} from '../storage/database.ts';
import type { DigestColumn } from '../storage/digest-columns.ts';
import { findRotation } from '../storage/key-rotation-store.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';
import type { Table } from '../storage/table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'idempotency',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'integer',
      environment: 'integer',
      id: 'blob',
      request: 'blob',
      owner: 'text',
      lease_until: 'integer',
      status: 'integer',
      response: 'blob',
      expires_at: 'integer',
      bound_operation: 'text',
    },
  },
];

/** How long a response is stored and replayed. */
const RETENTION_MS = DAY;

/** A crashed process blocks its keys no longer than this; a running one renews its claim every 2 seconds. */
const LEASE_MS = 8 * SECOND;
const RENEWAL_MS = 2 * SECOND;

/**
 * A claim that took longer, because its process was held up, may come after the end of a rotation that it knows nothing of; one that
 * began in that time takes at least twice as long.
 */
const MOST_CLAIM_MS = LIMITS.digestHandoverMs / 2;

/** Expiry of a bound key: it is kept until its operation has a result. */
const NEVER = Number.MAX_SAFE_INTEGER;

const CLAIM = `insert into idempotency (account, environment, id, request, owner, lease_until, status, response, expires_at)
  values (?account, ?environment, ?, ?, ?, ?, null, null, ?)
  on conflict (account, environment, id) do update
    set request = excluded.request, owner = excluded.owner, lease_until = excluded.lease_until,
        status = null, response = null, bound_operation = null, expires_at = excluded.expires_at
    where (idempotency.status is null and idempotency.bound_operation is null
        and (idempotency.lease_until <= excluded.lease_until - ${LEASE_MS}
          or idempotency.lease_until > excluded.lease_until + ${LEASE_MS}))`;
/** Claims a key whose response has expired as well. Only at a trusted time: a jump of the clock would repeat requests. */
const CLAIM_EXPIRED = `${CLAIM} or idempotency.expires_at <= excluded.lease_until - ${LEASE_MS}`;
const HAS_EXPIRED = 'select 1 as due from idempotency where expires_at <= ? limit 1';
const FIND = `select request, status, response, bound_operation, expires_at from idempotency
  where account = ?account and environment = ?environment and id = ?`;
const RENEW =
  'update idempotency set lease_until = ? where account = ?account and environment = ?environment and id = ? and owner = ?';
const STORE_RESPONSE = `update idempotency set owner = null, status = ?, response = ?, expires_at = ?
  where account = ?account and environment = ?environment and id = ? and owner = ?`;
const RELEASE = `delete from idempotency
  where account = ?account and environment = ?environment and id = ? and owner = ? and bound_operation is null`;
const BIND = `update idempotency set bound_operation = ?, expires_at = ?
  where account = ?account and environment = ?environment and id = ? and owner = ?`;
const RELEASE_BINDING = `update idempotency set expires_at = ?
  where account = ?account and environment = ?environment and bound_operation = ? and status is null`;
const LIST_EXPIRED = 'select account, environment, id from idempotency where expires_at <= ? limit ?';
const PURGE =
  'delete from idempotency where account = ?account and environment = ?environment and id = ? and expires_at <= ?';

export interface StoredResponse {
  readonly status: number;
  readonly body: string;
}

/** A request with an Idempotency-Key. Two requests are the same when all of these members are equal. */
export interface KeyedRequest {
  readonly tenant: Tenant;
  readonly method: string;
  /** Without trailing slash. */
  readonly path: string;
  readonly key: string;
  /** Body bytes, query and every header that changes the response. */
  readonly content: Uint8Array;
}

/** The state of a key: its stored response, a claim for the caller, or the operation that the key is bound to. */
type ClaimResult = { readonly replay: StoredResponse } | { readonly claim: Claim } | { readonly boundTo: string };

/** The right to execute a request, held by one process at a time. */
export interface Claim {
  /**
   * Returns the write that ties the key to an operation of a payment, for the unit of its intent. From its commit on, the key
   * expires only after `releaseBinding`, whatever crashes.
   */
  bind(boundTo: string): Write;
  /** Returns the write that stores the response, for the unit of the effect. It conflicts when the claim was lost. */
  storeResponse(response: StoredResponse): Promise<Write>;
  /** Returns the write that ends the claim without a response, so that a repeat is executed. A stored or bound key stays. */
  release(): Write;
  /** Stops the renewal of the lease. */
  stop(): void;
}

export class IdempotencyKeys {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #time: TrustedTime;
  readonly #random: Random;

  constructor(options: { database: Database; keyring: Keyring; time: TrustedTime; random: Random }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#time = options.time;
    this.#random = options.random;
  }

  /** Throws `operation_in_progress` while another process holds the claim, and `idempotency_key_reused`. */
  async claim(request: KeyedRequest): Promise<ClaimResult> {
    const { tenant } = request;
    const began = this.#time.latestNow();
    const keys = await this.#keyring.digests({ ...tenant, purpose: DIGEST_PURPOSE });
    const ids = await this.#listIds(request, keys);
    const content = keys.digest(request.content);
    const owner = Buffer.from(this.#random.bytes(16)).toString('hex');
    const trusted = this.#time.trustedNow();
    const claim = trusted === undefined ? CLAIM : CLAIM_EXPIRED;
    const leaseUntil = (trusted ?? this.#time.steadyNow()) + LEASE_MS;
    const rest = [content, owner, leaseUntil, this.#expiry()];
    const rows = ids.map((id) => [tenant.account, tenant.environment, id, ...rest]);
    const writes = [{ sql: claim, rows, expectedRows: 1 }];
    const { committed } = await this.#database.commit({ account: tenant.account, writes });
    if (committed) {
      const made = this.#claim(tenant, ids, owner);
      const isLate = this.#time.latestNow() - began > MOST_CLAIM_MS;
      if (!isLate || (await this.#isUnderPresentKeys(request, ids))) return { claim: made };
      made.stop();
      await this.#database.commit({ account: tenant.account, writes: [made.release()] });
      throw new Failure('operation_in_progress');
    }
    return this.#findExisting(tenant, ids, (stored) => keys.isValid(request.content, stored));
  }

  /** Returns the ids of the rows with which a request claims its key: more than one while the key of digests is rotated. */
  async #listIds({ tenant, method, path, key }: KeyedRequest, keys: DigestKeys): Promise<Uint8Array[]> {
    const text = `${method}\n${path}\n${key}`;
    const claimKeys = await this.#listClaimKeys(tenant, keys);
    return claimKeys.map((each) => withVersion(each, keyedDigest(each.key, text)));
  }

  /** False when a repeat of the request would have no row in common with this claim. */
  async #isUnderPresentKeys(request: KeyedRequest, ids: readonly Uint8Array[]): Promise<boolean> {
    const keys = await this.#keyring.digests({ ...request.tenant, purpose: DIGEST_PURPOSE });
    const present = await this.#listIds(request, keys);
    return present.some((one) => ids.some((other) => Buffer.compare(one, other) === 0));
  }

  /**
   * Returns the versions of the key under which a request claims its `Idempotency-Key`. While the key of digests is rotated, a claim
   * has a row under the former and one under the new version: processes that know the new one claim under both, others under the
   * former alone, and once no row of such a process is left, all claim under the new one alone. So two claims always have
   * a row in common.
   */
  async #listClaimKeys(tenant: Tenant, keys: DigestKeys): Promise<readonly DigestKey[]> {
    const { current, versions } = keys;
    const former = versions
      .filter(({ version }) => version < current.version)
      .sort(byVersion)
      .at(-1);
    if (former === undefined) return [current];
    const rotation = await findRotation(this.#database, { ...tenant, purpose: DIGEST_PURPOSE });
    const isReplaced = rotation?.version === current.version && rotation.finishedAt !== undefined;
    // A later rotation has begun: the one to the current version had finished before.
    const isOlder = rotation !== undefined && rotation.version > current.version;
    return isReplaced || isOlder ? [current] : [former, current];
  }

  /** Returns the write for an operation that has a result: the key bound to it expires as any other. */
  releaseBinding({ account, environment }: Tenant, boundTo: string): Write {
    return write(RELEASE_BINDING, [this.#expiry(), account, environment, boundTo]);
  }

  async isSweepDue(now: number): Promise<boolean> {
    return (await this.#database.read(HAS_EXPIRED, now)).length > 0;
  }

  /** Removes responses that have expired at this trusted time; returns how many. */
  async sweep(now: number): Promise<number> {
    const rows = await this.#database.read(LIST_EXPIRED, now, LIMITS.rowsPerSweep);
    if (rows.length === 0) return 0;
    const keys = rows.map((row) => [row['account'] ?? null, row['environment'] ?? null, row['id'] ?? null, now]);
    await this.#database.commit({ writes: [{ sql: PURGE, rows: keys }], scrubAfterCommit: true });
    return rows.length;
  }

  #expiry(): number {
    return this.#time.latestNow() + RETENTION_MS;
  }

  async #findExisting(
    tenant: Tenant,
    ids: readonly Uint8Array[],
    isSameContent: (stored: Uint8Array) => boolean,
  ): Promise<ClaimResult> {
    let found: { readonly id: Uint8Array; readonly row: Row } | undefined;
    for (const id of ids) {
      const [row] = await this.#database.read(FIND, tenant.account, tenant.environment, id);
      found ??= row && { id, row };
    }
    // It was released between the two statements: the next repeat gets the claim.
    if (found === undefined) throw new Failure('operation_in_progress');
    const { id, row } = found;
    if (!isSameContent(blob(row, 'request'))) throw new Failure('idempotency_key_reused', { field: 'Idempotency-Key' });
    const status = integerOrNull(row, 'status');
    const response = blobOrNull(row, 'response');
    const boundTo = textOrNull(row, 'bound_operation');
    if (status === undefined && boundTo !== undefined) return { boundTo };
    if (status === undefined || response === undefined) throw new Failure('operation_in_progress');
    const body = await this.#keyring.unseal(tenant, 'idempotency', responseContext(tenant, id), response);
    return { replay: { status, body: body.toString('utf8') } };
  }

  #claim(tenant: Tenant, ids: readonly Uint8Array[], owner: string): Claim {
    const rowsOf = (valuesOf: (id: Uint8Array) => readonly Value[]): Value[][] =>
      ids.map((id) => [...valuesOf(id), tenant.account, tenant.environment, id, owner]);
    const renew = (): void => {
      cancel = this.#time.after(RENEWAL_MS, renew);
      const until = this.#time.steadyNow() + LEASE_MS;
      this.#database
        .commit({ account: tenant.account, writes: [{ sql: RENEW, rows: rowsOf(() => [until]) }] })
        .catch(() => undefined);
    };
    let cancel = this.#time.after(RENEWAL_MS, renew);
    const stop = (): void => cancel();
    const storeResponse = async ({ status, body }: StoredResponse): Promise<Write> => {
      const seal = await this.#keyring.sealer(tenant, 'idempotency', ids.length);
      const expiry = this.#expiry();
      const rows = rowsOf((id) => [status, seal(responseContext(tenant, id), body), expiry]);
      return { sql: STORE_RESPONSE, rows, expectedRows: 1 };
    };
    const release = (): Write => ({ sql: RELEASE, rows: rowsOf(() => []) });
    const bind = (boundTo: string): Write => ({ sql: BIND, rows: rowsOf(() => [boundTo, NEVER]), expectedRows: 1 });
    return { bind, storeResponse, release, stop };
  }
}

const DIGEST_PURPOSE = 'idempotency-digests';

const byVersion = (one: DigestKey, other: DigestKey): number => one.version - other.version;

/** A stored response ends within a day; what was digested is stored nowhere. */
export const DIGEST_COLUMNS: readonly DigestColumn[] = [
  { table: 'idempotency', purpose: DIGEST_PURPOSE, scope: 'tenant', key: ['id'], column: 'request' },
];

const responseContext = (tenant: Tenant, id: Uint8Array): EncryptionContext =>
  encryptionContext(tenant.environment, tenant.account, 'idempotency', Buffer.from(id).toString('hex'), 'response');

const toContext = (row: Row): EncryptionContext => {
  const tenant = { account: text(row, 'account'), environment: text(row, 'environment') as Environment };
  return responseContext(tenant, blob(row, 'id'));
};

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'idempotency',
    purpose: 'idempotency',
    scope: 'tenant',
    key: ['id'],
    bound: [],
    contexts: { response: toContext },
  },
];
