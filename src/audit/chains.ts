import { blob, type Database, integer, type Row, text } from '../storage/database.ts';
import { type Chain, type Head, type Link, MIXED_LANE } from '../storage/journal.ts';
import { turnToLook } from '../storage/turns.ts';

/** How the journal is read: chain by chain and page by page, so that no more than a page of it is held. */
const PAGE = 1000;
const HEADS_PAGE = 200;

const HEAD_COLUMNS = 'account, lane, sequence, hash, seal';
const LANES = 'select distinct lane from journal_heads order by lane';
const LANES_OF = 'select lane from journal_heads where account = ? order by lane';
const HEAD = `select ${HEAD_COLUMNS} from journal_heads where account = ? and lane = ?`;
const HEADS_OF_LANE = `select ${HEAD_COLUMNS} from journal_heads where lane = ? and account > ? order by account limit ?`;
const HEADS = `select ${HEAD_COLUMNS} from journal_heads where (account, lane) > (?, ?) order by account, lane limit ?`;

const LINKS = `select lane, sequence, account, environment, at, record, hash from journal
  where account = ? and lane = ? and sequence > ? order by sequence limit ?`;
/** The number of the lane stands in the text, because the index for it is chosen by the text. */
const MIXED_LINKS = `select lane, sequence, account, environment, at, record, hash from journal
  where lane = ${MIXED_LANE} and sequence > ? order by sequence limit ?`;

export interface StoredHead extends Head {
  readonly seal: Uint8Array;
}

export const lanesOf = async (database: Database): Promise<number[]> =>
  (await database.read(LANES)).map((row) => integer(row, 'lane'));

/** The lanes that can hold records of an account, or with '' of the service itself. */
export async function lanesWith(database: Database, account: string): Promise<number[]> {
  const own = (await database.read(LANES_OF, account)).map((row) => integer(row, 'lane'));
  return own.includes(MIXED_LANE) ? own : [MIXED_LANE, ...own];
}

export async function headOf(database: Database, { account, lane }: Chain): Promise<StoredHead | undefined> {
  const [row] = await database.read(HEAD, account, lane);
  return row === undefined ? undefined : readHead(row);
}

/** The heads of all accounts in a lane, '' excepted, in pages. */
export const headsOfLane = (database: Database, lane: number): AsyncGenerator<StoredHead[]> =>
  pages(
    '',
    (last: StoredHead) => last.account,
    readHead,
    (account) => database.read(HEADS_OF_LANE, lane, account, HEADS_PAGE),
    HEADS_PAGE,
  );

/** The newest record of every chain, ordered by account and lane; noted elsewhere, they show later whether an end was cut off. */
export async function* journalHeads(database: Database): AsyncGenerator<Head> {
  const start: Chain = { account: '', lane: 0 };
  const read = ({ account, lane }: Chain): Promise<Row[]> => database.read(HEADS, account, lane, HEADS_PAGE);
  for await (const heads of pages(start, (last: StoredHead): Chain => last, readHead, read, HEADS_PAGE)) {
    for (const { account, lane, sequence, hash } of heads) yield { account, lane, sequence, hash };
  }
}

/** The records of a chain behind sequence `after`, up to its head, in order. */
export const linksOf = (database: Database, head: Head, after = 0): AsyncGenerator<Link> =>
  head.lane === MIXED_LANE
    ? linksBetween(after, head, (behind) => database.read(MIXED_LINKS, behind, PAGE))
    : linksBetween(after, head, (behind) => database.read(LINKS, head.account, head.lane, behind, PAGE));

/** What the mixed chain holds of one account. */
export async function* mixedLinksOf(database: Database, account: string): AsyncGenerator<Link> {
  const head = await headOf(database, { account: '', lane: MIXED_LANE });
  if (head === undefined) return;
  yield* linksBetween(0, head, (behind) => database.read(LINKS, account, MIXED_LANE, behind, PAGE));
}

async function* linksBetween(
  after: number,
  head: Head,
  read: (behind: number) => Promise<Row[]>,
): AsyncGenerator<Link> {
  for await (const links of pages(after, (last: Link) => last.sequence, readLink, read, PAGE)) {
    for (const link of links) {
      if (link.sequence > head.sequence) return;
      yield link;
    }
  }
}

/** Reads on from the last row of each page, until one is not full. */
async function* pages<Key, Item>(
  start: Key,
  keyOf: (item: Item) => Key,
  readItem: (row: Row) => Item,
  read: (after: Key) => Promise<Row[]>,
  size: number,
): AsyncGenerator<Item[]> {
  let after = start;
  for (;;) {
    await turnToLook();
    const items = (await read(after)).map(readItem);
    if (items.length > 0) yield items;
    const last = items.at(-1);
    if (last === undefined || items.length < size) return;
    after = keyOf(last);
  }
}

const readHead = (row: Row): StoredHead => ({
  account: text(row, 'account'),
  lane: integer(row, 'lane'),
  sequence: integer(row, 'sequence'),
  hash: text(row, 'hash'),
  seal: blob(row, 'seal'),
});

const readLink = (row: Row): Link => ({
  lane: integer(row, 'lane'),
  sequence: integer(row, 'sequence'),
  account: text(row, 'account'),
  environment: text(row, 'environment'),
  at: integer(row, 'at'),
  record: text(row, 'record'),
  hash: text(row, 'hash'),
});
