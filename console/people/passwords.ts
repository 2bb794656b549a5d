import { argon2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Keyring } from '../../src/crypto/keyring.ts';
import type { Random } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { FairQueue } from './fair-queue.ts';
import { passwordForm } from './password.ts';
import type { PasswordHash } from './person.ts';
import { digestFor } from './sealing.ts';

const argon2id = promisify(argon2).bind(undefined, 'argon2id');

/** Memory in KiB: the first choice of the OWASP Password Storage Cheat Sheet. */
const PARAMETERS = { memory: 47_104, passes: 1, parallelism: 1 } as const;
const SALT_BYTES = 16;
const TAG_BYTES = 32;

type Parameters = Omit<PasswordHash, 'tag'>;

/** Whose turn a hash takes, so that many of one source do not delay others. */
export type HashSource = `network ${string}` | `browser ${string}` | `user ${string}`;

const newQueue = (): FairQueue =>
  new FairQueue({
    concurrent: LIMITS.concurrentPasswordHashes,
    perSource: LIMITS.queuedPasswordHashesPerSource,
    total: LIMITS.queuedPasswordHashes,
  });

/** Hashes of passwords: argon2id, over an HMAC with a key that the database does not hold in clear (a pepper). */
export class Passwords {
  readonly #keyring: Keyring;
  readonly #random: Random;
  readonly #derive: typeof argon2id;
  /** Apart: an attacker with thousands of networks delays no known browser and no signed-in user. */
  readonly #ofNetworks = newQueue();
  readonly #ofKnown = newQueue();

  /** `derive` computes the hash; absent: argon2id. */
  constructor(options: { keyring: Keyring; random: Random; derive?: typeof argon2id }) {
    this.#keyring = options.keyring;
    this.#random = options.random;
    this.#derive = options.derive ?? argon2id;
  }

  /** Throws `unavailable` when too many wait. */
  async hash(password: string, source: HashSource): Promise<PasswordHash> {
    const parameters = { ...PARAMETERS, salt: this.#bytes(SALT_BYTES) };
    return { ...parameters, tag: (await this.#tagOf(password, parameters, source)).toString('base64') };
  }

  /** Returns false, after as long a time, when there is no hash. Throws `unavailable` as `hash`. */
  async isRight(password: string, stored: PasswordHash | undefined, source: HashSource): Promise<boolean> {
    const hash = stored ?? { ...PARAMETERS, salt: this.#bytes(SALT_BYTES), tag: this.#bytes(TAG_BYTES) };
    const expected = Buffer.from(hash.tag, 'base64');
    const tag = await this.#tagOf(password, hash, source);
    return expected.length === tag.length && timingSafeEqual(expected, tag) && stored !== undefined;
  }

  /** Hashed with other parameters than today's. */
  isOutdated({ memory, passes, parallelism }: PasswordHash): boolean {
    const now = PARAMETERS;
    return memory !== now.memory || passes !== now.passes || parallelism !== now.parallelism;
  }

  async #tagOf(
    password: string,
    { memory, passes, parallelism, salt }: Parameters,
    source: HashSource,
  ): Promise<Buffer> {
    const message = await digestFor(this.#keyring, 'password', passwordForm(password));
    const nonce = Buffer.from(salt, 'base64');
    const parameters = { message, nonce, memory, passes, parallelism, tagLength: TAG_BYTES };
    const queue = source.startsWith('network ') ? this.#ofNetworks : this.#ofKnown;
    return queue.run(source, () => this.#derive(parameters));
  }

  #bytes(size: number): string {
    return Buffer.from(this.#random.bytes(size)).toString('base64');
  }
}
