import { createHmac, hash, type KeyObject, timingSafeEqual } from 'node:crypto';
import type { JournalEntry } from './database.ts';

/**
 * The journal: append-only lanes of records, each record hashed together with the hash before it. A lane has one writer
 * at a time (with SQLite there is one lane; a node over a shared database takes a lane of its own), so nodes never
 * wait for one another. The newest hash of a lane is sealed with a key that is not in the database: whoever rewrites
 * records and all hashes after them, or cuts off the end, cannot make the seal.
 *
 * The hash is plain SHA-256 over text, so that an exported journal is checked with `sha256sum` alone.
 */
export interface Link {
  readonly lane: number;
  readonly sequence: number;
  readonly account: string;
  readonly environment: string;
  readonly at: number;
  readonly record: string;
  readonly hash: string;
}

export interface Head {
  readonly lane: number;
  readonly sequence: number;
  readonly hash: string;
}

export const emptyHead = (lane: number): Head => ({ lane, sequence: 0, hash: '0'.repeat(64) });

/** The hash of the next record: SHA-256, in hexadecimal, over five lines and the record. */
export const hashOf = (previous: string, lane: number, sequence: number, entry: JournalEntry): string =>
  hash(
    'sha256',
    `${previous}\n${lane}\n${sequence}\n${entry.account}\n${entry.environment}\n${entry.at}\n${entry.record}`,
  );

export function linkAfter(head: Head, entry: JournalEntry): Link {
  const sequence = head.sequence + 1;
  const { account, environment, at, record } = entry;
  const link = hashOf(head.hash, head.lane, sequence, entry);
  return { lane: head.lane, sequence, account, environment, at, record, hash: link };
}

/** What only a holder of the journal key can make: HMAC-SHA-256 over lane, sequence and hash. */
export const sealHead = (key: KeyObject, head: Head): Uint8Array =>
  new Uint8Array(createHmac('sha256', key).update(`${head.lane}\n${head.sequence}\n${head.hash}`).digest());

export const headIsSealed = (key: KeyObject, head: Head, seal: Uint8Array): boolean => {
  const expected = sealHead(key, head);
  return seal.length === expected.length && timingSafeEqual(seal, expected);
};
