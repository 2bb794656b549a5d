import { closeSync, createReadStream, existsSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { syncDirectory } from '../crypto/secret-file.ts';
import { type Clock, formatIso8601 } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { type Database, text } from '../storage/database.ts';
import type { Head } from '../storage/journal.ts';
import { type Beginnings, NOTHING_REMOVED } from './beginnings.ts';
import { digestChainHeads, type HeadsDigest } from './chain-reader.ts';
import { formatChain, type Resumption } from './resumption.ts';
import {
  formatStatementLine,
  fromHeadTuple,
  openStatement,
  type PublicKeys,
  parseStatementLine,
  type SignedStatement,
} from './statements.ts';
import { describeChain } from './verify-journal.ts';

const HASH = 'select hash from journal where account = ?account and lane = ? and sequence = ?';

/** Thrown for a file of heads that cannot be parsed. */
export class HeadsFileError extends OperatorError {
  override readonly name = 'HeadsFileError';
  override readonly isUsageError = true;
}

/** Heads that were recorded at one moment. */
export interface HeadsLine {
  readonly at: number;
  readonly heads: readonly Head[];
  /** Present for a signed checkpoint. */
  readonly signed?: SignedStatement;
}

export interface RecordedHeadsCheck {
  /** Number of recorded heads that the log contains. */
  readonly found: number;
  /** Number of recorded heads that are missing because a restore or copy replaced them, see `Resumption`. */
  readonly replaced: number;
  /** Number of recorded heads among the records that were removed from the beginning of the log. */
  readonly removed: number;
  /** Position and description of the first fault. */
  readonly fault?: string;
}

/**
 * Checks that an intact log contains every head that was recorded in a file. Each line counts, and not only the newest
 * of a chain: a chain that was cut and has grown again contains the newest head.
 */
export async function checkRecordedHeads(
  database: Database,
  path: string,
  resumptions: readonly Resumption[],
  { beginnings = NOTHING_REMOVED, keys }: { beginnings?: Beginnings; keys?: PublicKeys } = {},
): Promise<RecordedHeadsCheck> {
  let [found, replaced, removed] = [0, 0, 0];
  for await (const { at, heads, signed } of readRecordedHeads(path, '--heads')) {
    const noted = `noted at ${formatIso8601(at)}`;
    if (signed !== undefined && keys !== undefined && typeof openStatement(keys, 'checkpoint', signed) === 'string')
      return { found, replaced, removed, fault: `the checkpoint ${noted} has no valid signature of this vault` };
    for (const head of heads) {
      const known = await findKnownHash(database, head, beginnings);
      if (known === head.hash) found++;
      else if (known === 'removed' || isRemovedSince(at, beginnings)) removed++;
      else if (resumptions.some((resumption) => isExplainedBy(resumption, at, head))) replaced++;
      else {
        const what = known === undefined ? 'missing' : 'another one';
        const fault = `${describeChain(head)}, record ${head.sequence}: ${noted} and ${what}`;
        return { found, replaced, removed, fault };
      }
    }
  }
  return { found, replaced, removed };
}

/** Returns the hash of a record, of the last removed record as well; `removed` for those before it. */
async function findKnownHash(
  database: Database,
  head: Head,
  { heads }: Beginnings,
): Promise<string | 'removed' | undefined> {
  const beginning = heads.get(formatChain(head));
  if (beginning !== undefined && head.sequence < beginning.sequence) return 'removed';
  if (head.sequence === beginning?.sequence) return beginning.hash;
  const [row] = await database.read(HASH, head.account, head.lane, head.sequence);
  return row && text(row, 'hash');
}

/** The record of a restore that explains such a head may be removed as well. */
const isRemovedSince = (noted: number, { before }: Beginnings): boolean => before !== undefined && noted < before;

/** A later head is never explained, because the log continued from the end that the resumption names. */
export const isExplainedBy = ({ at, ends }: Resumption, noted: number, head: Head): boolean =>
  noted <= at && head.sequence > (ends.get(formatChain(head)) ?? 0);

/** Reads a file of heads line by line. `option` names it in errors. */
export async function* readRecordedHeads(path: string, option: string): AsyncGenerator<HeadsLine> {
  let number = 0;
  try {
    const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
    for await (const line of lines) {
      number++;
      // The document of `audit verify --json`, on many lines.
      if (number === 1 && line === '{')
        return yield parseLine(await readFile(path, 'utf8')) ?? malformed(option, path, number);
      if (line.trim() === '' || isCutOff(line)) continue;
      yield parseLine(line) ?? malformed(option, path, number);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw typeof code === 'string' ? new HeadsFileError(`${option}: ${path} cannot be read: ${code}`) : error;
  }
  if (number === 0) throw new HeadsFileError(`${option}: ${path} is empty`);
}

const LINE_STARTS = ['{"time":"', '{"type":"checkpoint"'];

/** A crash or a full disk can leave the first part of a line, which names heads that the next line names again. */
const isCutOff = (line: string): boolean =>
  LINE_STARTS.some((start) => line.startsWith(start)) && parseJson(line) === undefined;

function malformed(option: string, path: string, line: number): never {
  throw new HeadsFileError(
    `${option}: ${path}, line ${line}: expected a line as the service writes it into CARDVAULT_AUDIT_HEADS_FILE, or the output of audit verify --json`,
  );
}

function parseLine(line: string): HeadsLine | undefined {
  const signed = parseStatementLine(line);
  if (signed !== undefined) return toHeadsLine(signed);
  const note = parseJson(line) as { time?: unknown; heads?: unknown } | null | undefined;
  const { time, heads } = note ?? {};
  const at = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(at) || !Array.isArray(heads) || !heads.every(isHead) ? undefined : { at, heads };
}

function toHeadsLine(signed: SignedStatement): HeadsLine | undefined {
  const { time, heads } = (parseJson(signed.statement) ?? {}) as { time?: unknown; heads?: unknown };
  const at = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  if (signed.kind !== 'checkpoint' || Number.isNaN(at) || !Array.isArray(heads)) return undefined;
  const read = heads.map((tuple) => (Array.isArray(tuple) ? fromHeadTuple(tuple as never) : undefined));
  return read.every(isHead) ? { at, heads: read, signed } : undefined;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function isHead(value: unknown): value is Head {
  const { account, lane, sequence, hash } = (value ?? {}) as Partial<Record<keyof Head, unknown>>;
  const areTexts = typeof account === 'string' && typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash);
  return areTexts && Number.isSafeInteger(lane) && Number.isSafeInteger(sequence) && Number(sequence) > 0;
}

const USER_ONLY_FILE = 0o600;

/**
 * Writes the heads of the journal where an attacker with write access to the database cannot change them: to the log,
 * and line by line to a file. Removing a recorded head from the journal is detected, so the interval of the records
 * bounds what an attacker can cut off unnoticed.
 */
export class HeadRecorder {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #file: string | undefined;
  readonly #onRecord: (digest: HeadsDigest) => void;
  /** The sequence and hash of each chain in the last record of this process. */
  readonly #recorded = new Map<string, string>();
  #digest = '';

  constructor(options: {
    database: Database;
    clock: Clock;
    /** Absent: the heads are not written to a file. */
    file: string | undefined;
    onRecord: (digest: HeadsDigest) => void;
  }) {
    this.#database = options.database;
    this.#clock = options.clock;
    this.#file = options.file;
    this.#onRecord = options.onRecord;
  }

  /** Writes the heads that have changed since the last call; the first call writes all of them. */
  async record(): Promise<void> {
    const changed: Head[] = [];
    const at = this.#clock();
    const digest = await digestChainHeads(this.#database, (head) => {
      if (this.#recorded.get(formatChain(head)) !== formatState(head)) changed.push(head);
    });
    if (digest.digest === this.#digest) return;
    const line = JSON.stringify({ time: formatIso8601(at), ...digest, heads: changed });
    if (this.#file !== undefined) appendDurably(this.#file, `${line}\n`);
    this.#digest = digest.digest;
    for (const head of changed) this.#recorded.set(formatChain(head), formatState(head));
    this.#onRecord(digest);
  }
}

/** Appends signed checkpoints to the file of heads. */
export function appendCheckpoints(file: string, checkpoints: readonly SignedStatement[]): void {
  for (const checkpoint of checkpoints) appendDurably(file, `${formatStatementLine(checkpoint)}\n`);
}

const formatState = ({ sequence, hash }: Head): string => `${sequence} ${hash}`;

function hasUnfinishedLine(handle: number): boolean {
  const { size } = fstatSync(handle);
  const last = Buffer.alloc(1);
  return size > 0 && readSync(handle, last, 0, 1, size - 1) === 1 && last.toString() !== '\n';
}

function appendDurably(path: string, text: string): void {
  const isNew = !existsSync(path);
  const handle = openSync(path, 'a+', USER_ONLY_FILE);
  try {
    // A line that a crash or a full disk cut off must not make the next line unreadable.
    const bytes = Buffer.from(hasUnfinishedLine(handle) ? `\n${text}` : text);
    for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
  if (isNew) syncDirectory(dirname(path));
}
