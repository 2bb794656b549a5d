import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { SigningKeys } from '../crypto/signing-key.ts';
import { type Clock, DAY, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { formatReason } from '../kernel/reasons.ts';
import type { Database } from '../storage/database.ts';
import type { Head } from '../storage/journal.ts';
import { loadBeginnings } from './beginnings.ts';
import { verifyCheckpoints } from './checkpoints.ts';
import {
  listVerifications,
  listVerifiedHeads,
  type StoredVerification,
  upsertVerification,
  upsertVerifiedHeads,
  type VerificationKind,
} from './verification-store.ts';
import { type Verification, verifyJournal } from './verify-journal.ts';

const PERIOD_MS: Readonly<Record<VerificationKind, number>> = { daily: DAY, full: 7 * DAY };
/** Verified heads that are stored in one commit. */
const HEADS_PER_COMMIT = 200;

/** Thrown inside a verification that ends early: the service stops, or another node took the lease. */
class VerificationInterrupted extends Error {}

/**
 * Verifies the log every day from where the last verification ended, and every week from its start. It reads no faster
 * than `verifiedRecordsPerSecond`. Verified heads are stored chain by chain, so an interrupted verification leaves less
 * for the next daily one.
 */
export class PeriodicVerification {
  readonly #database: Database;
  readonly #key: DigestKeys;
  readonly #clock: Clock;
  readonly #holdsLease: () => Promise<boolean>;
  readonly #pause: (milliseconds: number) => Promise<void>;
  readonly #onFault: (verification: StoredVerification) => void;
  readonly #signingKeys: Pick<SigningKeys, 'list'> | undefined;
  #isStopped = false;

  constructor(options: {
    database: Database;
    journalKey: DigestKeys;
    clock: Clock;
    /** Called before the work and during it. */
    holdsLease: () => Promise<boolean>;
    pause: (milliseconds: number) => Promise<void>;
    onFault: (verification: StoredVerification) => void;
    /** Verify checkpoints, and the beginning of a pruned log; absent: there are none. */
    signingKeys?: Pick<SigningKeys, 'list'>;
  }) {
    this.#database = options.database;
    this.#key = options.journalKey;
    this.#clock = options.clock;
    this.#holdsLease = options.holdsLease;
    this.#pause = options.pause;
    this.#onFault = options.onFault;
    this.#signingKeys = options.signingKeys;
  }

  /** Ends a verification within one page of records. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Verifies the log when a verification is due. */
  async run(): Promise<void> {
    if (this.#isStopped || !(await this.#holdsLease())) return;
    const stored = await listVerifications(this.#database, this.#key);
    const kind = (['full', 'daily'] as const).find((each) => this.#isDue(each, stored));
    if (kind === undefined) return;
    try {
      await this.#store(kind, await this.#verify(kind, stored), stored);
    } catch (error) {
      if (!(error instanceof VerificationInterrupted)) throw error;
    }
  }

  /** A full verification counts as a daily one. A time in the future does not count: the clock was wrong. */
  #isDue(kind: VerificationKind, stored: readonly StoredVerification[]): boolean {
    const now = this.#clock();
    const times = stored.filter((each) => each.kind === kind || each.kind === 'full').map(({ at }) => at);
    return !times.some((at) => at <= now && now < at + PERIOD_MS[kind]);
  }

  async #verify(kind: VerificationKind, stored: readonly StoredVerification[]): Promise<Verification> {
    const pending: Head[] = [];
    const flush = (): Promise<void> => upsertVerifiedHeads(this.#database, this.#key, pending.splice(0));
    const onVerified = async ({ account, lane, sequence, hash }: Head): Promise<void> => {
      pending.push({ account, lane, sequence, hash });
      if (pending.length >= HEADS_PER_COMMIT) await flush();
    };
    const since = (lane: number) => listVerifiedHeads(this.#database, this.#key, lane);
    const pace = (records: number): Promise<void> => this.#pace(records);
    const verification = await verifyJournal(this.#database, this.#key, {
      pace,
      onVerified,
      ...(kind === 'daily' && { since }),
      ...(this.#signingKeys !== undefined && { signingKeys: this.#signingKeys }),
    });
    await flush();
    if (!verification.ok || this.#signingKeys === undefined) return verification;
    const succeeded = Math.max(0, ...stored.map(({ succeededAt }) => succeededAt));
    const fault = await this.#findCheckpointFault(this.#signingKeys, kind === 'daily' ? succeeded : 0);
    return fault === undefined ? verification : { ...verification, ok: false, fault };
  }

  async #findCheckpointFault(signingKeys: Pick<SigningKeys, 'list'>, since: number): Promise<string | undefined> {
    const pace = (heads: number): Promise<void> => this.#pace(heads);
    const beginnings = await loadBeginnings(this.#database, signingKeys);
    // The next verification finds an altered beginning.
    if (beginnings === 'altered') return undefined;
    const { fault } = await verifyCheckpoints(this.#database, signingKeys, beginnings, { since, pace });
    return fault && formatReason(fault);
  }

  async #pace(records: number): Promise<void> {
    await this.#pause((records * SECOND) / LIMITS.verifiedRecordsPerSecond);
    if (this.#isStopped || !(await this.#holdsLease())) throw new VerificationInterrupted();
  }

  async #store(
    kind: VerificationKind,
    { records, fault = '' }: Verification,
    stored: readonly StoredVerification[],
  ): Promise<void> {
    const at = this.#clock();
    const before = stored.find((each) => each.kind === kind)?.succeededAt ?? 0;
    const verification = { kind, at, succeededAt: fault === '' ? at : before, records, fault };
    await upsertVerification(this.#database, this.#key, verification);
    if (fault !== '') this.#onFault(verification);
  }
}
