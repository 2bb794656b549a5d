import type { KeyObject } from 'node:crypto';
import { type SigningKeys, verifySignature } from '../crypto/signing-key.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Head } from '../storage/journal.ts';

/**
 * Signed statements about the audit log. An outsider verifies them with the vault's public key alone:
 *
 * - `checkpoint`: the log contains these heads at this time. A log that is rolled back, or altered before a head, lacks it.
 * - `export`: a file contains these ranges of the chains, and no other records.
 * - `beginning`: the records up to these heads were removed from the database, after they were written to a file.
 *
 * What is signed is a text, so that no second form of the same content exists. A statement that names many chains has
 * several parts with the same time and digest.
 */
export const STATEMENT_KINDS = ['checkpoint', 'export', 'beginning'] as const;

export type StatementKind = (typeof STATEMENT_KINDS)[number];

const KEY_ID = /^[0-9a-f]{16}$/;

/** The use under which each kind is signed: a statement of one kind is none of another. */
const useOf = (kind: StatementKind): string => `audit-${kind}`;

export interface SignedStatement {
  readonly kind: StatementKind;
  /** JSON. */
  readonly statement: string;
  readonly keyId: string;
  readonly signature: Uint8Array;
}

/** The newest record of a chain as a list, which is shorter: account, lane, sequence, hash. */
export type HeadTuple = readonly [account: string, lane: number, sequence: number, hash: string];

/** A part of a chain: the position before its first record, and its last record. */
export type RangeTuple = readonly [
  account: string,
  lane: number,
  after: number,
  afterHash: string,
  sequence: number,
  hash: string,
];

interface Common {
  /** Identifies the vault: the hash of the first record of its log. */
  readonly vault: string;
  /** ISO 8601. */
  readonly time: string;
  readonly part: number;
  readonly parts: number;
}

export interface CheckpointStatement extends Common {
  /** Counts the checkpoints of a vault, from 1. */
  readonly number: number;
  readonly chains: number;
  /** The sum of the sequences of all heads: the records ever written. */
  readonly records: number;
  /** SHA-256 over all heads, as `audit verify` prints it. */
  readonly digest: string;
  /** SHA-256 of the statement of the checkpoint before; empty for the first one. */
  readonly previous: string;
  /** The heads that have changed since the checkpoint before; of the first one of a process all of them. */
  readonly heads: readonly HeadTuple[];
}

/** The part of the log that an export contains; absent members do not limit it. */
export interface ExportScope {
  readonly account?: string;
  readonly from?: string;
  readonly to?: string;
}

export interface ExportStatement extends Common {
  /** SHA-256 of the first line of the file. */
  readonly header: string;
  readonly scope: ExportScope;
  readonly chains: number;
  /** Number of the records in the file. */
  readonly records: number;
  /** SHA-256 over the last record of each chain; of the complete log what `audit verify` prints. */
  readonly digest: string;
  readonly ranges: readonly RangeTuple[];
}

export interface BeginningStatement extends Common {
  /** SHA-256 of the first line of the file that holds the records. */
  readonly header: string;
  /** Records before this time were removed. */
  readonly before: string;
  readonly chains: number;
  readonly heads: readonly HeadTuple[];
}

export interface StatementByKind {
  readonly checkpoint: CheckpointStatement;
  readonly export: ExportStatement;
  readonly beginning: BeginningStatement;
}

export const toHeadTuple = ({ account, lane, sequence, hash }: Head): HeadTuple => [account, lane, sequence, hash];

export const fromHeadTuple = ([account, lane, sequence, hash]: HeadTuple): Head => ({ account, lane, sequence, hash });

/** Returns the line that a head adds to the digest over all heads. */
export const digestLine = ({ account, lane, sequence, hash }: Head): string =>
  `${account} ${lane} ${sequence} ${hash}\n`;

/** Splits chains into the parts of a statement; one part without chains when there are none. */
export const splitIntoParts = <Item>(items: readonly Item[]): readonly (readonly Item[])[] =>
  Array.from({ length: Math.max(1, Math.ceil(items.length / LIMITS.chainsPerStatement)) }, (_, index) =>
    items.slice(index * LIMITS.chainsPerStatement, (index + 1) * LIMITS.chainsPerStatement),
  );

export async function signStatement<Kind extends StatementKind>(
  keys: Pick<SigningKeys, 'sign'>,
  kind: Kind,
  content: StatementByKind[Kind],
): Promise<SignedStatement> {
  const statement = JSON.stringify(content);
  const { keyId, signature } = await keys.sign(useOf(kind), Buffer.from(statement));
  return { kind, statement, keyId, signature };
}

/** Public keys by their ids. */
export type PublicKeys = ReadonlyMap<string, KeyObject>;

export const listPublicKeys = async (keys: Pick<SigningKeys, 'list'>): Promise<PublicKeys> =>
  new Map((await keys.list()).map(({ keyId, publicKey }) => [keyId, publicKey]));

/** Returns the content of a statement, or why it cannot be trusted. */
export function openStatement<Kind extends StatementKind>(
  keys: PublicKeys,
  kind: Kind,
  { kind: actual, statement, keyId, signature }: SignedStatement,
): StatementByKind[Kind] | 'unknown-key' | 'invalid' {
  const key = keys.get(keyId);
  if (key === undefined) return 'unknown-key';
  if (actual !== kind || !verifySignature(key, useOf(kind), Buffer.from(statement), signature)) return 'invalid';
  // The vault wrote what it signed.
  return JSON.parse(statement) as StatementByKind[Kind];
}

/** Formats a statement as a line of JSON, without the end of the line. */
export const formatStatementLine = ({ kind, statement, keyId, signature }: SignedStatement): string =>
  JSON.stringify({ type: kind, statement, key_id: keyId, signature: Buffer.from(signature).toString('base64') });

/** Returns the statement of a line, or undefined when the object is none in the form of `formatStatementLine`. */
export function parseStatementLine(line: string): SignedStatement | undefined {
  const value = parseJson(line) as Partial<Record<string, unknown>> | null | undefined;
  const { type, statement, key_id: keyId, signature } = value ?? {};
  const kind = STATEMENT_KINDS.find((each) => each === type);
  if (kind === undefined || typeof statement !== 'string') return undefined;
  // The id is shown to people, and comes from a file that an attacker may have written.
  if (typeof keyId !== 'string' || !KEY_ID.test(keyId)) return undefined;
  if (typeof signature !== 'string') return undefined;
  const signed = { kind, statement, keyId, signature: Buffer.from(signature, 'base64') };
  return formatStatementLine(signed) === line ? signed : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
