import { hash } from 'node:crypto';
import type { DigestKeys } from '../crypto/digest-keys.ts';
import { blob, integer, type JournalEntry, type Row, text, write } from './database.ts';
import type { DigestColumn } from './digest-columns.ts';
import type { RegisteredLane } from './lane-register.ts';
import type { Table } from './table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'journal',
    key: ['account', 'lane', 'sequence'],
    columns: {
      account: 'integer',
      lane: 'integer',
      sequence: 'integer',
      environment: 'integer',
      at: 'integer',
      record: 'text',
      hash: 'text',
    },
  },
  {
    name: 'journal_heads',
    key: ['account', 'lane'],
    columns: { account: 'integer', lane: 'integer', sequence: 'integer', hash: 'text', seal: 'blob' },
  },
];

/**
 * The journal: append-only chains of records, each record hashed together with the hash before it. A chain belongs to
 * one account and one lane, so that a sharded database stores it on the account's machine. A lane has one writer at a
 * time (with SQLite the file has one; nodes over a shared database use different lanes), so writers never wait for one
 * another. Records of no account are in the chain of the account ''. The newest hash of a chain is sealed with a key
 * that is not in the database: an attacker who rewrites records and all hashes after them, or cuts off the end, cannot
 * compute the seal. A writer verifies the seal of the head that it extends, so that its own seal does not replace a wrong one.
 *
 * The start of a chain is announced by a record in the chain of '' of its lane, and the start of a lane is added to the
 * register of lanes (`lane-register.ts`): an attacker who deletes all records and heads of a chain or of a lane leaves
 * that entry.
 *
 * The hash is plain SHA-256 over text, so that an exported journal can be checked with `sha256sum` alone.
 */
export interface ChainedRecord {
  readonly lane: number;
  readonly sequence: number;
  readonly account: string;
  readonly environment: string;
  readonly at: number;
  readonly record: string;
  readonly hash: string;
}

export interface Chain {
  readonly account: string;
  readonly lane: number;
}

export interface Head extends Chain {
  readonly sequence: number;
  readonly hash: string;
}

/** `seal`: as it is in the database; absent for a head that this process has sealed, or found sealed. */
export type KnownHead = Head & { readonly seal?: Uint8Array };

/** `before`: the head that this record follows, with sequence 0 when the chain is new. */
export type SealedHead = Head & { readonly seal: Uint8Array; readonly before: KnownHead };

/** The only lane of SQLite, and the first of those that the writers of PostgreSQL choose from. */
export const FIRST_LANE = 1;

const OPENED = 'journal.opened';

export const emptyHead = (account: string, lane: number): Head => ({
  account,
  lane,
  sequence: 0,
  hash: '0'.repeat(64),
});

/** Returns the hash of the next record: SHA-256, in hexadecimal, over six lines and the record. */
export const hashRecord = (previous: string, lane: number, sequence: number, entry: JournalEntry): string =>
  hash(
    'sha256',
    `${previous}\n${lane}\n${sequence}\n${entry.account}\n${entry.environment}\n${entry.at}\n${entry.record}`,
  );

/** Returns the next record of a chain, which has the account of the entry. */
export function appendRecord(head: Head, entry: JournalEntry): ChainedRecord {
  const sequence = head.sequence + 1;
  const { account, environment, at, record } = entry;
  const link = hashRecord(head.hash, head.lane, sequence, entry);
  return { lane: head.lane, sequence, account, environment, at, record, hash: link };
}

/**
 * Returns the seal of a head, which only a holder of the journal key can compute: a byte that names the version of the key, and
 * HMAC-SHA-256 over account, lane, sequence and hash.
 */
export const sealHead = (keys: DigestKeys, head: Head): Uint8Array => keys.digest(encodeHead(head));

export const isHeadSealValid = (keys: DigestKeys, head: Head, seal: Uint8Array): boolean =>
  keys.isValid(encodeHead(head), seal);

/**
 * Returns the seal of a head that follows another. A head whose own seal is invalid was written without the present key: it is
 * extended, because the vault must continue to record, and its successors keep that seal, so that every verification fails from then on.
 */
const sealAfter = (keys: DigestKeys, before: KnownHead, head: Head): Uint8Array =>
  before.seal === undefined || isHeadSealValid(keys, before, before.seal) ? sealHead(keys, head) : before.seal;

/** Returns the new head as its writer knows it from then on. */
export function toKnownHead({ account, lane, sequence, hash: newest, seal, before }: SealedHead): KnownHead {
  const head = { account, lane, sequence, hash: newest };
  return seal === before.seal ? { ...head, seal } : head;
}

const encodeHead = ({ account, lane, sequence, hash: newest }: Head): string =>
  `${account}\n${lane}\n${sequence}\n${newest}`;

const REPLACE_SEAL = `update journal_heads set seal = ?
  where account = ?account and lane = ? and sequence = ? and hash = ? and seal = ?`;

/**
 * The seal is the only part of the journal that depends on its key: records are hashed without one. So a rotation seals each head
 * again, a writer that appends meanwhile seals its own, and no former version is needed afterwards to verify any record.
 */
export const DIGEST_COLUMNS: readonly DigestColumn[] = [
  {
    table: 'journal_heads',
    purpose: 'journal',
    scope: 'service',
    key: ['account', 'lane'],
    column: 'seal',
    selects: ['sequence', 'hash'],
    renew: async ({ keys }, row) => {
      const [head, seal] = [toHead(row), blob(row, 'seal')];
      if (!isHeadSealValid(keys, head, seal)) return 'altered';
      return [write(REPLACE_SEAL, [sealHead(keys, head), head.account, head.lane, head.sequence, head.hash, seal], 1)];
    },
  },
];

const toHead = (row: Row): Head => ({
  account: text(row, 'account'),
  lane: integer(row, 'lane'),
  sequence: integer(row, 'sequence'),
  hash: text(row, 'hash'),
});

const announcement = ({ account, environment, at }: JournalEntry, lane: number): JournalEntry => ({
  account: '',
  environment,
  at,
  record: JSON.stringify({
    action: OPENED,
    outcome: 'success',
    actor: { type: 'service' },
    targets: [`chain:${account}/${lane}`],
  }),
});

export const isAnnouncement = ({ account, record }: JournalEntry): boolean =>
  account === '' && record.startsWith(`{"action":"${OPENED}"`);

/** Returns the chains that an announcement names. */
export function parseAnnouncement({ record }: JournalEntry): Chain[] {
  const { targets } = JSON.parse(record) as { targets: readonly string[] };
  return targets.map((target) => {
    const slash = target.lastIndexOf('/');
    return { account: target.slice('chain:'.length, slash), lane: Number(target.slice(slash + 1)) };
  });
}

interface ExtendedChains {
  readonly records: readonly ChainedRecord[];
  readonly heads: readonly SealedHead[];
  readonly newLane: RegisteredLane | undefined;
}

/**
 * The records and heads that a group of entries adds to the chains of a lane. `heads` contains the present head of
 * every account concerned, and of ''; an account without a head starts a chain. `records` are in the order of the
 * entries, each announcement before the first record of its chain; the resulting `heads` are those of the chains that
 * grew. `newLane` is the lane's first record in the chain of '', which has to be registered.
 */
export function extendChains(
  keys: DigestKeys,
  lane: number,
  heads: ReadonlyMap<string, KnownHead>,
  entries: readonly JournalEntry[],
): ExtendedChains {
  const records: ChainedRecord[] = [];
  const extended = new Map<string, Head>();
  // Copied, so that no head keeps a reference to the one before it.
  const before = (account: string): KnownHead => {
    const { sequence, hash: newest, seal }: KnownHead = heads.get(account) ?? emptyHead(account, lane);
    return { account, lane, sequence, hash: newest, ...(seal !== undefined && { seal }) };
  };
  const headOf = (account: string): Head => extended.get(account) ?? before(account);
  const append = (entry: JournalEntry): void => {
    const link = appendRecord(headOf(entry.account), entry);
    records.push(link);
    extended.set(entry.account, link);
  };
  for (const entry of entries) {
    const { account } = entry;
    if (account !== '' && headOf(account).sequence === 0) append(announcement(entry, lane));
    append(entry);
  }
  const newLane = before('').sequence > 0 ? undefined : records.find((link) => link.account === '');
  return {
    records,
    newLane: newLane && { lane, at: newLane.at, first: newLane.hash },
    heads: [...extended.values()].map(({ account, sequence, hash: newest }) => {
      const head = { account, lane, sequence, hash: newest };
      const previous = before(account);
      return { ...head, seal: sealAfter(keys, previous, head), before: previous };
    }),
  };
}
