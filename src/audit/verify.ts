import type { KeyObject } from 'node:crypto';
import { blob, type Database, integer, type Row, text } from '../storage/database.ts';
import { emptyHead, type Head, hashOf, headIsSealed, type Link } from '../storage/journal.ts';

const PAGE = 1000;
const HEADS = 'select lane, sequence, hash, seal from journal_heads order by lane';
const LINKS = `select lane, sequence, account, environment, at, record, hash from journal
  where lane = ? and sequence > ? order by sequence limit ?`;
/** One statement, so that it sees heads and records of the same moment. */
const BEYOND_HEADS = `select count(*) as records from journal j
  where j.sequence < 1
    or not exists (select 1 from journal_heads h where h.lane = j.lane and h.sequence >= j.sequence)`;

export interface Verification {
  readonly ok: boolean;
  /** How many records were found in order. */
  readonly records: number;
  /** Where the first fault lies, and what it is. */
  readonly fault?: string;
}

/** Finds any changed, missing, added or reordered record. */
export async function verifyJournal(database: Database, key: KeyObject): Promise<Verification> {
  const heads = await database.read(HEADS);
  let records = 0;
  if (heads.length === 0) return { ok: false, records, fault: 'the journal has no head: it was removed' };
  for (const row of heads) {
    const head = readHead(row);
    if (!headIsSealed(key, head, blob(row, 'seal'))) {
      return { ok: false, records, fault: `lane ${head.lane}: the seal of record ${head.sequence} is not ours` };
    }
    const lane = await verifyLane(database, head);
    records += lane.records;
    if (lane.fault !== undefined) return { ok: false, records, fault: lane.fault };
  }
  const beyond = integer((await database.read(BEYOND_HEADS))[0] ?? {}, 'records');
  return beyond === 0
    ? { ok: true, records }
    : { ok: false, records, fault: `${beyond} records lie outside what the heads seal` };
}

async function verifyLane(database: Database, head: Head): Promise<{ records: number; fault?: string }> {
  let last = emptyHead(head.lane);
  for await (const link of linksOf(database, head)) {
    const expected = last.sequence + 1;
    const place = `lane ${head.lane}, record ${expected}`;
    if (link.sequence !== expected) return { records: last.sequence, fault: `${place}: missing` };
    if (hashOf(last.hash, link.lane, link.sequence, link) !== link.hash)
      return { records: last.sequence, fault: `${place}: changed` };
    last = link;
  }
  if (last.sequence < head.sequence) {
    return { records: last.sequence, fault: `lane ${head.lane}, record ${last.sequence + 1}: missing` };
  }
  if (last.hash !== head.hash)
    return { records: last.sequence, fault: `lane ${head.lane}, record ${last.sequence}: changed` };
  return { records: last.sequence };
}

/** The records of a lane up to its head, in order, a page at a time. */
async function* linksOf(database: Database, head: Head): AsyncGenerator<Link> {
  let after = 0;
  for (;;) {
    const rows = await database.read(LINKS, head.lane, after, PAGE);
    for (const row of rows) {
      const link = readLink(row);
      if (link.sequence > head.sequence) return;
      yield link;
      after = link.sequence;
    }
    if (rows.length < PAGE) return;
  }
}

const readLink = (row: Row): Link => ({
  lane: integer(row, 'lane'),
  sequence: integer(row, 'sequence'),
  account: text(row, 'account'),
  environment: text(row, 'environment'),
  at: integer(row, 'at'),
  record: text(row, 'record'),
  hash: text(row, 'hash'),
});

/** The newest record of each lane; written down elsewhere, it shows later whether the end was cut off. */
export const journalHeads = async (database: Database): Promise<Head[]> => (await database.read(HEADS)).map(readHead);

const readHead = (row: Row): Head => ({
  lane: integer(row, 'lane'),
  sequence: integer(row, 'sequence'),
  hash: text(row, 'hash'),
});

/** Every record of every lane, for export. */
export async function* exportJournal(database: Database): AsyncGenerator<Link> {
  for (const head of await journalHeads(database)) yield* linksOf(database, head);
}
