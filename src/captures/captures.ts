import { type AuditAction, buildAuditEntry, type Origin } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { SadKeys, SealedSad } from '../crypto/sad-keys.ts';
import { alsoWrites, type Effect, refuseIfTakenOver } from '../idempotency/effect.ts';
import { type Clock, MINUTE, type Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { isUuid, newUuid } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import { commitOrThrow, type Database, type JournalEntry } from '../storage/database.ts';
import type { Tokenization, TokenizationResult } from '../vault/assign-tokens.ts';
import type { Vault } from '../vault/vault.ts';
import type { Capture } from './capture.ts';
import {
  deleteCapture,
  findCapture,
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

/** A capture as its owner may see it: with `sad` only when it was retrieved. */
export interface RetrievedCapture {
  readonly capture: Capture;
  readonly panIndex: string | undefined;
}

/** What is wanted of a capture. */
interface CaptureSelector {
  readonly id: string;
  readonly sad: boolean;
}

/** Temporary records: made, retrieved, inspected, tokenized, deleted, and gone when their ttl ends. */
export class Captures {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #sadKeys: SadKeys;
  readonly #vault: Vault;
  readonly #clock: Clock;
  readonly #time: TrustedTime;
  readonly #random: Random;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    sadKeys: SadKeys;
    vault: Vault;
    clock: Clock;
    time: TrustedTime;
    random: Random;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#sadKeys = options.sadKeys;
    this.#vault = options.vault;
    this.#clock = options.clock;
    this.#time = options.time;
    this.#random = options.random;
  }

  /** Returns the id. */
  async create(tenant: Tenant, request: NewCapture, effect: Effect<string>): Promise<string> {
    const { now: createdAt, latest } = this.#time.timesNow();
    const id = newUuid(this.#random);
    const expiresAt = latest + request.ttlMinutes * MINUTE;
    const capture: Capture = { ...request, id, createdAt, expiresAt };
    const sad = await sealSad(this.#sadKeys, tenant, capture);
    const own = [await insertCapture(this.#keyring, tenant, capture, sad)];
    const outcome = await this.#database.commit({
      account: tenant.account,
      writes: [...own, ...(await alsoWrites(effect, id))],
    });
    refuseIfTakenOver(outcome, own.length);
    if (!outcome.committed) throw new Failure('internal');
    await this.#resealIfLate(tenant, capture, sad);
    return id;
  }

  /** A commit can take so long that the key of the period was closed and destroyed before it. */
  async #resealIfLate(tenant: Tenant, capture: Capture, sealed: SealedSad | undefined): Promise<void> {
    const { environment, account } = tenant;
    for (let old = sealed; old !== undefined; ) {
      if (!(await this.#sadKeys.mayBeDestroyed(old, environment, capture.expiresAt))) return;
      const sad = await sealSad(this.#sadKeys, tenant, capture);
      if (sad !== undefined)
        await commitOrThrow(this.#database, { account, writes: [replaceSad(tenant, capture.id, old, sad)] });
      old = sad;
    }
  }

  /** With everything in it; the audit record is on disk before it is returned. Throws `unknown_capture`. */
  async retrieve(tenant: Tenant, id: string, origin: Origin): Promise<RetrievedCapture> {
    const stored = await this.#find(tenant, id);
    await commitOrThrow(this.#database, {
      account: tenant.account,
      writes: [],
      journal: [this.#retrievalEntry(tenant, id, origin, stored)],
    });
    if (stored === undefined) throw new Failure('unknown_capture', { field: 'id' });
    return { capture: await this.#unseal(tenant, stored), panIndex: stored.panIndex };
  }

  /**
   * Captures by id, for `use` (a word for the audit log); those that do not exist are not in the map. Sensitive
   * authentication data stays sealed unless it is wanted. The audit records of all are on disk before it is returned.
   */
  async retrieveForUse(
    tenant: Tenant,
    selectors: readonly CaptureSelector[],
    origin: Origin,
    usage: string,
  ): Promise<Map<string, Capture>> {
    const captures = new Map<string, Capture>();
    const journal: JournalEntry[] = [];
    // All at once: over a network each question has its way to go.
    const found = await Promise.all(selectors.map(({ id }) => this.#find(tenant, id)));
    for (const [index, { id, sad }] of selectors.entries()) {
      const stored = found[index];
      const sealed = stored && (sad ? stored : { ...stored, sealedSad: undefined });
      if (sealed !== undefined) captures.set(id, await this.#unseal(tenant, sealed));
      journal.push(this.#retrievalEntry(tenant, id, origin, stored, usage));
    }
    if (journal.length > 0) await commitOrThrow(this.#database, { account: tenant.account, writes: [], journal });
    return captures;
  }

  /** Without sensitive data; undefined when it does not exist or its ttl has ended. */
  inspect(tenant: Tenant, id: string): Promise<StoredCapture | undefined> {
    return this.#find(tenant, id);
  }

  /** Throws `unknown_capture`, `capture_without_card`, and what tokenizing throws. The capture lives on. */
  async tokenize(
    tenant: Tenant,
    id: string,
    format: Omit<Tokenization, 'cards'>,
    effect: Effect<TokenizationResult[]>,
  ): Promise<TokenizationResult[]> {
    const stored = await this.#find(tenant, id);
    if (stored === undefined) throw new Failure('unknown_capture', { field: 'id' });
    const { pan, name, expiry } = stored.capture;
    if (pan === undefined) throw new Failure('capture_without_card', { field: 'id' });
    const journal = [this.#entry('capture.tokenized', tenant, id, effect.origin, 'success')];
    return this.#vault.tokenize(tenant, { ...format, cards: [{ pan, name, expiry }] }, effect, journal);
  }

  /** Throws `unknown_capture`. */
  async delete(tenant: Tenant, id: string, effect: Effect<string>): Promise<void> {
    const own = [deleteCapture(tenant, isUuid(id) ? id : '', this.#time.latestNow())];
    const journal = [this.#entry('capture.deleted', tenant, id, effect.origin, 'success')];
    const outcome = await this.#database.commit({
      account: tenant.account,
      writes: [...own, ...(await alsoWrites(effect, id))],
      journal,
      scrubAfterCommit: true,
    });
    refuseIfTakenOver(outcome, own.length);
    if (!outcome.committed) {
      const missing = [this.#entry('capture.deleted', tenant, id, effect.origin, 'missing')];
      await commitOrThrow(this.#database, { account: tenant.account, writes: [], journal: missing });
      throw new Failure('unknown_capture', { field: 'id' });
    }
  }

  isSweepDue(now: number): Promise<boolean> {
    return hasExpiredCaptures(this.#database, now);
  }

  /** Removes what has expired at this trusted time; returns how many captures. */
  sweep(now: number): Promise<number> {
    return purgeExpiredCaptures(this.#database, now, LIMITS.rowsPerSweep);
  }

  /** Destroys keys of sensitive authentication data that no capture needs at this trusted time; returns how many. */
  sweepSadKeys(now: number): Promise<number> {
    return this.#sadKeys.destroyUnused(now, () => listSadKeyIds(this.#database));
  }

  /** Keys that captures name and that are not here, as after a restore: their captures have lost that data. */
  async countMissingSadKeys(): Promise<number> {
    return this.#sadKeys.countMissing(await listSadKeyIds(this.#database));
  }

  async #find(tenant: Tenant, id: string): Promise<StoredCapture | undefined> {
    // A clock that is behind serves nothing that has ended.
    const now = this.#time.latestNow();
    return isUuid(id) ? findCapture(this.#database, this.#keyring, tenant, id, now) : undefined;
  }

  async #unseal(tenant: Tenant, stored: StoredCapture): Promise<Capture> {
    return { ...stored.capture, sad: await unsealSad(this.#sadKeys, tenant, stored) };
  }

  #retrievalEntry(
    tenant: Tenant,
    id: string,
    origin: Origin,
    found: StoredCapture | undefined,
    usage?: string,
  ): JournalEntry {
    return this.#entry('capture.retrieved', tenant, id, origin, found === undefined ? 'missing' : 'success', usage);
  }

  #entry(
    action: AuditAction,
    tenant: Tenant,
    id: string,
    origin: Origin,
    outcome: string,
    usage?: string,
  ): JournalEntry {
    // An id of another form is whatever a caller put into the path, and may be a card number.
    const targets = isUuid(id) ? [`capture:${id}`] : [];
    const detail = usage === undefined ? undefined : { use: usage };
    return buildAuditEntry(this.#clock, origin, { action, outcome, ...tenant, targets, ...(detail && { detail }) });
  }
}
