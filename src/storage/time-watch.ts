import { MINUTE, type MonotonicClock, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { TimeGuard, TimeReading } from '../kernel/time-guard.ts';
import type { ClockRecordStore, ClockRecords } from './clock-record-store.ts';
import { commitOrThrow, type Database, type Write } from './database.ts';
import { PeriodicTask } from './periodic-task.ts';

/** Shorter than the 5 seconds within which a confirmation is valid on every node. */
const CHECK_INTERVAL_MS = 2 * SECOND;
/** Maximum age of the stored time while time is trusted. */
const STORE_INTERVAL_MS = MINUTE;

/**
 * Stores the last trusted time, and decides when time is trusted again: when an operator confirmed it, when another
 * node compared it without a gap, or after a long stop when nothing is due that destroys records.
 */
export class TimeWatch {
  readonly #database: Database;
  readonly #records: ClockRecordStore;
  readonly #guard: TimeGuard;
  readonly #monotonic: MonotonicClock;
  readonly #hasPeers: boolean;
  readonly #isDestructionDue: (now: number) => Promise<boolean>;
  readonly #task: PeriodicTask;
  #running: Promise<void> = Promise.resolve();
  #storedAt: number | undefined;
  /** An earlier process may have stored a time. */
  #hasReported = true;
  #stopped = false;

  constructor(options: {
    database: Database;
    records: ClockRecordStore;
    guard: TimeGuard;
    monotonic: MonotonicClock;
    /** Other nodes use the same clock. */
    hasPeers: boolean;
    isDestructionDue: (now: number) => Promise<boolean>;
    onError: (task: string, error: unknown) => void;
  }) {
    this.#database = options.database;
    this.#records = options.records;
    this.#guard = options.guard;
    this.#monotonic = options.monotonic;
    this.#hasPeers = options.hasPeers;
    this.#isDestructionDue = options.isDestructionDue;
    this.#task = new PeriodicTask({
      every: CHECK_INTERVAL_MS,
      sweeps: [],
      work: [{ kind: 'trusted time', run: () => this.check() }],
      time: options.guard,
      onRemoved: () => undefined,
      onError: options.onError,
    });
  }

  start(): void {
    this.#task.start();
  }

  /** Stores the time of the stop when it is trusted. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#task.stop();
    await this.#running.catch(() => undefined);
    const now = this.#guard.trustedNow();
    if (now !== undefined) await this.#store(now, []);
  }

  /** Compares and stores once, after the checks before it. */
  check(): Promise<void> {
    if (this.#stopped) return this.#running;
    this.#running = this.#running.catch(() => undefined).then(() => this.#check());
    return this.#running;
  }

  async #check(): Promise<void> {
    const reading = this.#guard.read();
    if (reading.distrust !== undefined && (await this.#mayAccept(reading))) this.#guard.accept(reading);
    const { distrust, time, expected } = this.#guard.read();
    if (distrust !== undefined) {
      const report = await this.#records.upsert('distrust', { reason: distrust, at: time, expected: expected ?? null });
      await commitOrThrow(this.#database, { writes: [report] });
      this.#hasReported = true;
      return;
    }
    if (this.#hasReported) await this.#store(time, [this.#records.delete('distrust')]);
    else if (this.#storedAt === undefined || this.#monotonic() - this.#storedAt >= STORE_INTERVAL_MS)
      await this.#store(time, []);
    this.#hasReported = false;
  }

  async #store(at: number, writes: readonly Write[]): Promise<void> {
    const trusted = await this.#records.upsert('trusted', { at, since: this.#guard.since ?? at });
    await commitOrThrow(this.#database, { writes: [trusted, ...writes] });
    this.#storedAt = this.#monotonic();
  }

  async #mayAccept({ time, expected, distrust }: TimeReading): Promise<boolean> {
    const records = await this.#records.list();
    if (isNear(records.confirmed?.at, time) || this.#isWatchedByPeer(records, time, expected)) return true;
    const isStart = distrust === 'long-stop' || distrust === 'no-record';
    return isStart && !(await this.#isDestructionDue(time));
  }

  /** True when another node trusts this time, and has compared it since before this node stopped trusting it. */
  #isWatchedByPeer({ trusted }: Partial<ClockRecords>, time: number, expected: number | undefined): boolean {
    if (!this.#hasPeers || trusted === undefined || expected === undefined) return false;
    const stoppedTrusting = this.#guard.lastTrusted;
    return stoppedTrusting !== undefined && trusted.since <= stoppedTrusting && isNear(trusted.at, time);
  }
}

const isNear = (at: number | undefined, time: number): boolean =>
  at !== undefined && Math.abs(time - at) <= LIMITS.clockToleranceMs;
