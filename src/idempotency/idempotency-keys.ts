import { isSameDigest, keyedDigest } from '../crypto/fingerprint.ts';
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
  type Write,
  write,
} from '../storage/database.ts';
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
    const digestKey = await this.#keyring.digestKey({ ...tenant, purpose: 'idempotency-digests' });
    const id = keyedDigest(digestKey, `${request.method}\n${request.path}\n${request.key}`);
    const content = keyedDigest(digestKey, request.content);
    const owner = Buffer.from(this.#random.bytes(16)).toString('hex');
    const trusted = this.#time.trustedNow();
    const claim = trusted === undefined ? CLAIM : CLAIM_EXPIRED;
    const leaseUntil = (trusted ?? this.#time.steadyNow()) + LEASE_MS;
    const values = [tenant.account, tenant.environment, id, content, owner, leaseUntil, this.#expiry()];
    const { committed } = await this.#database.commit({ account: tenant.account, writes: [write(claim, values, 1)] });
    return committed ? { claim: this.#claim(tenant, id, owner) } : this.#findExisting(tenant, id, content);
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

  async #findExisting(tenant: Tenant, id: Uint8Array, content: Uint8Array): Promise<ClaimResult> {
    const [row] = await this.#database.read(FIND, tenant.account, tenant.environment, id);
    // It was released between the two statements: the next repeat gets the claim.
    if (row === undefined) throw new Failure('operation_in_progress');
    if (!isSameDigest(blob(row, 'request'), content))
      throw new Failure('idempotency_key_reused', { field: 'Idempotency-Key' });
    const status = integerOrNull(row, 'status');
    const response = blobOrNull(row, 'response');
    const boundTo = textOrNull(row, 'bound_operation');
    if (status === undefined && boundTo !== undefined) return { boundTo };
    if (status === undefined || response === undefined) throw new Failure('operation_in_progress');
    const body = await this.#keyring.unseal(tenant, 'idempotency', responseContext(tenant, id), response);
    return { replay: { status, body: body.toString('utf8') } };
  }

  #claim(tenant: Tenant, id: Uint8Array, owner: string): Claim {
    const where = [tenant.account, tenant.environment, id, owner];
    const renew = (): void => {
      cancel = this.#time.after(RENEWAL_MS, renew);
      const until = this.#time.steadyNow() + LEASE_MS;
      this.#database
        .commit({ account: tenant.account, writes: [write(RENEW, [until, ...where])] })
        .catch(() => undefined);
    };
    let cancel = this.#time.after(RENEWAL_MS, renew);
    const stop = (): void => cancel();
    const storeResponse = async ({ status, body }: StoredResponse): Promise<Write> => {
      const seal = await this.#keyring.sealer(tenant, 'idempotency', 1);
      return write(STORE_RESPONSE, [status, seal(responseContext(tenant, id), body), this.#expiry(), ...where], 1);
    };
    const release = (): Write => write(RELEASE, where);
    const bind = (boundTo: string): Write => write(BIND, [boundTo, NEVER, ...where], 1);
    return { bind, storeResponse, release, stop };
  }
}

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
