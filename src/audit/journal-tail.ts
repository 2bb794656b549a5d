import { type Database, integer, integerOrNull, type Row, text, type Write, write } from '../storage/database.ts';
import type { Chain, ChainedRecord } from '../storage/journal.ts';
import { yieldBeforeScan } from '../storage/pagination.ts';
import type { Table } from '../storage/table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'audit_positions',
    key: ['account', 'lane', 'target'],
    columns: { account: 'integer', lane: 'integer', target: 'text', sequence: 'integer' },
  },
];

/** Readers that follow the log, each with a position of its own in every chain. */
export type TailTarget = 'syslog' | 'otlp' | 'review';

const JOINED = `journal_heads left join audit_positions on audit_positions.account = journal_heads.account
  and audit_positions.lane = journal_heads.lane and audit_positions.target = ?`;
const PAGE = 500;
/** A page is short, so that requests do not wait for the search through the chains of many accounts. */
const LIST = `select journal_heads.account as account, journal_heads.lane as lane,
    journal_heads.sequence as sequence, coalesce(audit_positions.sequence, 0) as position
  from ${JOINED} where (journal_heads.account, journal_heads.lane) > (?account, ?)
  order by journal_heads.account, journal_heads.lane limit ${PAGE}`;
const RECORDS = `select lane, sequence, account, environment, at, record, hash from journal
  where account = ?account and lane = ? and sequence > ? and sequence <= ? order by sequence limit ?`;
const BEGIN = `insert into audit_positions (account, lane, target, sequence) values (?account, ?, ?, ?)
  on conflict do nothing`;
const MOVE =
  'update audit_positions set sequence = ? where account = ?account and lane = ? and target = ? and sequence = ?';
/**
 * The first record behind each position, which is the oldest that the reader of the chain has not seen. It is not always the next one,
 * because the beginning of the log may have been removed.
 */
const LAG = `select cast(coalesce(sum(journal_heads.sequence - coalesce(audit_positions.sequence, 0)), 0) as bigint) as records,
    (select min(journal.at) from journal_heads as heads
      left join audit_positions as positions on positions.account = heads.account and positions.lane = heads.lane
        and positions.target = ?
      join journal on journal.account = heads.account and journal.lane = heads.lane
        and journal.sequence = (select min(sequence) from journal as behind where behind.account = heads.account
          and behind.lane = heads.lane and behind.sequence > coalesce(positions.sequence, 0))
      where heads.sequence > coalesce(positions.sequence, 0)) as oldest
  from ${JOINED} where journal_heads.sequence > coalesce(audit_positions.sequence, 0)`;

interface Advance extends Chain {
  readonly from: number;
  readonly to: number;
}

/** Records behind the positions, in the order of each chain, and the positions after them. */
export interface TailBatch {
  readonly records: readonly ChainedRecord[];
  readonly advances: readonly Advance[];
}

export interface TailLag {
  /** Records behind the positions. */
  readonly records: number;
  /** Time of the oldest of them, Unix time in milliseconds. */
  readonly oldest: number | undefined;
}

/** Reads the log behind the positions of a target. Chains take turns, so that a long one does not hold up the others. */
export class JournalTail {
  readonly #database: Database;
  readonly #target: TailTarget;
  readonly #limits: { readonly records: number; readonly chains: number };
  #reached: Chain = START;

  constructor(database: Database, target: TailTarget, limits: { records: number; chains: number }) {
    this.#database = database;
    this.#target = target;
    this.#limits = limits;
  }

  /** Returns the next records; undefined when the target has all of them. */
  async next(): Promise<TailBatch | undefined> {
    const isContinued = this.#reached !== START;
    let behind = await this.#listBehind();
    if (behind.length === 0) this.#reached = START;
    // The search began behind the last chain of the batch before.
    if (behind.length === 0 && isContinued) behind = await this.#listBehind();
    if (behind.length === 0) {
      this.#reached = START;
      return undefined;
    }
    const share = Math.ceil(this.#limits.records / behind.length);
    const records: ChainedRecord[] = [];
    const advances: Advance[] = [];
    for (const { account, lane, position: from, head } of behind) {
      const read = (await this.#database.read(RECORDS, account, lane, from, head, share)).map(toRecord);
      records.push(...read);
      // Records that were removed from the beginning of the log are passed over.
      advances.push({ account, lane, from, to: read.at(-1)?.sequence ?? head });
    }
    return { records, advances };
  }

  /** Returns the next chains whose head is behind the position. */
  async #listBehind(): Promise<ChainBehind[]> {
    const found: ChainBehind[] = [];
    for (;;) {
      await yieldBeforeScan();
      const { account, lane } = this.#reached;
      const page = (await this.#database.read(LIST, this.#target, account, lane)).map(toChainBehind);
      for (const chain of page) {
        this.#reached = chain;
        if (chain.head > chain.position) found.push(chain);
        if (found.length === this.#limits.chains) return found;
      }
      if (page.length < PAGE) return found;
    }
  }

  /** The writes that store the positions after a batch; they conflict when another node has moved one of them. */
  advance({ advances }: TailBatch): Write[] {
    return advances.map(({ account, lane, from, to }) =>
      from === 0
        ? write(BEGIN, [account, lane, this.#target, to], 1)
        : write(MOVE, [to, account, lane, this.#target, from], 1),
    );
  }
}

interface ChainBehind extends Chain {
  readonly position: number;
  readonly head: number;
}

const START: Chain = { account: '', lane: 0 };

const toChainBehind = (row: Row): ChainBehind => ({
  account: text(row, 'account'),
  lane: integer(row, 'lane'),
  position: integer(row, 'position'),
  head: integer(row, 'sequence'),
});

/** Returns how far a target is behind. */
export async function measureLag(database: Database, target: TailTarget): Promise<TailLag> {
  const [row = {}] = await database.read(LAG, target, target);
  return { records: integer(row, 'records'), oldest: integerOrNull(row, 'oldest') };
}

const toRecord = (row: Row): ChainedRecord => ({
  lane: integer(row, 'lane'),
  sequence: integer(row, 'sequence'),
  account: text(row, 'account'),
  environment: text(row, 'environment'),
  at: integer(row, 'at'),
  record: text(row, 'record'),
  hash: text(row, 'hash'),
});
