import { createHash, type Hash } from 'node:crypto';
import { closeSync, existsSync, fstatSync, fsyncSync, linkSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from '../crypto/secret-file.ts';
import { OperatorError } from '../kernel/operator-error.ts';

const USER_ONLY_FILE = 0o600;
const BUFFERED_CHARACTERS = 64 * 1024;

/** Thrown when the file cannot be written, or exists. */
export class OutputFileError extends OperatorError {
  override readonly name = 'OutputFileError';
  override readonly isUsageError = true;
}

/**
 * A file of lines that gets its name when it is complete and on disk: a crash leaves no incomplete file under it. It holds
 * one buffer in memory.
 */
export class DurableLines {
  readonly #path: string;
  readonly #draft: string;
  readonly #handle: number;
  readonly #digest: Hash = createHash('sha256');
  #buffer: string[] = [];
  #buffered = 0;

  /** Throws `OutputFileError` when the file exists. */
  constructor(path: string) {
    this.#path = path;
    // The name is always the same, so that the next attempt removes what a crash left.
    this.#draft = `${path}.incomplete`;
    assertAbsent(path);
    try {
      rmSync(this.#draft, { force: true });
      this.#handle = openSync(this.#draft, 'wx', USER_ONLY_FILE);
    } catch (cause) {
      throw notWritable(path, cause);
    }
  }

  write(line: string): void {
    this.#buffer.push(line, '\n');
    this.#buffered += line.length;
    if (this.#buffered >= BUFFERED_CHARACTERS) this.#flush();
  }

  /** Names the file; returns its SHA-256. */
  finish(): string {
    try {
      this.#flush();
      fsyncSync(this.#handle);
      const { ino } = fstatSync(this.#handle);
      closeSync(this.#handle);
      // A link never replaces a file that was created in the meantime.
      linkSync(this.#draft, this.#path);
      if (statSync(this.#path).ino !== ino) {
        rmSync(this.#path);
        throw new OutputFileError(`${this.#path}: another command writes this file`);
      }
      rmSync(this.#draft, { force: true });
      syncDirectory(dirname(this.#path));
      return this.#digest.digest('hex');
    } catch (cause) {
      throw notWritable(this.#path, cause);
    }
  }

  /** Removes the incomplete file. */
  abandon(): void {
    try {
      closeSync(this.#handle);
    } catch {
      // It is closed already.
    }
    rmSync(this.#draft, { force: true });
  }

  #flush(): void {
    const bytes = Buffer.from(this.#buffer.join(''));
    this.#buffer = [];
    this.#buffered = 0;
    this.#digest.update(bytes);
    try {
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#handle, bytes, at);
    } catch (cause) {
      throw notWritable(this.#path, cause);
    }
  }
}

export function assertAbsent(path: string): void {
  if (existsSync(path)) throw new OutputFileError(`${path} exists already; name another file`);
}

function notWritable(path: string, cause: unknown): Error {
  if (cause instanceof OperatorError) return cause;
  const { code = 'unknown' } = cause as NodeJS.ErrnoException;
  if (code === 'EEXIST') return new OutputFileError(`${path} exists already; name another file`);
  return new OutputFileError(`${path} cannot be written (${code}): its folder must exist, be writable and have room`);
}
