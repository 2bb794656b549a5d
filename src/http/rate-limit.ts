import { MINUTE, type MonotonicClock, type Random, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';

/** The state of the limit for the caller (draft-ietf-httpapi-ratelimit-headers). */
export interface RateLimitState {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until another request is allowed, or until the bucket is full again. */
  readonly reset: number;
}

/** Places in which the bucket of one name may be; the hash of the name selects them. */
const SET_SIZE = 8;
/** Twice as many places as names, so that a set is nearly never full. */
const SET_COUNT = 2 ** Math.ceil(Math.log2((2 * LIMITS.trackedAddresses) / SET_SIZE));
const PLACES = SET_COUNT * SET_SIZE;
const SALT_BYTES = 8;
const TAGS_AT = SALT_BYTES;
const TIMES_AT = TAGS_AT + PLACES * Int32Array.BYTES_PER_ELEMENT;

/** Returns empty memory for the buckets of any number of kinds, which all threads of the process share. */
export function createBucketMemory(random: Random): SharedArrayBuffer {
  const memory = new SharedArrayBuffer(TIMES_AT + PLACES * BigInt64Array.BYTES_PER_ELEMENT);
  new Uint8Array(memory).set(random.bytes(SALT_BYTES));
  return memory;
}

/** The dependencies of all buckets. */
export interface BucketSource {
  readonly memory: SharedArrayBuffer;
  /** The same in all threads. */
  readonly clock: MonotonicClock;
}

interface BucketOptions extends BucketSource {
  /** Separates these buckets from others in the same memory. */
  readonly kind: string;
  /** Tokens added in a second. */
  readonly rate: number;
  readonly burst: number;
}

/**
 * Token buckets by name: `rate` tokens a second are added, up to `burst`. Threads take from the same bucket exactly. Of a
 * bucket only the time is stored at which it will be full (generic cell rate algorithm), so that one atomic exchange
 * takes a token. A name that is not stored has a full bucket.
 */
export class TokenBuckets {
  readonly #clock: MonotonicClock;
  readonly #tags: Int32Array<SharedArrayBuffer>;
  readonly #times: BigInt64Array<SharedArrayBuffer>;
  readonly #seeds: readonly [number, number];
  /** Nanoseconds in which a token is added, and in which the bucket fills up. */
  readonly #perToken: bigint;
  readonly #perBucket: bigint;

  constructor({ memory, kind, clock, rate, burst }: BucketOptions) {
    const [salt = 0, otherSalt = 0] = new Int32Array(memory, 0, SALT_BYTES / Int32Array.BYTES_PER_ELEMENT);
    this.#clock = clock;
    this.#tags = new Int32Array(memory, TAGS_AT, PLACES);
    this.#times = new BigInt64Array(memory, TIMES_AT, PLACES);
    this.#seeds = [hash(kind, salt), hash(kind, otherSalt)];
    this.#perToken = BigInt(Math.floor((SECOND / rate) * NANOSECONDS));
    this.#perBucket = BigInt(burst) * this.#perToken;
  }

  take(name: string): RateLimitState {
    const now = BigInt(Math.round(this.#clock() * NANOSECONDS));
    for (;;) {
      const place = this.#find(name, now);
      const known = Atomics.load(this.#times, place);
      const fullAt = (known > now ? known : now) + this.#perToken;
      const missing = fullAt - now;
      if (missing > this.#perBucket)
        return { allowed: false, remaining: 0, reset: toSeconds(missing - this.#perBucket) };
      // Another thread has taken in between.
      if (Atomics.compareExchange(this.#times, place, known, fullAt) !== known) continue;
      const remaining = Number((this.#perBucket - missing) / this.#perToken);
      return { allowed: true, remaining, reset: toSeconds(missing) };
    }
  }

  /** Returns the place of the name's bucket. Stores the name when it is not stored. */
  #find(name: string, now: bigint): number {
    const [seed, otherSeed] = this.#seeds;
    // 0 is no name.
    const tag = hash(name, seed) || 1;
    const first = (hash(name, otherSeed) & (SET_COUNT - 1)) * SET_SIZE;
    for (;;) {
      for (let place = first; place < first + SET_SIZE; place++) {
        if (Atomics.load(this.#tags, place) === tag) return place;
      }
      // Another thread may have given the name an earlier place meanwhile: the search begins again.
      this.#replace(this.#choose(first, now), tag, now);
    }
  }

  /** Returns the first place of a set that has no bucket or a full one; else the place of the bucket that is full first. */
  #choose(first: number, now: bigint): number {
    let chosen = first;
    let earliest = Atomics.load(this.#times, first);
    for (let place = first + 1; place < first + SET_SIZE && earliest > now; place++) {
      const time = Atomics.load(this.#times, place);
      if (time >= earliest) continue;
      chosen = place;
      earliest = time;
    }
    return chosen;
  }

  /** Gives a place to a name, with a full bucket, unless another thread was faster. */
  #replace(place: number, tag: number, now: bigint): void {
    const [known, time] = [Atomics.load(this.#tags, place), Atomics.load(this.#times, place)];
    // It may have given it to the same name, and taken from it.
    if (known === tag || Atomics.compareExchange(this.#tags, place, known, tag) !== known) return;
    if (time > now) Atomics.compareExchange(this.#times, place, time, now);
  }
}

/** In a millisecond. */
const NANOSECONDS = 1_000_000;

const toSeconds = (nanoseconds: bigint): number => Math.ceil(Number(nanoseconds) / (SECOND * NANOSECONDS));

/** MurmurHash3 of the characters, 32 bits. Secret seeds prevent names that are made to share a bucket. */
function hash(name: string, seed: number): number {
  let state = seed;
  for (let at = 0; at < name.length; at++) {
    const scrambled = Math.imul(name.charCodeAt(at), 0xcc9e2d51);
    state ^= Math.imul((scrambled << 15) | (scrambled >>> 17), 0x1b873593);
    state = Math.imul((state << 13) | (state >>> 19), 5) + 0xe6546b64;
  }
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) | 0;
}

/** Returns buckets of `count` requests a minute, all of which may come at the same moment. */
export const tokenBucketsPerMinute = (source: BucketSource, kind: string, count: number): TokenBuckets =>
  new TokenBuckets({ ...source, kind, rate: count / (MINUTE / SECOND), burst: count });
