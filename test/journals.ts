import type { KeyObject } from 'node:crypto';
import type { Driver, JournalEntry } from '../src/storage/database.ts';
import type { Chain } from '../src/storage/journal.ts';
import { beginRegister } from '../src/storage/lane-register.ts';
import { SqliteDatabase } from '../src/storage/sqlite/sqlite.ts';

/** More than two pages of the verifier. */
export const RECORDS = 2100;
/** Each with a chain of one record; more than a page of heads. */
export const ACCOUNTS = Array.from({ length: 210 }, (_, index) => `acct_small_${String(index).padStart(4, '0')}`);
/** The chain of no account, the long one, those of one record, and the announcements of all but the first. */
export const TOTAL = 2 * RECORDS + ACCOUNTS.length + (1 + ACCOUNTS.length);

/** A chain of `RECORDS` records, how it is found in the file, and how faults name it. */
export interface Chained extends Chain {
  readonly name: string;
  readonly where: string;
  readonly place: string;
}

export const SERVICE: Chained = {
  name: 'the chain of no account',
  account: '',
  lane: 1,
  where: "account = '' and lane = 1",
  place: 'lane 1',
};

export const LONG: Chained = {
  name: 'the chain of an account',
  account: 'acct_long',
  lane: 1,
  where: "account = 'acct_long' and lane = 1",
  place: 'account acct_long, lane 1',
};

export const entryOf = (account: string, index: number): JournalEntry => ({
  account,
  environment: index % 2 === 0 ? 'sandbox' : 'production',
  at: 1_700_000_000_000 + index,
  record: JSON.stringify({ action: 'capture.retrieved', index }),
});

const entriesOf = ({ account }: Chained): JournalEntry[] =>
  Array.from({ length: RECORDS }, (_, index) => entryOf(account, index));

/** Begins the journal of a database that is up to date, as the first start of the service does it. */
export async function beginJournal(database: Driver, key: KeyObject): Promise<void> {
  await database.useJournalKey(key);
  await database.commit({ writes: [beginRegister(key)] });
}

export async function makeJournal(path: string, key: KeyObject): Promise<void> {
  const database = new SqliteDatabase(path);
  await database.migrate(() => 2);
  await beginJournal(database, key);
  for (const chain of [SERVICE, LONG]) {
    const entries = entriesOf(chain);
    for (let start = 0; start < RECORDS; start += 100)
      await database.commit({ writes: [], journal: entries.slice(start, start + 100) });
  }
  await database.commit({ writes: [], journal: ACCOUNTS.map((account) => entryOf(account, 1)) });
  await database.close();
}
