import { type AuditEvent, buildAuditEntry, type Origin } from '../audit/audit.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { StepObserver } from '../kernel/steps.ts';
import {
  type Addition,
  type CommitResult,
  commitOrThrow,
  type Database,
  type JournalEntry,
  type UnitOfWork,
  type Write,
} from '../storage/database.ts';
import type { Claim, IdempotencyKeys, KeyedRequest, StoredResponse } from './idempotency-keys.ts';

/** The effects of a stage of a request on the vault. A use case fills it; `Transactions` commits it atomically. */
export interface Transaction {
  /** Names the caller in audit records. */
  readonly origin: Origin;
  /** Unix time in milliseconds, read once for each attempt. */
  readonly now: number;
  /** 0 at first. In later attempts, a write of the attempt before conflicted: check before writing. */
  readonly attempt: number;
  /** Without `onConflict` a conflict of the write runs the stage again; with it the conflict throws that error. */
  write(write: Write, onConflict?: OnConflict): void;
  /** Adds to a row of totals, together with the effect. */
  add(addition: Addition): void;
  /** Adds an audit record that exists only together with the effect. `origin`: instead of that of the transaction. */
  record(event: AuditEvent, origin?: Origin): void;
  /** Adds an audit record that is written when the request fails as well: denials, reads of card data. */
  recordAlways(event: AuditEvent, origin?: Origin): void;
  /** Counts something of a tenant once the transaction is committed. */
  count(tenant: Tenant, counter: string, by?: number): void;
  /**
   * Runs work on the committed rows before the response leaves. It may be lost when the process ends, so nothing that must
   * happen belongs here. The effect is committed, so the work handles its failures itself and never rejects.
   */
  afterCommit(work: () => Promise<void>): void;
  /** Clears what the transaction removes from the write-ahead log too. */
  scrub(): void;
  /**
   * Ties the claimed Idempotency-Key to an operation. From its commit on, a repeat of the request gets the result of that
   * operation, whatever crashes.
   */
  bind(operationId: string): void;
  /** Stores no response: the operation of the bound key has no result yet. */
  deferResponse(): void;
  /**
   * Stores no response, and ends the claim of the Idempotency-Key: a repeat of the request runs again. For a response without an
   * effect that may not be kept.
   */
  storeNoResponse(): void;
  /**
   * Throws the error in place of the result once the transaction is committed: for a rejection that has an effect. Counts and the
   * work after the commit are as without it.
   */
  rejectAfterCommit(error: Error): void;
}

/**
 * The error that a conflict throws, or a function that returns it after reading the cause; where the function returns
 * none, the stage runs again. Audit records that the function adds by `recordAlways` are written with the error.
 */
export type OnConflict = Error | (() => Promise<Error | undefined>);

export type Fill<Result> = (transaction: Transaction) => Promise<Result>;

export interface TransactionContext {
  readonly origin: Origin;
  /** The one account whose rows change; absent when several accounts own them, or none. */
  readonly account?: string;
}

/** One request, with or without a claimed Idempotency-Key. It ends with `finish` or `fail`. */
export interface TransactionScope {
  /** Resolves once the stage is committed. Runs `fill` again after a conflict, so `fill` has no effect outside. */
  stage<Result>(fill: Fill<Result>): Promise<Result>;
  /** Commits a stage; as the last one, together with its response, when `render` returns one. */
  stageOrFinish<Result, Response extends StoredResponse>(
    fill: Fill<Result>,
    render: (result: Result) => Response | undefined,
  ): Promise<{ readonly result: Result; readonly response: Response | undefined }>;
  /** Commits the last stage together with its response. */
  finish<Result, Response extends StoredResponse>(
    fill: Fill<Result>,
    render: (result: Result) => Response,
  ): Promise<Response>;
  /**
   * Commits the records of `recordAlways` and ends the claim. `render`: returns the response that a repeat of the request
   * gets; absent when a repeat runs again.
   */
  fail(render?: () => StoredResponse): Promise<void>;
}

type BeginResult =
  | { readonly scope: TransactionScope }
  | { readonly replay: StoredResponse }
  /** The key is bound to this operation, whose result is the response. */
  | { readonly boundTo: string };

/** Adds to the counters of a tenant. */
interface UsageCounters {
  note(tenant: Tenant, counter: string, by?: number): void;
}

interface Services {
  readonly database: Database;
  readonly clock: Clock;
  readonly idempotency: IdempotencyKeys;
  readonly usage?: UsageCounters | undefined;
  readonly steps?: StepObserver | undefined;
}

/** Opens the transactions of the product, all of which are committed by one loop. */
export class Transactions {
  readonly #services: Services;

  constructor(options: Services) {
    this.#services = options;
  }

  /**
   * Claims the Idempotency-Key of a request; without one the scope is returned at once. Throws `operation_in_progress`
   * while another process holds the claim, and `idempotency_key_reused`.
   */
  begin(context: TransactionContext, request: KeyedRequest): Promise<BeginResult>;
  begin(context: TransactionContext, request?: KeyedRequest): BeginResult | Promise<BeginResult>;
  begin(context: TransactionContext, request?: KeyedRequest): BeginResult | Promise<BeginResult> {
    if (request === undefined) return { scope: new RequestScope(this.#services, context, undefined) };
    return this.#claim(context, request);
  }

  async #claim(context: TransactionContext, request: KeyedRequest): Promise<BeginResult> {
    const claimed = await this.#services.idempotency.claim(request);
    return 'claim' in claimed ? { scope: new RequestScope(this.#services, context, claimed.claim) } : claimed;
  }

  /** Runs one stage without an Idempotency-Key, for commands, jobs and the console. */
  async run<Result>(context: TransactionContext, fill: Fill<Result>): Promise<Result> {
    const scope = new RequestScope(this.#services, context, undefined);
    try {
      return await scope.stage(fill);
    } catch (error) {
      await scope.commitLastingRecords();
      throw error;
    }
  }
}

class RequestScope implements TransactionScope {
  readonly #services: Services;
  readonly #context: TransactionContext;
  readonly #claim: Claim | undefined;
  #isBound = false;
  /** Audit records that `recordAlways` added to an attempt that failed. */
  #lastingRecords: readonly JournalEntry[] = [];

  constructor(services: Services, context: TransactionContext, claim: Claim | undefined) {
    this.#services = services;
    this.#context = context;
    this.#claim = claim;
  }

  stage<Result>(fill: Fill<Result>): Promise<Result> {
    return this.#commit(
      fill,
      (result) => result,
      () => undefined,
    );
  }

  stageOrFinish<Result, Response extends StoredResponse>(
    fill: Fill<Result>,
    render: (result: Result) => Response | undefined,
  ): Promise<{ readonly result: Result; readonly response: Response | undefined }> {
    return this.#commit(
      fill,
      (result) => ({ result, response: render(result) }),
      ({ response }) => response,
    );
  }

  finish<Result, Response extends StoredResponse>(
    fill: Fill<Result>,
    render: (result: Result) => Response,
  ): Promise<Response> {
    return this.#commit(fill, render, (response) => response);
  }

  async fail(render?: () => StoredResponse): Promise<void> {
    const claim = this.#claim;
    claim?.stop();
    if (claim === undefined) return this.commitLastingRecords();
    if (render === undefined || this.#isBound) return this.#release(claim);
    const { committed } = await this.#services.database.commit(this.#unit([await claim.storeResponse(render())]));
    if (committed) return;
    await this.commitLastingRecords();
    throw new Failure('operation_in_progress');
  }

  /**
   * Called after a commit with an unknown outcome, too: if it was committed, the release finds a stored or bound key.
   */
  async #release(claim: Claim): Promise<void> {
    const released = this.#services.database.commit(this.#unit([claim.release()]));
    // Without a record the failure may leave at once: the claim ends with its lease.
    await (this.#lastingRecords.length > 0 ? released : released.catch(() => undefined));
  }

  /** Commits what `recordAlways` added to an attempt that failed. */
  async commitLastingRecords(): Promise<void> {
    if (this.#lastingRecords.length > 0) await commitOrThrow(this.#services.database, this.#unit([]));
  }

  /** The one commit loop of the product. `responseOf`: returns the response of the last stage; undefined before it. */
  async #commit<Result, Output>(
    fill: Fill<Result>,
    toOutput: (result: Result) => Output,
    responseOf: (output: Output) => StoredResponse | undefined,
  ): Promise<Output> {
    for (let attempt = 0; attempt < LIMITS.commitAttempts; attempt++) {
      const transaction = new FilledTransaction(this.#context.origin, this.#services.clock(), attempt);
      let result: Result;
      try {
        result = await fill(transaction);
      } finally {
        // In case the attempt fails here or in its commit.
        this.#lastingRecords = transaction.lastingRecords;
      }
      const output = toOutput(result);
      const response = transaction.rejection === undefined ? responseOf(output) : undefined;
      const claim = this.#claim;
      const writes =
        claim === undefined
          ? transaction.writes
          : [...transaction.writes, ...(await this.#claimWrites(claim, transaction, response))];
      const unit = transaction.toUnit(this.#context.account, writes);
      if (unit === undefined) return this.#committed(transaction, output, response);
      const { database, steps } = this.#services;
      const outcome = await (steps === undefined
        ? database.commit(unit)
        : steps.observe({ name: 'commit' }, () => database.commit(unit), describeCommit));
      if (outcome.committed) {
        this.#lastingRecords = [];
        if (transaction.boundTo !== undefined) this.#isBound = true;
        for (const work of transaction.workAfterCommit) await work();
        for (const { tenant, counter, by } of transaction.counts) this.#services.usage?.note(tenant, counter, by);
        return this.#committed(transaction, output, response);
      }
      // Another process has replaced the claim: this one must have no effect.
      if (outcome.write >= transaction.writes.length) throw new Failure('operation_in_progress');
      const onConflict = transaction.conflicts[outcome.write];
      const error = typeof onConflict === 'function' ? await onConflict() : onConflict;
      if (error !== undefined) throw error;
    }
    throw new Failure('unavailable');
  }

  /** The response is the last thing that a claim waits for. */
  #committed<Output>({ rejection }: FilledTransaction, output: Output, response: StoredResponse | undefined): Output {
    if (rejection !== undefined) throw rejection;
    if (response !== undefined) this.#claim?.stop();
    return output;
  }

  /** These writes follow those of the use case: a conflict there means that the claim was lost. */
  async #claimWrites(
    claim: Claim,
    transaction: FilledTransaction,
    response: StoredResponse | undefined,
  ): Promise<Write[]> {
    const binding = transaction.boundTo === undefined ? [] : [claim.bind(transaction.boundTo)];
    const isBound = this.#isBound || transaction.boundTo !== undefined;
    if (response === undefined || (isBound && transaction.isDeferred)) return binding;
    if (transaction.isUnkept) return [...binding, claim.release()];
    return [...binding, await claim.storeResponse(response)];
  }

  #unit(writes: readonly Write[]): UnitOfWork {
    const { account } = this.#context;
    return { ...(account !== undefined && { account }), writes, journal: this.#lastingRecords };
  }
}

class FilledTransaction implements Transaction {
  readonly origin: Origin;
  readonly now: number;
  readonly attempt: number;
  readonly writes: Write[] = [];
  readonly #additions: Addition[] = [];
  /** By the index of the write. */
  readonly conflicts: (OnConflict | undefined)[] = [];
  readonly lastingRecords: JournalEntry[] = [];
  readonly counts: { readonly tenant: Tenant; readonly counter: string; readonly by: number }[] = [];
  readonly workAfterCommit: (() => Promise<void>)[] = [];
  boundTo: string | undefined;
  isDeferred = false;
  isUnkept = false;
  rejection: Error | undefined;
  readonly #journal: JournalEntry[] = [];
  #scrubs = false;

  constructor(origin: Origin, now: number, attempt: number) {
    this.origin = origin;
    this.now = now;
    this.attempt = attempt;
  }

  write(write: Write, onConflict?: OnConflict): void {
    this.writes.push(write);
    this.conflicts.push(onConflict);
  }

  add(addition: Addition): void {
    this.#additions.push(addition);
  }

  record(event: AuditEvent, origin: Origin = this.origin): void {
    this.#journal.push(buildAuditEntry(() => this.now, origin, event));
  }

  recordAlways(event: AuditEvent, origin: Origin = this.origin): void {
    const entry = buildAuditEntry(() => this.now, origin, event);
    this.#journal.push(entry);
    this.lastingRecords.push(entry);
  }

  count(tenant: Tenant, counter: string, by = 1): void {
    if (by > 0) this.counts.push({ tenant, counter, by });
  }

  afterCommit(work: () => Promise<void>): void {
    this.workAfterCommit.push(work);
  }

  scrub(): void {
    this.#scrubs = true;
  }

  bind(operationId: string): void {
    this.boundTo = operationId;
  }

  deferResponse(): void {
    this.isDeferred = true;
  }

  storeNoResponse(): void {
    this.isUnkept = true;
  }

  rejectAfterCommit(error: Error): void {
    this.rejection = error;
  }

  /** Undefined when there is nothing to commit. */
  toUnit(account: string | undefined, writes: readonly Write[]): UnitOfWork | undefined {
    if (writes.length === 0 && this.#journal.length === 0) return undefined;
    return {
      ...(account !== undefined && { account }),
      writes,
      ...(this.#additions.length > 0 && { additions: this.#additions }),
      journal: this.#journal,
      ...(this.#scrubs && { scrubAfterCommit: true }),
    };
  }
}

const describeCommit = ({ committed }: CommitResult): string => (committed ? 'committed' : 'conflict');
