import { buildAuditEntry, SERVICE_ORIGIN } from '../audit/audit.ts';
import { versionByte } from '../crypto/digest-keys.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { SadKeys } from '../crypto/sad-keys.ts';
import { parseKeyId, UnsealError } from '../crypto/seal.ts';
import type { KeyOwner } from '../crypto/wrapped-key.ts';
import { type Clock, HOUR, SECOND } from '../kernel/clock.ts';
import type { Environment } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Database, isAlteration, type Row, type UnitOfWork, type Write } from '../storage/database.ts';
import { countDigests, isOfVersion, type RotatedColumns, readDigestRows } from '../storage/digest-columns.ts';
import {
  advanceRotation,
  findDueRotation,
  finishRotation,
  type Rotation,
  type RotationPosition,
  type StepResult,
  startNextPass,
  startNextPhase,
  waitForExpiry,
} from '../storage/key-rotation-store.ts';
import { type OwnedRows, positionOf } from '../storage/owned-rows.ts';
import { readSealedRows, replaceSealed, type SealedColumns } from '../storage/sealed-columns.ts';
import { wrappedKeyStore } from '../storage/wrapped-key-store.ts';
import { loadFingerprintKeys } from '../vault/fingerprint-keys.ts';
import { readTokensToRekey, rekeyToken, tokenPosition } from '../vault/fingerprint-rekeying.ts';
import { kindOf } from './key-kinds.ts';
import { keyIdOf, listDigestColumns } from './key-states.ts';
import { rotationFinished } from './rotation-events.ts';

/** How often rows are counted that end by themselves, as the keys of sensitive authentication data do with their captures. */
const EXPIRY_CHECK_MS = HOUR;
/** Steps for each second; a step reads this part of the rate. */
const STEPS_PER_SECOND = 10;

export interface ResealingOptions extends RotatedColumns {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly sadKeys: SadKeys;
  readonly clock: Clock;
  /** Rows that are sealed again each second, at most; infinite for no limit. */
  readonly rate: number;
  /** Called before each step. */
  holdsLease(): Promise<boolean>;
  pause(milliseconds: number): Promise<void>;
  /** Called with the number of rows that a step has sealed again. */
  onResealed(purpose: string, count: number): void;
}

/**
 * Seals rows again under the newest version of their key, and computes digests again, while the vault is used. It reads every row of the key's owner in
 * the order of the tables' keys, and replaces a sealed value only when it is still the one that was read. The position is
 * stored after each step, so that any node continues after a crash. Passes repeat until one that started after every node
 * knew the new version found nothing under an older one.
 */
export class Resealing {
  readonly #options: ResealingOptions;
  #isStopped = false;

  constructor(options: ResealingOptions) {
    this.#options = options;
  }

  /** Ends the work within one step. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Works while a rotation is due and this process holds the lease. */
  async run(): Promise<void> {
    const { database, clock, holdsLease } = this.#options;
    while (!this.#isStopped) {
      const rotation = await findDueRotation(database, clock());
      if (rotation === undefined || !(await holdsLease())) return;
      await this.#step(rotation);
    }
  }

  async #step(rotation: Rotation): Promise<void> {
    const owner = rotation as Rotation & KeyOwner;
    const kind = kindOf(owner, this.#options.sealed);
    if (kind === 'sad') return this.#checkSadKeys(rotation, owner);
    if (kind === 'fingerprints') return this.#rekey(rotation, owner);
    if (kind === 'digest') return this.#renewDigests(rotation, owner);
    const tables = this.#options.sealed.filter((columns) => kindOf(owner, [columns]) === 'data');
    const at = tables.findIndex(({ table }) => table === rotation.position?.table);
    const columns = tables[Math.max(0, at)];
    if (columns === undefined) return this.#endPass(rotation, NOTHING);
    const limit = this.#rowsPerStep();
    const after = at < 0 ? undefined : rotation.position?.key;
    const rows = await readSealedRows(this.#options.database, columns, owner, after, limit);
    const result = await this.#reseal(rotation, owner, columns, rows);
    // This process has not learned of the version yet.
    if (result === undefined) return this.#options.pause(LIMITS.keyRefreshMs / 2);
    const next = nextPosition(columns, tables, rows, limit);
    if (next === undefined) await this.#endPass(rotation, result);
    else await this.#commit({ ...accountOf(owner), writes: [advanceRotation(rotation, next, result)] });
    this.#options.onResealed(owner.purpose, result.resealed);
    await this.#pace(result.resealed, rows.length);
  }

  #rowsPerStep(): number {
    const { rate } = this.#options;
    return Math.max(1, Math.min(LIMITS.rowsPerRotationStep, Math.ceil(rate / STEPS_PER_SECOND)));
  }

  /** Waits as long as the rate gives these rows. */
  async #pace(resealed: number, read: number): Promise<void> {
    const { rate, pause } = this.#options;
    const cost = Math.max(resealed, read / LIMITS.rowsReadPerReseal);
    if (Number.isFinite(rate) && cost > 0) await pause(Math.ceil((cost / rate) * SECOND));
  }

  /** Returns undefined when this process still seals with an older version. */
  async #reseal(
    rotation: Rotation,
    owner: KeyOwner,
    columns: SealedColumns,
    rows: readonly Row[],
  ): Promise<StepResult | undefined> {
    const { database, keyring } = this.#options;
    const versions = await wrappedKeyStore(database).find(owner);
    const accepted = new Set(versions.filter(({ version }) => version >= rotation.version).map(({ id }) => id));
    const old = rows.flatMap((row) => listOldValues(columns, row, accepted));
    if (old.length === 0) return NOTHING;
    const seal = await keyring.sealer(owner, owner.purpose, old.length);
    const writes: Write[] = [];
    let leftOver = 0;
    for (const { row, column } of old) {
      try {
        const context = contextOf(columns, row, column);
        const plaintext = await keyring.unseal(owner, owner.purpose, context, row[column] as Uint8Array);
        const sealed = seal(context, plaintext);
        plaintext.fill(0);
        if (!accepted.has(parseKeyId(sealed))) return undefined;
        writes.push(replaceSealed(columns, owner, { row, column, sealed }));
      } catch (error) {
        if (!(error instanceof UnsealError) && !isAlteration(error)) throw error;
        leftOver++;
      }
    }
    // Each row alone: one that a request has changed in the meantime is sealed under the new version already, or read again
    // in the next pass.
    await Promise.all(writes.map((write) => this.#commit({ ...accountOf(owner), writes: [write] })));
    return { resealed: writes.length, leftOver };
  }

  /** Computes the next digests again that are under an older version. */
  async #renewDigests(rotation: Rotation, owner: KeyOwner): Promise<void> {
    const { database, keyring, onResealed, pause } = this.#options;
    const keys = await keyring.digests(owner);
    // Other processes may not verify digests of this version yet.
    if (keys.current.version < rotation.version) return pause(LIMITS.keyRefreshMs / 2);
    const tables = listDigestColumns(this.#options.digests, owner).filter(({ renew }) => renew !== undefined);
    const at = tables.findIndex(({ table }) => table === rotation.position?.table);
    const column = tables[Math.max(0, at)];
    if (column === undefined) return this.#endDigestPass(rotation, owner, NOTHING);
    const limit = this.#rowsPerStep();
    const after = at < 0 ? undefined : rotation.position?.key;
    const rows = await readDigestRows(database, column, owner, { after, limit });
    const isOld = (row: Row): boolean =>
      row[column.column] !== null && !isOfVersion(row[column.column], keys.current.version);
    const parts = { database, keyring, scope: owner, keys };
    const found = await Promise.all(
      rows.filter(isOld).map(async (row) => ({ row, writes: (await column.renew?.(parts, row)) ?? [] })),
    );
    const commits = found.flatMap(({ row, writes }) =>
      writes === 'altered' || writes.length === 0 ? [] : [{ ...accountOfRow(row, owner), writes }],
    );
    // Each row alone, because one that a request has changed in the meantime is read again in the next pass.
    await Promise.all(commits.map((unit) => this.#commit(unit)));
    const leftOver = found.filter(({ writes }) => writes === 'altered').length;
    const result = { resealed: commits.length, leftOver };
    const next = nextPosition(column, tables, rows, limit);
    if (next === undefined) await this.#endDigestPass(rotation, owner, result);
    else await this.#commit({ ...accountOf(owner), writes: [advanceRotation(rotation, next, result)] });
    onResealed(owner.purpose, result.resealed);
    await this.#pace(result.resealed, rows.length);
  }

  /**
   * No process makes digests under an older version any more once two handovers have passed: one until every process knew the new
   * version, and one in which requests ended that had begun before. Rows that cannot be computed again are waited for.
   */
  async #endDigestPass(rotation: Rotation, owner: KeyOwner, result: StepResult): Promise<void> {
    const now = this.#options.clock();
    const handedOverAt = rotation.startedAt + 2 * LIMITS.digestHandoverMs;
    if (rotation.passResealed + result.resealed > 0 || rotation.passStartedAt < handedOverAt) {
      const write = startNextPass(rotation, result, Math.max(now, handedOverAt));
      await this.#commit({ ...accountOf(owner), writes: [write] });
      return;
    }
    if (!(await this.#hasExpiringRows(rotation, owner))) return this.#finish(rotation, result, now);
    await this.#commit({ ...accountOf(owner), writes: [waitForExpiry(rotation, result, now + EXPIRY_CHECK_MS)] });
  }

  /** True while rows exist under an older version whose digests cannot be computed again. */
  async #hasExpiringRows({ version }: Rotation, owner: KeyOwner): Promise<boolean> {
    const { database, digests } = this.#options;
    const versions = await wrappedKeyStore(database).find(owner);
    const older = versions.filter((each) => each.version < version).map((each) => String(versionByte(each.version)));
    for (const column of listDigestColumns(digests, owner)) {
      if (column.renew !== undefined) continue;
      const counts = await countDigests(database, column, owner, LIMITS.rowsPerSealedCount);
      if (older.some((byte) => counts.has(byte))) return true;
    }
    return false;
  }

  /** Does the work of a phase on the next tokens. */
  async #rekey(rotation: Rotation, owner: KeyOwner): Promise<void> {
    const { database, keyring, onResealed } = this.#options;
    const tenant = { account: owner.account, environment: owner.environment as Environment };
    const keys = await loadFingerprintKeys(database, keyring, tenant);
    const limit = this.#rowsPerStep();
    const rows = await readTokensToRekey(database, tenant, rotation.position?.key, limit);
    const found = await Promise.all(rows.map((row) => rekeyToken(keyring, tenant, keys, row)));
    const writes = found.filter((each) => typeof each === 'object');
    const leftOver = found.filter((each) => each === 'unreadable').length;
    await Promise.all(writes.map((write) => this.#commit({ ...accountOf(owner), writes: [write] })));
    const result = { resealed: writes.length, leftOver };
    const last = rows.length < limit ? undefined : rows.at(-1);
    if (last === undefined) await this.#endPhasePass(rotation, result);
    else {
      const next = { table: 'tokens', key: tokenPosition(last) };
      await this.#commit({ ...accountOf(owner), writes: [advanceRotation(rotation, next, result)] });
    }
    onResealed(owner.purpose, result.resealed);
    await this.#pace(result.resealed, rows.length);
  }

  /** A phase is complete when a pass found nothing to do; the next one begins when every process knows of it. */
  async #endPhasePass(rotation: Rotation, result: StepResult): Promise<void> {
    const now = this.#options.clock();
    if (rotation.passResealed + result.resealed > 0) {
      await this.#commit({ ...accountOf(rotation), writes: [startNextPass(rotation, result, now)] });
      return;
    }
    if (rotation.phase >= LAST_PHASE) return this.#finish(rotation, result, now);
    const write = startNextPhase(rotation, result, now + LIMITS.digestHandoverMs);
    await this.#commit({ ...accountOf(rotation), writes: [write] });
  }

  /** Every node knew the version, and nothing was under an older one; otherwise everything is read once more. */
  async #endPass(rotation: Rotation, result: StepResult): Promise<void> {
    const { clock } = this.#options;
    const now = clock();
    const handedOverAt = rotation.startedAt + LIMITS.keyHandoverMs;
    const isComplete = rotation.passResealed + result.resealed === 0 && rotation.passStartedAt >= handedOverAt;
    if (!isComplete) {
      const write = startNextPass(rotation, result, Math.max(now, handedOverAt));
      await this.#commit({ ...accountOf(rotation), writes: [write] });
      return;
    }
    await this.#finish(rotation, result, now);
  }

  async #finish(rotation: Rotation, result: StepResult, now: number): Promise<void> {
    const { version, resealed, leftOver } = rotation;
    const counts = { version, resealed: resealed + result.resealed, leftOver: leftOver + result.leftOver };
    await this.#commit({
      ...accountOf(rotation),
      writes: [finishRotation(rotation, result, now)],
      journal: [buildAuditEntry(() => now, SERVICE_ORIGIN, rotationFinished(rotation, counts))],
      // The write-ahead log still contains the replaced values.
      scrubAfterCommit: true,
    });
  }

  async #checkSadKeys(rotation: Rotation, owner: KeyOwner): Promise<void> {
    const { database, sadKeys, clock } = this.#options;
    const counts = await sadKeys.countByWrappingKey(owner.environment as Environment);
    const versions = await wrappedKeyStore(database).find(owner);
    const older = versions.filter(({ version, id }) => version < rotation.version && counts.has(id));
    if (older.length === 0) return this.#endPass(rotation, NOTHING);
    await this.#commit({ writes: [startNextPass(rotation, NOTHING, clock() + EXPIRY_CHECK_MS)] });
  }

  /** A conflict means that a request or another node was first: the next step reads again. */
  async #commit(unit: UnitOfWork): Promise<void> {
    await this.#options.database.commit(unit);
  }
}

/** See `vault/fingerprint-keys.ts`. */
const LAST_PHASE = 3;

const NOTHING: StepResult = { resealed: 0, leftOver: 0 };

/** The account of a row, where the key belongs to the service. */
const accountOfRow = (row: Row, { account }: Pick<KeyOwner, 'account'>) => {
  const owner = account === '' ? row['account'] : account;
  return typeof owner === 'string' && owner !== '' ? { account: owner } : {};
};

const accountOf = ({ account }: Pick<KeyOwner, 'account'>) => (account === '' ? {} : { account });

/** Lists the sealed values of a row that are not under an accepted key. */
function listOldValues({ contexts }: SealedColumns, row: Row, accepted: ReadonlySet<string>) {
  return Object.keys(contexts)
    .filter((column) => row[column] !== null && !accepted.has(keyIdOf(row[column])))
    .map((column) => ({ row, column }));
}

function contextOf({ contexts }: SealedColumns, row: Row, column: string) {
  const context = contexts[column];
  if (context === undefined || !(row[column] instanceof Uint8Array)) throw new UnsealError();
  return context(row);
}

/** Returns where the pass continues; undefined at its end. */
function nextPosition<Columns extends OwnedRows>(
  columns: Columns,
  tables: readonly Columns[],
  rows: readonly Row[],
  limit: number,
): RotationPosition | undefined {
  const last = rows.at(-1);
  if (last !== undefined && rows.length === limit) return { table: columns.table, key: positionOf(columns, last) };
  const next = tables[tables.indexOf(columns) + 1];
  return next && { table: next.table, key: undefined };
}
