import { createHash } from 'node:crypto';
import { type FileHandle, link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from '../crypto/secret-file.ts';
import type { Random } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';

const USER_ONLY_FILE = 0o600;
const NAME_BYTES = 8;
const BUFFERED_CHARACTERS = 64 * 1024;

/**
 * A text file that gets its name when it is complete and on disk. A process that is killed leaves a draft whose name ends
 * in `.partial`.
 */
export class OutputFile {
  readonly path: string;
  readonly #draft: string;
  readonly #handle: FileHandle;
  readonly #sha256 = createHash('sha256');
  #buffered = '';

  private constructor(path: string, draft: string, handle: FileHandle) {
    this.path = path;
    this.#draft = draft;
    this.#handle = handle;
  }

  static async create(path: string, random: Random): Promise<OutputFile> {
    const draft = `${path}.${Buffer.from(random.bytes(NAME_BYTES)).toString('hex')}.partial`;
    try {
      return new OutputFile(path, draft, await open(draft, 'wx', USER_ONLY_FILE));
    } catch (error) {
      throw cannotWrite(path, error);
    }
  }

  async write(text: string): Promise<void> {
    this.#buffered += text;
    if (this.#buffered.length >= BUFFERED_CHARACTERS) await this.#flush();
  }

  /** Returns the hexadecimal SHA-256 of the file. Throws when the name is taken. */
  async finish(): Promise<string> {
    try {
      await this.#flush();
      await this.#handle.sync();
      await this.#handle.close();
      await link(this.#draft, this.path);
      await rm(this.#draft, { force: true });
      syncDirectory(dirname(this.path));
    } catch (error) {
      throw cannotWrite(this.path, error);
    }
    return this.#sha256.digest('hex');
  }

  /** Removes the draft; does nothing after `finish`. */
  async discard(): Promise<void> {
    await this.#handle.close().catch(() => undefined);
    await rm(this.#draft, { force: true });
  }

  async #flush(): Promise<void> {
    this.#sha256.update(this.#buffered);
    await this.#handle.appendFile(this.#buffered);
    this.#buffered = '';
  }
}

function cannotWrite(path: string, error: unknown): OperatorError {
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  if (code === 'EEXIST') return new OperatorError(`${path} exists already; give the name of a new file`);
  return new OperatorError(`${path} cannot be written (${code}): its folder must exist and have room`);
}
