import { createHash } from 'node:crypto';
import type { DigestKeys } from '../crypto/digest-keys.ts';
import { isSameDigest } from '../crypto/fingerprint.ts';
import { blob, type Database, integer, integerOrNull, type Row, text } from '../storage/database.ts';
import { type Chain, type ChainedRecord, type Head, isHeadSealValid } from '../storage/journal.ts';
import { yieldBeforeScan } from '../storage/pagination.ts';
import { digestLine } from './statements.ts';

/** Reads the journal chain by chain and page by page, so that memory holds one page at most. */
const PAGE = 1000;
const HEADS_PAGE = 200;

const HEAD_COLUMNS = 'account, lane, sequence, hash, seal';
const LANES = 'select distinct lane from journal_heads order by lane';
const LANES_OF = 'select lane from journal_heads where account = ?account order by lane';
const HEAD = `select ${HEAD_COLUMNS} from journal_heads where account = ?account and lane = ?`;
const HEADS_OF_LANE = `select ${HEAD_COLUMNS} from journal_heads where lane = ? and account > ?account order by account limit ?`;
const HEADS = `select ${HEAD_COLUMNS} from journal_heads where (account, lane) > (?account, ?) order by account, lane limit ?`;

const RECORDS = `select lane, sequence, account, environment, at, record, hash from journal
  where account = ?account and lane = ? and sequence > ? order by sequence limit ?`;
const TIMES_DOWN = `select sequence, at from journal
  where account = ?account and lane = ? and sequence <= ? order by sequence desc limit ?`;
const FIRST_CHAIN = 'select account, lane from journal order by account, lane limit 1';
const FIRST_CHAIN_OF = 'select account, lane from journal where account = ?account order by lane limit 1';
const NEXT_CHAIN =
  'select account, lane from journal where (account, lane) > (?account, ?) order by account, lane limit 1';
/** One statement, which reads records and head at the same moment, and only the ends of an index. */
const EXTENT = `select
  (select min(sequence) from journal where account = ?account and lane = ?) as first,
  (select max(sequence) from journal where account = ?account and lane = ?) as last,
  (select sequence from journal_heads where account = ?account and lane = ?) as sealed`;
const COUNT = 'select count(*) as records from journal where account = ?account and lane = ?';

export interface StoredHead extends Head {
  readonly seal: Uint8Array;
}

/** Called for each page of records that was read, with the number of its records. */
export type Pace = (records: number) => Promise<void>;

const NO_PAUSE: Pace = () => Promise.resolve();

export const listLanes = async (database: Database): Promise<number[]> =>
  (await database.read(LANES)).map((row) => integer(row, 'lane'));

/** Returns the lanes with records of an account, or with '' of the service. */
export const listLanesOfAccount = async (database: Database, account: string): Promise<number[]> =>
  (await database.read(LANES_OF, account)).map((row) => integer(row, 'lane'));

export async function findHead(database: Database, { account, lane }: Chain): Promise<StoredHead | undefined> {
  const [row] = await database.read(HEAD, account, lane);
  return row === undefined ? undefined : toHead(row);
}

/** Returns the heads of all accounts in a lane, '' excepted, in pages. */
export const listHeadsOfLane = (database: Database, lane: number): AsyncGenerator<StoredHead[]> =>
  readPages(
    '',
    (last: StoredHead) => last.account,
    toHead,
    (account) => database.read(HEADS_OF_LANE, lane, account, HEADS_PAGE),
    HEADS_PAGE,
  );

/**
 * Returns the newest record of every chain, ordered by account and lane. Stored elsewhere, they show later whether an
 * end was cut off.
 */
export async function* listChainHeads(database: Database): AsyncGenerator<Head> {
  for await (const { account, lane, sequence, hash } of listStoredHeads(database))
    yield { account, lane, sequence, hash };
}

/** Returns the same with their seals. */
export async function* listStoredHeads(database: Database): AsyncGenerator<StoredHead> {
  const start: Chain = { account: '', lane: 0 };
  const read = ({ account, lane }: Chain): Promise<Row[]> => database.read(HEADS, account, lane, HEADS_PAGE);
  for await (const heads of readPages(start, (last: StoredHead): Chain => last, toHead, read, HEADS_PAGE)) yield* heads;
}

/**
 * Returns the head with a valid seal; undefined when it was written without the key. It is read again when the seal is invalid: the
 * version of the key that had sealed it may have been replaced and destroyed since it was read.
 */
export async function findSealedHead(
  database: Database,
  keys: DigestKeys,
  head: StoredHead,
): Promise<StoredHead | undefined> {
  const key = await keys.refresh();
  if (isHeadSealValid(key, head, head.seal)) return head;
  const present = await findHead(database, head);
  if (present === undefined || isSameDigest(present.seal, head.seal)) return undefined;
  return isHeadSealValid(key, present, present.seal) ? present : undefined;
}

/** Returns the sequence of the newest record of a chain, up to its head, that is older than a time; 0 without one. */
export async function findLastBefore(
  database: Database,
  { account, lane, sequence }: Head,
  time: number,
): Promise<number> {
  const read = (from: number): Promise<Row[]> => database.read(TIMES_DOWN, account, lane, from, PAGE);
  const toTime = (row: Row) => ({ sequence: integer(row, 'sequence'), at: integer(row, 'at') });
  for await (const rows of readPages(
    sequence,
    (last: ReturnType<typeof toTime>) => last.sequence - 1,
    toTime,
    read,
    PAGE,
  )) {
    const found = rows.find(({ at }) => at < time);
    if (found !== undefined) return found.sequence;
  }
  return 0;
}

/** Returns the records of a chain behind sequence `after`, up to its head, in order. */
export async function* readChain(
  database: Database,
  head: Head,
  after = 0,
  pace = NO_PAUSE,
): AsyncGenerator<ChainedRecord> {
  const read = (behind: number): Promise<Row[]> => database.read(RECORDS, head.account, head.lane, behind, PAGE);
  for await (const links of readPages(after, (last: ChainedRecord) => last.sequence, toChainedRecord, read, PAGE)) {
    for (const link of links) {
      if (link.sequence > head.sequence) return;
      yield link;
    }
    await pace(links.length);
  }
}

/** Returns every chain that has a record, with or without a head; with `account` those of one account. */
export async function* listChainsWithRecords(database: Database, account?: string): AsyncGenerator<Chain> {
  let [row] = await (account === undefined ? database.read(FIRST_CHAIN) : database.read(FIRST_CHAIN_OF, account));
  while (row !== undefined) {
    const chain = { account: text(row, 'account'), lane: integer(row, 'lane') };
    if (account !== undefined && chain.account !== account) return;
    yield chain;
    await yieldBeforeScan();
    [row] = await database.read(NEXT_CHAIN, chain.account, chain.lane);
  }
}

/** Returns the records of a chain that its head does not seal. */
interface UnsealedRecords {
  readonly records: number;
  readonly sealed: number;
}

/** `beginning`: records up to here were removed, or are about to be. */
export async function findUnsealedRecords(
  database: Database,
  { account, lane }: Chain,
  beginning = 0,
): Promise<UnsealedRecords | undefined> {
  const [extent = {}] = await database.read(EXTENT, account, lane, account, lane, account, lane);
  const last = integerOrNull(extent, 'last');
  if (last === undefined) return undefined;
  const sealed = integerOrNull(extent, 'sealed') ?? 0;
  const first = integer(extent, 'first');
  // An interrupted removal can leave records before the beginning, which are verified separately.
  const isWhole = beginning === 0 ? first === 1 && last === sealed : last === sealed || last <= beginning;
  if (isWhole) return undefined;
  const [counted = {}] = await database.read(COUNT, account, lane);
  return { records: integer(counted, 'records'), sealed };
}

/** Continues from the last row of each page, until one is not full. */
async function* readPages<Key, Item>(
  start: Key,
  keyOf: (item: Item) => Key,
  readItem: (row: Row) => Item,
  read: (after: Key) => Promise<Row[]>,
  size: number,
): AsyncGenerator<Item[]> {
  let after = start;
  for (;;) {
    await yieldBeforeScan();
    const items = (await read(after)).map(readItem);
    if (items.length > 0) yield items;
    const last = items.at(-1);
    if (last === undefined || items.length < size) return;
    after = keyOf(last);
  }
}

const toHead = (row: Row): StoredHead => ({
  account: text(row, 'account'),
  lane: integer(row, 'lane'),
  sequence: integer(row, 'sequence'),
  hash: text(row, 'hash'),
  seal: blob(row, 'seal'),
});

const toChainedRecord = (row: Row): ChainedRecord => ({
  lane: integer(row, 'lane'),
  sequence: integer(row, 'sequence'),
  account: text(row, 'account'),
  environment: text(row, 'environment'),
  at: integer(row, 'at'),
  record: text(row, 'record'),
  hash: text(row, 'hash'),
});

export interface HeadsDigest {
  readonly chains: number;
  /** SHA-256, in hexadecimal, over a line for each chain, ordered by account and lane. */
  readonly digest: string;
}

/** Returns a short digest of all heads, to store elsewhere; `onHead` is called with each of them. */
export async function digestChainHeads(database: Database, onHead: (head: Head) => void): Promise<HeadsDigest> {
  const hash = createHash('sha256');
  let chains = 0;
  for await (const head of listChainHeads(database)) {
    hash.update(digestLine(head));
    onHead(head);
    chains++;
  }
  return { chains, digest: hash.digest('hex') };
}
