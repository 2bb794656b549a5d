import { createHash, hash } from 'node:crypto';
import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { SigningKeys } from '../crypto/signing-key.ts';
import { type Clock, formatIso8601, MINUTE } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import type { Database } from '../storage/database.ts';
import {
  type ChainedRecord,
  emptyHead,
  type Head,
  hashRecord,
  isAnnouncement,
  parseAnnouncement,
} from '../storage/journal.ts';
import { type Beginnings, beginningOf, loadBeginnings } from './beginnings.ts';
import { findLastBefore, findSealedHead, listStoredHeads, readChain, type StoredHead } from './chain-reader.ts';
import { loadVaultId } from './checkpoints.ts';
import { DurableLines } from './durable-lines.ts';
import {
  type ExportContent,
  formatChainLine,
  formatEndLine,
  formatHeaderLine,
  formatRecordLine,
} from './export-lines.ts';
import { formatChain } from './resumption.ts';
import {
  digestLine,
  type ExportScope,
  formatStatementLine,
  type RangeTuple,
  type SignedStatement,
  signStatement,
  splitIntoParts,
} from './statements.ts';
import { describeChain } from './verify-journal.ts';
import { verifyLog } from './verify-log.ts';

/** The parts of the vault that an export needs. */
export interface ExportParts {
  readonly database: Database;
  readonly journalKey: DigestKeys;
  readonly signingKeys: SigningKeys;
  readonly clock: Clock;
}

/** The records of an export; absent members do not limit them. */
export interface ExportSelection {
  /** One account, or with '' the records of no account. */
  readonly account?: string | undefined;
  /** Unix times in milliseconds; `to` is exclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

export interface ExportedFile {
  readonly chains: number;
  readonly records: number;
  /** SHA-256 over the last record of each chain. */
  readonly digest: string;
  /** SHA-256 of the file. */
  readonly sha256: string;
}

/** Thrown when the log is altered in a way that no export can be made of it. */
export class ExportError extends OperatorError {
  override readonly name = 'ExportError';
}

const ALTERED = 'the signed beginning of the audit log is missing or changed; run: cardvault audit verify';

/**
 * Records of a chain are in the order of their commits, which follows their times with this tolerance: an export up to a
 * time continues behind it for as long.
 */
const MAX_DISORDER_MS = 10 * MINUTE;

/** The part of a chain that a file contains. */
export interface ChainRange {
  readonly start: Head;
  readonly end: Head;
}

/**
 * Writes the log to a file that `audit check` verifies without the vault. Memory holds one page of records. Throws `ExportError` for a
 * log that does not verify: the vault signs no altered one.
 */
export async function exportToFile(
  parts: ExportParts,
  file: string,
  selection: ExportSelection = {},
): Promise<ExportedFile> {
  const { from, to } = selection;
  const scope: ExportScope = {
    ...(selection.account !== undefined && { account: selection.account }),
    ...(from !== undefined && { from: formatIso8601(from) }),
    ...(to !== undefined && { to: formatIso8601(to) }),
  };
  const verified = await verifyLog(parts, selection.account);
  if (!verified.ok)
    throw new ExportError(
      `the audit log does not verify: ${verified.fault}; without a file it is printed, and not signed`,
    );
  const cut: ChainCut = {
    isBefore: ({ at }) => from !== undefined && at < from,
    // Not the first record behind it: one of a moment in which a clock was ahead would hide all that follow.
    findEnd: async (head) =>
      to === undefined ? head.sequence : findLastBefore(parts.database, head, to + MAX_DISORDER_MS),
  };
  return writeLogFile(parts, file, { content: 'log', scope, account: selection.account, cut }, signExport);
}

/** Decides which records of a chain a file contains: those from the first that is not before it to the end. */
export interface ChainCut {
  isBefore(record: ChainedRecord): boolean;
  /** Returns the sequence of the last record that the file may contain. */
  findEnd(head: Head): Promise<number>;
  /** True for a record that the file cannot contain, nor those that follow it. */
  isBehind?(record: ChainedRecord): boolean;
}

interface FileContent {
  readonly content: ExportContent;
  readonly scope: ExportScope;
  readonly account: string | undefined;
  readonly cut: ChainCut;
}

/** The written content, for the statement about it. */
export interface WrittenContent {
  readonly vault: string;
  readonly time: string;
  /** SHA-256 of the first line. */
  readonly header: string;
  readonly scope: ExportScope;
  readonly ranges: readonly ChainRange[];
  readonly records: number;
  readonly digest: string;
}

/** Signs what was written. */
type Sign = (parts: ExportParts, written: WrittenContent) => Promise<readonly SignedStatement[]>;

export async function writeLogFile(
  parts: ExportParts,
  file: string,
  content: FileContent,
  signContent: Sign,
): Promise<ExportedFile> {
  for (;;) {
    const beginnings = await loadBeginnings(parts.database, parts.signingKeys);
    if (beginnings === 'altered') throw new ExportError(ALTERED);
    const lines = new DurableLines(file);
    try {
      return await writeLines(parts, lines, { content, beginnings }, signContent);
    } catch (error) {
      lines.abandon();
      // The records that are missing may have been removed from the beginning while they were written.
      if (!(error instanceof ExportError) || !(await hasNewBeginning(parts, beginnings))) throw error;
    }
  }
}

async function hasNewBeginning({ database, signingKeys }: ExportParts, before: Beginnings): Promise<boolean> {
  const present = await loadBeginnings(database, signingKeys);
  return present !== 'altered' && present.time !== before.time;
}

async function writeLines(
  parts: ExportParts,
  lines: DurableLines,
  { content, beginnings }: { readonly content: FileContent; readonly beginnings: Beginnings },
  signContent: Sign,
): Promise<ExportedFile> {
  const { database, journalKey, signingKeys, clock } = parts;
  const [vault, time] = [await loadVaultId(database, journalKey), formatIso8601(clock())];
  const keys = (await signingKeys.list()).map(({ keyId, createdAt, publicKey }) => ({
    key_id: keyId,
    created_at: formatIso8601(createdAt),
    pem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  }));
  const { scope } = content;
  const header = formatHeaderLine({ content: content.content, vault, time, scope, keys });
  lines.write(header);
  for (const signed of beginnings.statements) lines.write(formatStatementLine(signed));
  const { ranges, records } = await writeChains(parts, lines, content, beginnings);
  const digest = digestHeads(ranges.map(({ end }) => end));
  const written = { vault, time, header: hash('sha256', header), scope, ranges, records, digest };
  for (const signed of await signContent(parts, written)) lines.write(formatStatementLine(signed));
  lines.write(formatEndLine({ chains: ranges.length, records }));
  return { chains: ranges.length, records, digest, sha256: lines.finish() };
}

/**
 * Writes each chain up to the head that it has when it is reached. The heads of the chains of no account are read first, in
 * one statement: a chain that begins later is not announced before them, and left out, so that the file is complete in
 * itself while the service writes.
 */
async function writeChains(
  parts: ExportParts,
  lines: DurableLines,
  { account, cut }: FileContent,
  beginnings: Beginnings,
): Promise<{ ranges: readonly ChainRange[]; records: number }> {
  const known = new Set(beginnings.heads.keys());
  const ranges: ChainRange[] = [];
  let records = 0;
  for await (const head of listStoredHeads(parts.database)) {
    const isWanted = account === undefined || head.account === account;
    // The announcements of one account are in the chains of no account, which such an export does not contain.
    const isKnown = head.account === '' || account !== undefined || known.has(formatChain(head));
    if (!isWanted || !isKnown) continue;
    const onRecord = (record: ChainedRecord): void => {
      if (isAnnouncement(record)) for (const chain of parseAnnouncement(record)) known.add(formatChain(chain));
    };
    const written = await writeChain(parts, lines, head, { cut, beginnings, onRecord });
    ranges.push(written.range);
    records += written.records;
  }
  return { ranges, records };
}

interface ChainOptions {
  readonly cut: ChainCut;
  readonly beginnings: Beginnings;
  onRecord(record: ChainedRecord): void;
}

/** Throws `ExportError` when a record is altered or missing, or the end of the chain is not the one that the vault sealed. */
async function writeChain(
  { database, journalKey }: ExportParts,
  lines: DurableLines,
  stored: StoredHead,
  { cut, beginnings, onRecord }: ChainOptions,
): Promise<{ range: ChainRange; records: number }> {
  const head = await findSealedHead(database, journalKey, stored);
  if (head === undefined) throw alteredAt(stored, stored.sequence);
  const beginning = beginnings.heads.get(formatChain(head)) ?? emptyHead(head.account, head.lane);
  // When the head was read again, records behind the one of the list may announce chains that the list lacks.
  const last = Math.min(await cut.findEnd(stored), stored.sequence);
  let start = beginning;
  let previous = beginning;
  let end = beginning;
  let isCut = false;
  let records = 0;
  for await (const record of readChain(database, head, beginningOf(beginnings, head))) {
    isCut ||= (record.sequence > last && last < stored.sequence) || cut.isBehind?.(record) === true;
    if (isCut) break;
    const isNext = record.sequence === previous.sequence + 1;
    if (!isNext || hashRecord(previous.hash, record.lane, record.sequence, record) !== record.hash)
      throw alteredAt(head, previous.sequence + 1);
    previous = toHead(record);
    if (record.sequence > last) continue;
    end = previous;
    // The chain of no account announces chains before the first exported record, too.
    onRecord(record);
    if (records === 0 && cut.isBefore(record)) {
      start = previous;
      continue;
    }
    if (records === 0) lines.write(formatChainLine(start));
    lines.write(formatRecordLine(record));
    records++;
  }
  if (!isCut && (previous.sequence !== head.sequence || previous.hash !== head.hash))
    throw alteredAt(head, previous.sequence + 1);
  if (records === 0) lines.write(formatChainLine(start));
  return { range: { start, end }, records };
}

const alteredAt = (chain: Head, sequence: number): ExportError =>
  new ExportError(`${describeChain(chain)}: record ${sequence} is missing or changed; run: cardvault audit verify`);

/** Without the record, which would stay in memory. */
const toHead = ({ account, lane, sequence, hash }: Head): Head => ({ account, lane, sequence, hash });

const signExport: Sign = async ({ signingKeys }, { ranges, vault, time, header, scope, records, digest }) => {
  const parts = splitIntoParts(ranges);
  const signed: SignedStatement[] = [];
  for (const [index, part] of parts.entries()) {
    const numbered = { vault, time, header, part: index + 1, parts: parts.length };
    const counts = { scope, chains: ranges.length, records, digest };
    signed.push(await signStatement(signingKeys, 'export', { ...numbered, ...counts, ranges: part.map(toRangeTuple) }));
  }
  return signed;
};

const toRangeTuple = ({ start, end }: ChainRange): RangeTuple => [
  end.account,
  end.lane,
  start.sequence,
  start.hash,
  end.sequence,
  end.hash,
];

function digestHeads(heads: readonly Head[]): string {
  const digest = createHash('sha256');
  for (const head of heads) digest.update(digestLine(head));
  return digest.digest('hex');
}
