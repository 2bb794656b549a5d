import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from '../crypto/secret-file.ts';
import { type Clock, formatIso8601 } from '../kernel/clock.ts';
import type { Database } from '../storage/database.ts';
import type { Head } from '../storage/journal.ts';
import { digestChainHeads, type HeadsDigest } from './chain-heads.ts';
import { formatChain } from './resumption.ts';

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
