import { type AuditAction, type AuditEvent, buildAuditEntry, SERVICE_ORIGIN } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { SadKeyPeriod, SadKeys, SealedSad } from '../crypto/sad-keys.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { formatIso8601, MINUTE, type Random, SECOND } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { isUuid, newUuid } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import { commitOrThrow, type Database } from '../storage/database.ts';
import type { Tokenization, TokenizationResult } from '../vault/assign-tokens.ts';
import type { Vault } from '../vault/vault.ts';
import type { Capture } from './capture.ts';
import {
  deleteCapture,
  findCapture,
  findSadKeyId,
  hasExpiredCaptures,
  insertCapture,
  listSadKeyIds,
  purgeExpiredCaptures,
  replaceSad,
  type StoredCapture,
  sealSad,
  unsealSad,
} from './capture-store.ts';

export type NewCapture = Omit<Capture, 'id' | 'createdAt' | 'expiresAt'> & { readonly ttlMinutes: number };

/** A complete capture, sensitive authentication data included. */
export interface RetrievedCapture {
  readonly capture: Capture;
  readonly panIndex: string | undefined;
}

/** Delay of the first repetition of a failed reseal. */
const RESEAL_DELAY_MS = SECOND;

/** Selects a capture, with or without its sensitive authentication data. */
interface CaptureSelector {
  readonly id: string;
  readonly sad: boolean;
}

/** Creates, retrieves, inspects, tokenizes and deletes captures. They expire when their ttl ends. */
export class Captures {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #sadKeys: SadKeys;
  readonly #vault: Vault;
  readonly #time: TrustedTime;
  readonly #random: Random;
  readonly #onResealError: (error: unknown, tenant: Tenant) => void;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    sadKeys: SadKeys;
    vault: Vault;
    time: TrustedTime;
    random: Random;
    /** Called when data that has to be sealed again could not be; it is tried again. */
    onResealError?: (error: unknown, tenant: Tenant) => void;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#sadKeys = options.sadKeys;
    this.#vault = options.vault;
    this.#time = options.time;
    this.#random = options.random;
    this.#onResealError = options.onResealError ?? (() => undefined);
  }

  /** Returns the id. */
  async create(transaction: Transaction, tenant: Tenant, request: NewCapture): Promise<string> {
    const { now: createdAt, latest } = this.#time.timesNow();
    const id = newUuid(this.#random);
    const expiresAt = latest + request.ttlMinutes * MINUTE;
    const capture: Capture = { ...request, id, createdAt, expiresAt };
    const sad = await sealSad(this.#sadKeys, tenant, capture);
    transaction.write(await insertCapture(this.#keyring, tenant, capture, sad));
    if (sad !== undefined) transaction.afterCommit(() => this.#resealIfLate(tenant, capture, sad));
    return id;
  }

  /**
   * A commit can take so long that the key of the period was closed and destroyed before it. The capture is committed, so
   * this never throws: it tries again after a delay that doubles, until the ttl ends.
   */
  async #resealIfLate(tenant: Tenant, capture: Capture, sealed: SealedSad, delayMs = RESEAL_DELAY_MS): Promise<void> {
    const { environment, account } = tenant;
    let last = sealed;
    try {
      while (await this.#sadKeys.mayBeDestroyed(last, environment, capture.expiresAt)) {
        // It is read, because an earlier attempt whose outcome is unknown may have replaced the data.
        const keyId = await findSadKeyId(this.#database, tenant, capture.id);
        const sad = await sealSad(this.#sadKeys, tenant, capture);
        if (keyId === undefined || sad === undefined) return;
        const writes = [replaceSad(tenant, capture.id, keyId, sad)];
        // A conflict means that such an attempt, or what erases the data, was committed since the read.
        if ((await this.#database.commit({ account, writes })).committed) last = sad;
      }
    } catch (error) {
      this.#onResealError(error, tenant);
      this.#time.after(delayMs, () => void this.#resealIfLate(tenant, capture, last, 2 * delayMs));
    }
  }

  /** Returns a complete capture; the read is recorded in the transaction. Throws `unknown_capture`. */
  async retrieve(transaction: Transaction, tenant: Tenant, id: string): Promise<RetrievedCapture> {
    const stored = await this.#find(tenant, id);
    recordRetrieval(transaction, tenant, id, stored);
    if (stored === undefined) throw unknownCapture();
    return { capture: await this.#unseal(tenant, stored), panIndex: stored.panIndex };
  }

  /**
   * Returns captures by id, for `usage` (a word for the audit log); those that do not exist are not in the map. Sensitive
   * authentication data stays sealed unless it is selected. Each read is recorded in the transaction.
   */
  async retrieveForUse(
    transaction: Transaction,
    tenant: Tenant,
    selectors: readonly CaptureSelector[],
    usage: string,
  ): Promise<Map<string, Capture>> {
    const captures = new Map<string, Capture>();
    // Concurrently: over a network each query has its round trip.
    const found = await Promise.all(selectors.map(({ id }) => this.#find(tenant, id)));
    for (const [index, { id, sad }] of selectors.entries()) {
      const stored = found[index];
      const sealed = stored && (sad ? stored : { ...stored, sealedSad: undefined });
      recordRetrieval(transaction, tenant, id, stored, usage);
      if (sealed !== undefined) captures.set(id, await this.#unseal(tenant, sealed));
    }
    return captures;
  }

  /** Returns a capture without sensitive data; undefined when it does not exist or its ttl has ended. */
  inspect(tenant: Tenant, id: string): Promise<StoredCapture | undefined> {
    return this.#find(tenant, id);
  }

  /**
   * Throws `unknown_capture`, `capture_without_card`, and what tokenizing throws. The capture remains until its ttl
   * ends.
   */
  async tokenize(
    transaction: Transaction,
    tenant: Tenant,
    id: string,
    format: Omit<Tokenization, 'cards'>,
  ): Promise<TokenizationResult[]> {
    const stored = await this.#find(tenant, id);
    if (stored === undefined) throw unknownCapture();
    const { pan, name, expiry } = stored.capture;
    if (pan === undefined) throw new Failure('capture_without_card', { field: 'id' });
    transaction.record(captureEvent('capture.tokenized', tenant, id, 'success'));
    return this.#vault.tokenize(transaction, tenant, { ...format, cards: [{ pan, name, expiry }] });
  }

  /** Throws `unknown_capture`. */
  async delete(transaction: Transaction, tenant: Tenant, id: string): Promise<void> {
    // Deleting a capture that does not exist conflicts, so only a second attempt has to read it.
    if (!isUuid(id) || (transaction.attempt > 0 && (await this.#find(tenant, id)) === undefined)) {
      transaction.recordAlways(captureEvent('capture.deleted', tenant, id, 'missing'));
      throw unknownCapture();
    }
    transaction.write(deleteCapture(tenant, id, this.#time.latestNow()));
    transaction.record(captureEvent('capture.deleted', tenant, id, 'success'));
    transaction.scrub();
  }

  isSweepDue(now: number): Promise<boolean> {
    return hasExpiredCaptures(this.#database, now);
  }

  /** Removes what has expired at this trusted time; returns how many captures. */
  sweep(now: number): Promise<number> {
    return purgeExpiredCaptures(this.#database, now, LIMITS.rowsPerSweep);
  }

  /**
   * Destroys keys of sensitive authentication data that no capture needs at this trusted time; returns how many. Each
   * destruction is recorded first, so that none lacks its record.
   */
  sweepSadKeys(now: number): Promise<number> {
    return this.#sadKeys.destroyUnused(
      now,
      () => listSadKeyIds(this.#database),
      (key) => this.#recordDestruction(key, now),
    );
  }

  #recordDestruction({ environment, id, from, to }: SadKeyPeriod, now: number): Promise<void> {
    const targets = [`sad-key:${id}`, toSadPeriodTarget(from)];
    const detail = { expired_from: formatIso8601(from), expired_to: formatIso8601(to) };
    const event = {
      action: 'sad-key.destroyed',
      outcome: 'success',
      account: '',
      environment,
      targets,
      detail,
    } as const;
    return commitOrThrow(this.#database, { writes: [], journal: [buildAuditEntry(() => now, SERVICE_ORIGIN, event)] });
  }

  /**
   * Returns the number of keys that captures name and that do not exist, as after a restore: their captures have lost
   * that data.
   */
  async countMissingSadKeys(): Promise<number> {
    return this.#sadKeys.countMissing(await listSadKeyIds(this.#database));
  }

  async #find(tenant: Tenant, id: string): Promise<StoredCapture | undefined> {
    // A clock that is behind must not serve an expired capture.
    const now = this.#time.latestNow();
    return isUuid(id) ? findCapture(this.#database, this.#keyring, tenant, id, now) : undefined;
  }

  async #unseal(tenant: Tenant, stored: StoredCapture): Promise<Capture> {
    return { ...stored.capture, sad: await unsealSad(this.#sadKeys, tenant, stored) };
  }
}

/** Names the hour of expiry of destroyed keys in the audit log. */
export const toSadPeriodTarget = (from: number): string => `sad-period:${formatIso8601(from)}`;

const unknownCapture = (): Failure => new Failure('unknown_capture', { field: 'id' });

const recordRetrieval = (
  transaction: Transaction,
  tenant: Tenant,
  id: string,
  found: StoredCapture | undefined,
  usage?: string,
): void =>
  transaction.recordAlways(
    captureEvent('capture.retrieved', tenant, id, found === undefined ? 'missing' : 'success', usage),
  );

function captureEvent(action: AuditAction, tenant: Tenant, id: string, outcome: string, usage?: string): AuditEvent {
  // A text of another format comes from the path, and may be a card number.
  const targets = isUuid(id) ? [`capture:${id}`] : [];
  return { action, outcome, ...tenant, targets, ...(usage !== undefined && { detail: { use: usage } }) };
}
