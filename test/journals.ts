import type { KeyObject } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import type { JournalEntry } from '../src/storage/database.ts';
import { type Chain, emptyHead, type Head, linkAfter, MIXED_LANE, sealHead } from '../src/storage/journal.ts';
import { readMigrations } from '../src/storage/migrate.ts';
import { applyMigrations } from '../src/storage/sqlite/apply-migrations.ts';
import { SqliteDatabase } from '../src/storage/sqlite/sqlite.ts';

/** More than two pages of the verifier. */
export const RECORDS = 2100;
/** Each with a chain of one record; more than a page of heads. */
export const ACCOUNTS = Array.from({ length: 210 }, (_, index) => `acct_small_${String(index).padStart(4, '0')}`);
/** The mixed chain, the long one, those of one record, and the announcements: of the mixed lane and of each chain. */
export const TOTAL = 2 * RECORDS + ACCOUNTS.length + (1 + 1 + ACCOUNTS.length);

/** A chain of `RECORDS` records, how it is found in the file, and how faults name it. */
export interface Chained extends Chain {
  readonly name: string;
  readonly where: string;
  readonly headWhere: string;
  readonly place: string;
  /** Whose record has this index. */
  owner(index: number): string;
}

export const MIXED: Chained = {
  name: 'the mixed chain',
  account: '',
  lane: MIXED_LANE,
  where: 'lane = 1',
  headWhere: 'lane = 1',
  place: 'lane 1',
  owner: (index) => `acct_${index % 7}`,
};

export const LONG: Chained = {
  name: 'the chain of an account',
  account: 'acct_long',
  lane: 2,
  where: "account = 'acct_long' and lane = 2",
  headWhere: "account = 'acct_long' and lane = 2",
  place: 'account acct_long, lane 2',
  owner: () => 'acct_long',
};

export const entryOf = (account: string, index: number): JournalEntry => ({
  account,
  environment: index % 2 === 0 ? 'sandbox' : 'production',
  at: 1_700_000_000_000 + index,
  record: JSON.stringify({ action: 'capture.retrieved', index }),
});

const entriesOf = (chain: Chained): JournalEntry[] =>
  Array.from({ length: RECORDS }, (_, index) => entryOf(chain.owner(index), index));

/** Writes records as they were before chains were kept by account, into a schema of that time. */
export function writeMixed(file: DatabaseSync, key: KeyObject, entries: readonly JournalEntry[]): void {
  const insert = file.prepare(
    'insert into journal (lane, sequence, account, environment, at, record, hash) values (?, ?, ?, ?, ?, ?, ?)',
  );
  let head: Head = emptyHead('', MIXED_LANE);
  for (const entry of entries) {
    const { lane, sequence, account, environment, at, record, hash } = linkAfter(head, entry);
    insert.run(lane, sequence, account, environment, at, record, hash);
    head = { account: '', lane, sequence, hash };
  }
  file
    .prepare('insert into journal_heads (lane, sequence, hash, seal) values (?, ?, ?, ?)')
    .run(head.lane, head.sequence, head.hash, sealHead(key, head));
}

/** A database that began with the mixed chain, was upgraded and went on with chains of accounts. */
export async function makeJournal(path: string, key: KeyObject): Promise<void> {
  const file = new DatabaseSync(path);
  applyMigrations(file, readMigrations().slice(0, 4), 1);
  file.exec('begin');
  writeMixed(file, key, entriesOf(MIXED));
  file.exec('commit');
  file.close();
  const database = new SqliteDatabase(path);
  await database.useJournalKey(key);
  await database.migrate(() => 2);
  const long = entriesOf(LONG);
  for (let start = 0; start < RECORDS; start += 100)
    await database.commit({ writes: [], journal: long.slice(start, start + 100) });
  await database.commit({ writes: [], journal: ACCOUNTS.map((account) => entryOf(account, 1)) });
  await database.close();
}
