import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  rmdirSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { link, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemRandom } from '../../crypto/random.ts';
import type { SadKeyStore, WrappedSadKey } from '../../crypto/sad-keys.ts';
import { KEY_ID_BYTES } from '../../crypto/seal.ts';
import { HOUR } from '../../kernel/clock.ts';
import type { Environment } from '../../kernel/environment.ts';
import { StorageError } from '../database.ts';

const USER_ONLY_FILE = 0o600;
const USER_ONLY_DIRECTORY = 0o700;
/** Several processes may start together; each clears drafts once. */
const INSERT_ATTEMPTS = 20;
const OPEN = /^(production|sandbox)-([0-9]+)$/;
const CLOSED = /^(production|sandbox)-([0-9]+)-([0-9]+)-[0-9a-f]{16}$/;
const DRAFT = /^[0-9a-f]{16}\.new$/;

/** Returns the folder beside a database that contains the keys of its sensitive authentication data. */
export const sadKeyFolder = (databaseFile: string): string => `${databaseFile}.sad-keys`;

/**
 * Keys of hours of expiry, each in a separate file: `sandbox-493021` while it is open, and with the time of closing and
 * an id of the file once it is closed. A file gets its name when all of it is on disk, by a link that fails when the name exists:
 * the first of several processes wins, and no crash leaves an incomplete key. A key is overwritten before its file is
 * removed.
 *
 * The content alone says which key a file has. Between the moments at which a process reads and renames a file, others may have
 * renamed that one and created the next one of its name: that key is closed instead, under a name that replaces no other key.
 */
export class SadKeyFiles implements SadKeyStore {
  readonly #folder: string;
  readonly #random = systemRandom();
  #clearedDrafts: Promise<void> | undefined;

  constructor(databaseFile: string) {
    this.#folder = sadKeyFolder(databaseFile);
  }

  findOpen(environment: Environment, period: number): Promise<WrappedSadKey | undefined> {
    return this.#guarded(async () => {
      const name = openName({ environment, period });
      const found = await this.#read(name);
      // A damaged file must not block the next key of the period.
      if (found === 'damaged') await this.#setAside(name);
      return found === 'damaged' ? undefined : found;
    });
  }

  async findById(id: string): Promise<WrappedSadKey | undefined> {
    return (await this.list()).find((key) => key.id === id);
  }

  /**
   * Another process may close keys meanwhile, which renames them, and create the next ones under the names that they had. When the
   * names have changed, the folder is read once more. That is enough: a key is renamed once, so that one of the two readings has it,
   * or it was destroyed.
   */
  list(): Promise<WrappedSadKey[]> {
    return this.#guarded(async () => {
      const names = await this.#listNames();
      const keys = await this.#readAll(names);
      const now = await this.#listNames();
      if (isSameList(names, now)) return keys;
      const again = await this.#readAll(now);
      const ids = new Set(again.map(({ id }) => id));
      return [...keys.filter(({ id }) => !ids.has(id)), ...again];
    });
  }

  insert(key: WrappedSadKey): Promise<boolean> {
    return this.#guarded(async () => {
      for (let attempt = 1; ; attempt++) {
        await this.#prepare();
        try {
          return await this.#insert(key);
        } catch (cause) {
          // The folder was removed, or another starting process took the draft for one of a crash.
          if (codeOf(cause) !== 'ENOENT' || attempt === INSERT_ATTEMPTS) throw cause;
        }
      }
    });
  }

  async #insert(key: WrappedSadKey): Promise<boolean> {
    const draft = join(this.#folder, `${key.id}.new`);
    const handle = await open(draft, 'wx', USER_ONLY_FILE);
    try {
      await handle.writeFile(contentOf(key));
      await handle.sync();
    } finally {
      await handle.close();
    }
    try {
      await link(draft, join(this.#folder, nameOf(key)));
      return true;
    } catch (cause) {
      if (codeOf(cause) === 'EEXIST') return false;
      throw cause;
    } finally {
      await rm(draft, { force: true });
      await syncFolder(this.#folder);
    }
  }

  close(key: WrappedSadKey, at: number): Promise<void> {
    return this.#guarded(async () => {
      const name = openName(key);
      const found = await this.#read(name);
      if (found === undefined || found === 'damaged' || found.id !== key.id) return;
      await this.#moveOver(name, nameOf({ ...key, id: this.#uniqueId(), closedAt: at }));
    });
  }

  destroy({ id }: WrappedSadKey): Promise<void> {
    return this.#guarded(async () => {
      for (const name of await this.#listNames()) await destroyFile(join(this.#folder, name), id);
      await syncFolder(this.#folder);
    });
  }

  /** Returns an id that no file has in its name, so that a file that is renamed to it replaces no key. */
  #uniqueId(): string {
    return Buffer.from(this.#random.bytes(KEY_ID_BYTES)).toString('hex');
  }

  /** Returns the names in ascending order. */
  async #listNames(): Promise<string[]> {
    return (await readdir(this.#folder).catch(ifMissing([]))).filter(isKeyName).sort();
  }

  /** Returns the keys of the files that exist and are not damaged. */
  async #readAll(names: readonly string[]): Promise<WrappedSadKey[]> {
    const keys = await Promise.all(names.map((name) => this.#read(name)));
    return keys.filter((key) => key !== undefined && key !== 'damaged');
  }

  /**
   * Another process may have set the file aside as well, and have created a key since: captures may name that key, which counts
   * as closed with its period.
   */
  async #setAside(name: string): Promise<void> {
    const aside = `${name}.${this.#uniqueId()}.damaged`;
    await this.#moveOver(name, aside);
    const content = await readFile(join(this.#folder, aside), 'utf8').catch(ifMissing(''));
    const key = parseKey(name, content);
    if (key !== 'damaged') await this.#moveOver(aside, nameOf({ ...key, closedAt: (key.period + 1) * HOUR }));
  }

  async #read(name: string): Promise<WrappedSadKey | 'damaged' | undefined> {
    const content = await readFile(join(this.#folder, name), 'utf8').catch(ifMissing(undefined));
    return content === undefined ? undefined : parseKey(name, content);
  }

  async #moveOver(from: string, to: string): Promise<void> {
    await rename(join(this.#folder, from), join(this.#folder, to)).catch(ifMissing(undefined));
    await syncFolder(this.#folder);
  }

  /** A crash may have left drafts with keys that sealed nothing; they are cleared once for each process. */
  async #prepare(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: USER_ONLY_DIRECTORY });
    await syncFolder(dirname(this.#folder));
    this.#clearedDrafts ??= this.#clearDrafts();
    await this.#clearedDrafts;
  }

  async #clearDrafts(): Promise<void> {
    for (const name of (await readdir(this.#folder)).filter((each) => DRAFT.test(each)))
      await rm(join(this.#folder, name), { force: true });
  }

  async #guarded<T>(act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (cause) {
      const advice = 'it must be writable for the user of the service and have room';
      throw new StorageError(`${this.#folder} cannot be used: ${codeOf(cause)}; ${advice}`);
    }
  }
}

const isKeyName = (name: string): boolean => OPEN.test(name) || CLOSED.test(name);
const isSameList = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((name, index) => name === other[index]);
const openName = ({ environment, period }: Pick<WrappedSadKey, 'environment' | 'period'>): string =>
  `${environment}-${period}`;
const nameOf = (key: WrappedSadKey): string =>
  key.closedAt === undefined ? openName(key) : `${openName(key)}-${key.closedAt}-${key.id}`;

const contentOf = ({ id, wrapped }: WrappedSadKey): string =>
  `${JSON.stringify({ id, wrapped: Buffer.from(wrapped).toString('base64') })}\n`;

function parseKey(name: string, content: string): WrappedSadKey | 'damaged' {
  const [, environment, period, closedAt] = OPEN.exec(name) ?? CLOSED.exec(name) ?? [];
  const { id, wrapped } = objectIn(content);
  if (typeof id !== 'string' || !/^[0-9a-f]{16}$/.test(id) || typeof wrapped !== 'string') return 'damaged';
  return {
    environment: environment as Environment,
    period: Number(period),
    id,
    wrapped: Buffer.from(wrapped, 'base64'),
    closedAt: closedAt === undefined ? undefined : Number(closedAt),
  };
}

function objectIn(content: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(content);
    return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {};
  }
}

/** Overwrites and removes all keys of a database that is no longer used. */
export function removeSadKeys(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) {
    const handle = openSync(join(folder, name), 'r+');
    try {
      writeSync(handle, Buffer.alloc(fstatSync(handle).size), 0, null, 0);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    rmSync(join(folder, name));
  }
  rmdirSync(folder);
}

/** Overwrites and removes the file if it contains the key with this id. */
async function destroyFile(path: string, id: string): Promise<void> {
  const handle = await open(path, 'r+').catch(ifMissing(undefined));
  if (handle === undefined) return;
  try {
    const { id: present } = objectIn(await handle.readFile('utf8'));
    if (present !== id) return;
    const { size } = await handle.stat();
    await handle.write(Buffer.alloc(size), 0, size, 0);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rm(path, { force: true });
}

/** A new or removed name is durable only when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(ifMissing(undefined));
  try {
    await handle?.sync();
  } finally {
    await handle?.close();
  }
}

const codeOf = (cause: unknown): string => (cause as NodeJS.ErrnoException).code ?? 'unknown';
const ifMissing =
  <T>(value: T) =>
  (cause: unknown): T => {
    if (codeOf(cause) === 'ENOENT') return value;
    throw cause;
  };
