import { argon2, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Random } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { FairQueue } from './fair-queue.ts';
import { normalizePassword } from './password.ts';
import type { PasswordHash, Person } from './person.ts';

const argon2id = promisify(argon2).bind(undefined, 'argon2id');
export type DeriveKey = typeof argon2id;

/** Memory in KiB: the first choice of the OWASP Password Storage Cheat Sheet. */
const PARAMETERS = { memory: 47_104, passes: 1, parallelism: 1 } as const;
const SALT_BYTES = 16;
const TAG_BYTES = 32;

type Parameters = Omit<PasswordHash, 'tag'>;

/** The source of a hash, so that many hashes of one source do not delay others. */
export type HashSource = `network ${string}` | `browser ${string}` | `user ${string}`;

type RecentPasswords = Pick<Person, 'password' | 'formerPasswords'>;

/** Returns the members of a user whose password is replaced. */
export const withPassword = (
  { password: present, formerPasswords = [] }: RecentPasswords,
  password: PasswordHash,
): RecentPasswords => ({
  password,
  formerPasswords: [present, ...formerPasswords].slice(0, LIMITS.rememberedPasswords - 1),
});

const newQueue = (): FairQueue =>
  new FairQueue({
    concurrent: LIMITS.concurrentPasswordHashes,
    perSource: LIMITS.queuedPasswordHashesPerSource,
    total: LIMITS.queuedPasswordHashes,
  });

/**
 * Hashes of passwords: argon2id. They are stored in sealed records alone, so the database without its keys is no means to try
 * passwords, and a rotation of those keys seals them again.
 */
export class Passwords {
  readonly #random: Random;
  readonly #derive: DeriveKey;
  /** A separate queue: an attacker with thousands of networks delays no known browser and no signed-in user. */
  readonly #networkQueue = newQueue();
  readonly #knownQueue = newQueue();

  /** `derive` computes the hash; absent: argon2id. */
  constructor(options: { random: Random; derive?: DeriveKey }) {
    this.#random = options.random;
    this.#derive = options.derive ?? argon2id;
  }

  /** Throws `unavailable` when too many wait. */
  async hash(password: string, source: HashSource): Promise<PasswordHash> {
    const parameters = { ...PARAMETERS, salt: this.#randomBase64(SALT_BYTES) };
    return { ...parameters, tag: (await this.#computeTag(password, parameters, source)).toString('base64') };
  }

  /** Returns false, after as long a time, when there is no hash. Throws `unavailable` as `hash`. */
  async verify(password: string, stored: PasswordHash | undefined, source: HashSource): Promise<boolean> {
    const hash = stored ?? { ...PARAMETERS, salt: this.#randomBase64(SALT_BYTES), tag: this.#randomBase64(TAG_BYTES) };
    const expected = Buffer.from(hash.tag, 'base64');
    const tag = await this.#computeTag(password, hash, source);
    return expected.length === tag.length && timingSafeEqual(expected, tag) && stored !== undefined;
  }

  /** True for one of the last passwords of a user. Throws `unavailable` as `hash`. */
  async isRecent(
    password: string,
    { password: present, formerPasswords = [] }: RecentPasswords,
    source: HashSource,
  ): Promise<boolean> {
    for (const hash of [present, ...formerPasswords]) if (await this.verify(password, hash, source)) return true;
    return false;
  }

  /** True for a hash with other parameters than the present ones. */
  isOutdated({ memory, passes, parallelism }: PasswordHash): boolean {
    const now = PARAMETERS;
    return memory !== now.memory || passes !== now.passes || parallelism !== now.parallelism;
  }

  async #computeTag(
    password: string,
    { memory, passes, parallelism, salt }: Parameters,
    source: HashSource,
  ): Promise<Buffer> {
    const message = Buffer.from(normalizePassword(password), 'utf8');
    const nonce = Buffer.from(salt, 'base64');
    const parameters = { message, nonce, memory, passes, parallelism, tagLength: TAG_BYTES };
    const queue = source.startsWith('network ') ? this.#networkQueue : this.#knownQueue;
    try {
      return await queue.run(source, () => this.#derive(parameters));
    } finally {
      message.fill(0);
    }
  }

  #randomBase64(size: number): string {
    return Buffer.from(this.#random.bytes(size)).toString('base64');
  }
}
