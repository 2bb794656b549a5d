import { type Clock, MINUTE, SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';

interface Bucket {
  tokens: number;
  at: number;
}

/** The state of the limit for the caller (draft-ietf-httpapi-ratelimit-headers). */
export interface RateLimitState {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until another request is allowed, or until the bucket is full again. */
  readonly reset: number;
}

/** Token buckets by name: `rate` tokens a second are added, up to `burst`. */
export class TokenBuckets {
  readonly #clock: Clock;
  readonly #buckets = new Map<string, Bucket>();
  readonly rate: number;
  readonly burst: number;

  constructor(options: { clock: Clock; rate: number; burst: number }) {
    this.#clock = options.clock;
    this.rate = options.rate;
    this.burst = options.burst;
  }

  take(name: string): RateLimitState {
    const bucket = this.#fill(name);
    if (bucket.tokens < 1) return { allowed: false, remaining: 0, reset: Math.ceil((1 - bucket.tokens) / this.rate) };
    bucket.tokens -= 1;
    return {
      allowed: true,
      remaining: Math.floor(bucket.tokens),
      reset: Math.ceil((this.burst - bucket.tokens) / this.rate),
    };
  }

  #fill(name: string): Bucket {
    const now = this.#clock();
    const known = this.#buckets.get(name);
    if (known === undefined) {
      if (this.#buckets.size >= LIMITS.trackedAddresses) this.#deleteFull(now);
      const fresh = { tokens: this.burst, at: now };
      this.#buckets.set(name, fresh);
      return fresh;
    }
    // A clock that was set back must not empty the bucket.
    const passed = Math.max(0, now - known.at);
    known.tokens = Math.min(this.burst, known.tokens + (passed / SECOND) * this.rate);
    known.at = now;
    return known;
  }

  #deleteFull(now: number): void {
    for (const [name, { tokens, at }] of this.#buckets) {
      if (tokens + ((now - at) / SECOND) * this.rate >= this.burst) this.#buckets.delete(name);
    }
    if (this.#buckets.size >= LIMITS.trackedAddresses) this.#buckets.clear();
  }
}

/** Returns buckets of `count` requests a minute, all of which may come at the same moment. */
export const tokenBucketsPerMinute = (clock: Clock, count: number): TokenBuckets =>
  new TokenBuckets({ clock, rate: count / (MINUTE / SECOND), burst: count });
