import type { Origin } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Database } from '../storage/database.ts';
import { TokenImport } from '../vault/import-tokens.ts';
import type { TokenUses } from '../vault/token-uses.ts';
import type { CardBatch, CardLine, CardSource } from './card-source.ts';
import { deleteBatches, findBatch, insertBatch, listBatches } from './import-store.ts';
import { alteredProgress, formatResults, type LineResult, type LineStatus, parseResults } from './line-results.ts';
import { TransferError } from './transfer-error.ts';

export interface ImportServices {
  readonly database: Database;
  readonly keyring: Keyring;
  readonly random: Random;
  readonly transactions: Transactions;
  readonly tokenUses: TokenUses;
}

export interface ImportJob {
  readonly tenant: Tenant;
  readonly id: Uint8Array;
  readonly origin: Origin;
  readonly source: CardSource;
  readonly batchCards: number;
  /** Called with each line in the order of the file. */
  onResult(line: CardLine, result: LineResult): Promise<void>;
  /** Awaited for each batch that is not committed yet. */
  pace(cards: number): Promise<void>;
}

export type LineCounts = Record<LineStatus, number>;

const OTHER_PROCESS = 'another process runs this import, or has finished it';

interface RunningBatch {
  readonly batch: CardBatch;
  readonly results: Promise<readonly LineResult[]>;
}

/**
 * Imports all cards of a source. A batch is one unit with its row of progress, several of them are in progress at once, and
 * results are reported in the order of the file. Batches that an earlier run has committed are not written again.
 */
export class CardImport {
  readonly counts: LineCounts = { created: 0, existing: 0, conflict: 0, rejected: 0 };
  readonly #services: ImportServices;
  readonly #job: ImportJob;
  readonly #tokens: TokenImport;
  readonly #committed: ReadonlySet<number>;
  /** True while tokens of the file are found to exist, so that every batch would be run twice. */
  #checksFirst = false;

  private constructor(
    services: ImportServices,
    job: ImportJob,
    { tokens, committed }: { tokens: TokenImport; committed: ReadonlySet<number> },
  ) {
    this.#services = services;
    this.#job = job;
    this.#tokens = tokens;
    this.#committed = committed;
  }

  static async open(services: ImportServices, job: ImportJob): Promise<CardImport> {
    const [tokens, committed] = await Promise.all([
      TokenImport.open(services, job.tenant),
      listBatches(services.database, job.tenant, job.id),
    ]);
    return new CardImport(services, job, { tokens, committed });
  }

  /** Returns the number of batches. Throws `TransferError`; what was committed until then stays, and can be resumed. */
  async run(): Promise<number> {
    const running: RunningBatch[] = [];
    let number = 0;
    try {
      for await (const batch of this.#job.source.batches(this.#job.batchCards)) {
        const results = this.#start(number, batch);
        // Nothing is written behind a batch that turns out to be another one than an earlier run has committed.
        if (this.#committed.has(number++)) await results;
        running.push({ batch, results });
        if (running.length >= LIMITS.importBatchesInFlight) await this.#report(running.shift());
      }
      while (running.length > 0) await this.#report(running.shift());
      return number;
    } finally {
      // Nothing of this process may be written after it has reported a failure.
      await Promise.allSettled(running.map(({ results }) => results));
    }
  }

  #start(number: number, batch: CardBatch): Promise<readonly LineResult[]> {
    const results = this.#committed.has(number) ? this.#load(number, batch) : this.#import(number, batch);
    // The failure is reported when the batch's turn comes.
    results.catch(() => undefined);
    return results;
  }

  async #report(running: RunningBatch | undefined): Promise<void> {
    if (running === undefined) return;
    const { batch, results: pending } = running;
    const results = await pending;
    for (const [index, line] of batch.lines.entries()) {
      const result = results[index];
      if (result === undefined) throw new Error('a line has no result');
      this.counts[result.status]++;
      await this.#job.onResult(line, result);
    }
  }

  async #import(number: number, { lines, digest }: CardBatch): Promise<readonly LineResult[]> {
    const { tenant, id, origin } = this.#job;
    await this.#job.pace(lines.length);
    const cards = lines.flatMap(({ parsed }) => ('card' in parsed ? [parsed.card] : []));
    return this.#services.transactions.run({ origin, account: tenant.account }, async (transaction) => {
      if (transaction.attempt > 0) this.#checksFirst = true;
      const added = await this.#tokens.add(transaction, cards, { checksFirst: this.#checksFirst });
      if (this.#checksFirst && transaction.attempt === 0 && added.every(({ status }) => status === 'created'))
        this.#checksFirst = false;
      const results = mergeResults(lines, added);
      const row = { digest, results: formatResults(lines, results) };
      transaction.write(insertBatch(tenant, id, number, row), new TransferError(OTHER_PROCESS));
      return results;
    });
  }

  /** Returns the results of a batch that is committed. The rows of progress are not sealed, so that each token is compared. */
  async #load(number: number, { lines, digest }: CardBatch): Promise<readonly LineResult[]> {
    const stored = await findBatch(this.#services.database, this.#job.tenant, this.#job.id, number);
    if (stored === undefined) throw new TransferError('another process has finished this import');
    if (stored.digest !== digest)
      throw new TransferError(`the lines from ${lines[0]?.number} on differ from those of the import that is resumed`);
    const results = parseResults(lines, stored.results);
    await Promise.all(lines.map((line, index) => this.#assertGenuine(line, results[index])));
    return results;
  }

  async #assertGenuine({ parsed }: CardLine, result: LineResult | undefined): Promise<void> {
    if (result === undefined || result.status === 'rejected') return;
    if (!('card' in parsed)) throw alteredProgress();
    if (await this.#tokens.mayBeTokenOf(result.token, parsed.card.card.pan)) return;
    throw alteredProgress();
  }
}

function mergeResults(lines: readonly CardLine[], added: readonly LineResult[]): readonly LineResult[] {
  let next = 0;
  return lines.map(({ parsed }): LineResult => {
    if ('fault' in parsed) return { status: 'rejected', ...parsed.fault };
    const result = added[next++];
    if (result === undefined) throw new Error('a card has no result');
    return result;
  });
}

/** Deletes the progress of a finished import step by step, so that no step takes long. */
export async function deleteProgress(
  { transactions }: Pick<ImportServices, 'transactions'>,
  { tenant, id, origin }: Pick<ImportJob, 'tenant' | 'id' | 'origin'>,
  batches: number,
): Promise<void> {
  for (let done = 0; done < batches; ) {
    done = Math.min(done + LIMITS.importBatchesPerDeletion, batches);
    const before = done;
    await transactions.run({ origin, account: tenant.account }, async (transaction) =>
      transaction.write(deleteBatches(tenant, id, before)),
    );
  }
}
