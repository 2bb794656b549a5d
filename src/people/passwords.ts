import { argon2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Keyring } from '../crypto/keyring.ts';
import type { Random } from '../kernel/clock.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { passwordForm } from './password.ts';
import type { PasswordHash } from './person.ts';
import { digestFor } from './sealing.ts';

const run = promisify(argon2);

/** Memory in KiB: the first choice of the OWASP Password Storage Cheat Sheet. */
const PARAMETERS = { memory: 47_104, passes: 1, parallelism: 1 } as const;
const SALT_BYTES = 16;
const TAG_BYTES = 32;

type Parameters = Omit<PasswordHash, 'tag'>;

/** Hashes of passwords: argon2id, over an HMAC with a key that the database does not hold in clear (a pepper). */
export class Passwords {
  readonly #keyring: Keyring;
  readonly #random: Random;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(options: { keyring: Keyring; random: Random }) {
    this.#keyring = options.keyring;
    this.#random = options.random;
  }

  /** Throws `unavailable` when too many are being hashed. */
  async hash(password: string): Promise<PasswordHash> {
    const parameters = { ...PARAMETERS, salt: this.#bytes(SALT_BYTES) };
    return { ...parameters, tag: (await this.#tagOf(password, parameters)).toString('base64') };
  }

  /** False, after as long a time, when there is no hash. Throws `unavailable` when too many are being hashed. */
  async isRight(password: string, stored: PasswordHash | undefined): Promise<boolean> {
    const hash = stored ?? { ...PARAMETERS, salt: this.#bytes(SALT_BYTES), tag: this.#bytes(TAG_BYTES) };
    const expected = Buffer.from(hash.tag, 'base64');
    const tag = await this.#tagOf(password, hash);
    return expected.length === tag.length && timingSafeEqual(expected, tag) && stored !== undefined;
  }

  /** Hashed with other parameters than today's. */
  isOutdated({ memory, passes, parallelism }: PasswordHash): boolean {
    const now = PARAMETERS;
    return memory !== now.memory || passes !== now.passes || parallelism !== now.parallelism;
  }

  async #tagOf(password: string, { memory, passes, parallelism, salt }: Parameters): Promise<Buffer> {
    const message = await digestFor(this.#keyring, 'password', passwordForm(password));
    const nonce = Buffer.from(salt, 'base64');
    await this.#turn();
    try {
      return await run('argon2id', { message, nonce, memory, passes, parallelism, tagLength: TAG_BYTES });
    } finally {
      this.#done();
    }
  }

  async #turn(): Promise<void> {
    if (this.#running < LIMITS.hashesAtOnce) {
      this.#running++;
      return;
    }
    if (this.#waiting.length >= LIMITS.waitingHashes) throw new Failure('unavailable');
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** The next one takes the place over. */
  #done(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#running--;
    else next();
  }

  #bytes(size: number): string {
    return Buffer.from(this.#random.bytes(size)).toString('base64');
  }
}
