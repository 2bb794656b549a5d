import type { ChainedRecord, Head } from '../storage/journal.ts';
import type { ExportScope } from './statements.ts';

/**
 * The lines of an exported audit log, in their order: a header; the signed statements about the beginning of a log that
 * was pruned; of each chain a line and its records; the signed statements about what the file contains; the end. Each line
 * is JSON in one form only, so that two readers never read different content from it.
 */
export const EXPORT_FORMAT = 'cardvault-audit/1';

/** `log`: an export; `removed`: the records that a pruning removes. */
export type ExportContent = 'log' | 'removed';

export interface ExportHeader {
  readonly content: ExportContent;
  readonly vault: string;
  /** ISO 8601. */
  readonly time: string;
  readonly scope: ExportScope;
  /** For information: the reader must know the key from elsewhere. */
  readonly keys: readonly { readonly key_id: string; readonly created_at: string; readonly pem: string }[];
}

/** The position behind which the records of a chain follow. */
export type ChainStart = Head;

export interface ExportEnd {
  readonly chains: number;
  readonly records: number;
}

export const formatHeaderLine = ({ content, vault, time, scope, keys }: ExportHeader): string =>
  JSON.stringify({ type: 'header', format: EXPORT_FORMAT, content, vault, time, scope, keys });

export const formatChainLine = ({ account, lane, sequence, hash }: ChainStart): string =>
  JSON.stringify({ type: 'chain', account, lane, after: sequence, hash });

export const formatRecordLine = ({ sequence, environment, at, record, hash }: ChainedRecord): string =>
  JSON.stringify({ type: 'record', sequence, environment, at, record, hash });

export const formatEndLine = ({ chains, records }: ExportEnd): string =>
  JSON.stringify({ type: 'end', chains, records });

type Members = Readonly<Record<string, unknown>>;

/** Returns the object of a line, or undefined for anything else. */
export function parseLine(line: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

export function toHeader(line: string, members: Members): ExportHeader | undefined {
  const { content, vault, time, scope, keys } = members as Partial<Record<keyof ExportHeader, unknown>>;
  if ((content !== 'log' && content !== 'removed') || !isText(vault) || !isText(time)) return undefined;
  if (typeof scope !== 'object' || scope === null || !Array.isArray(keys)) return undefined;
  const header: ExportHeader = { content, vault, time, scope: scope as ExportScope, keys };
  return formatHeaderLine(header) === line ? header : undefined;
}

export function toChainStart(line: string, { account, lane, after, hash }: Members): ChainStart | undefined {
  if (!isText(account) || !isCount(lane) || !isCount(after) || !isText(hash)) return undefined;
  const start = { account, lane, sequence: after, hash };
  return formatChainLine(start) === line ? start : undefined;
}

export function toRecord(line: string, members: Members, chain: Head): ChainedRecord | undefined {
  const { sequence, environment, at, record, hash } = members;
  if (!isCount(sequence) || !isText(environment) || !Number.isSafeInteger(at) || !isText(record) || !isText(hash))
    return undefined;
  const { account, lane } = chain;
  const link: ChainedRecord = { account, lane, sequence, environment, at: Number(at), record, hash };
  return formatRecordLine(link) === line ? link : undefined;
}

export function toEnd(line: string, { chains, records }: Members): ExportEnd | undefined {
  if (!isCount(chains) || !isCount(records)) return undefined;
  return formatEndLine({ chains, records }) === line ? { chains, records } : undefined;
}
