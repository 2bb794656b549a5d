import { closeSync, createReadStream, existsSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { syncDirectory } from '../crypto/secret-file.ts';
import { type Clock, formatIso8601 } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { type Database, text } from '../storage/database.ts';
import type { Head } from '../storage/journal.ts';
import { digestChainHeads, type HeadsDigest } from './chain-reader.ts';
import { formatChain, type Resumption } from './resumption.ts';
import { describeChain } from './verify-journal.ts';

const HASH = 'select hash from journal where account = ?account and lane = ? and sequence = ?';

/** Thrown for a file of heads that cannot be parsed. */
export class HeadsFileError extends OperatorError {
  override readonly name = 'HeadsFileError';
  override readonly isUsageError = true;
}

/** Heads that were recorded at one moment. */
interface HeadsLine {
  readonly at: number;
  readonly heads: readonly Head[];
}

export interface RecordedHeadsCheck {
  /** Number of recorded heads that the log contains. */
  readonly found: number;
  /** Number of recorded heads that are missing because a restore or copy replaced them, see `Resumption`. */
  readonly replaced: number;
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
): Promise<RecordedHeadsCheck> {
  let [found, replaced] = [0, 0];
  for await (const { at, heads } of readLines(path)) {
    for (const head of heads) {
      const [row] = await database.read(HASH, head.account, head.lane, head.sequence);
      if (row !== undefined && text(row, 'hash') === head.hash) found++;
      else if (resumptions.some((resumption) => isExplainedBy(resumption, at, head))) replaced++;
      else {
        const what = row === undefined ? 'missing' : 'another one';
        const fault = `${describeChain(head)}, record ${head.sequence}: noted at ${formatIso8601(at)} and ${what}`;
        return { found, replaced, fault };
      }
    }
  }
  return { found, replaced };
}

/** A later head is never explained, because the log continued from the end that the resumption names. */
const isExplainedBy = ({ at, ends }: Resumption, noted: number, head: Head): boolean =>
  noted <= at && head.sequence > (ends.get(formatChain(head)) ?? 0);

async function* readLines(path: string): AsyncGenerator<HeadsLine> {
  let number = 0;
  try {
    const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
    for await (const line of lines) {
      number++;
      // The document of `audit verify --json`, on many lines.
      if (number === 1 && line === '{') return yield parseLine(await readFile(path, 'utf8')) ?? malformed(path, number);
      if (line.trim() === '' || isCutOff(line)) continue;
      yield parseLine(line) ?? malformed(path, number);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw typeof code === 'string' ? new HeadsFileError(`--heads: ${path} cannot be read: ${code}`) : error;
  }
  if (number === 0) throw new HeadsFileError(`--heads: ${path} is empty`);
}

const LINE_START = '{"time":"';

/** A crash or a full disk can leave the first part of a line, which names heads that the next line names again. */
const isCutOff = (line: string): boolean => line.startsWith(LINE_START) && parseJson(line) === undefined;

function malformed(path: string, line: number): never {
  throw new HeadsFileError(
    `--heads: ${path}, line ${line}: expected a line as the service writes it into CARDVAULT_AUDIT_HEADS_FILE, or the output of audit verify --json`,
  );
}

function parseLine(line: string): HeadsLine | undefined {
  const note = parseJson(line) as { time?: unknown; heads?: unknown } | null | undefined;
  const { time, heads } = note ?? {};
  const at = typeof time === 'string' ? Date.parse(time) : Number.NaN;
  return Number.isNaN(at) || !Array.isArray(heads) || !heads.every(isHead) ? undefined : { at, heads };
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
