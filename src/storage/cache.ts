import type { Clock } from '../kernel/clock.ts';

interface Entry<Value> {
  readonly startedAt: number;
  /** The result of `loading`, when loading has ended. */
  loaded: { readonly value: Value } | undefined;
  readonly loading: Promise<Value>;
  /** Milliseconds for which the entry is fresh, counted from `startedAt`. */
  ttlMs: number;
}

/** Caches values by key for a limited time. Keys are compared by identity, so objects cannot be keys. */
export class Cache<Key extends string | number, Value> {
  readonly #clock: Clock;
  readonly #max: number;
  readonly #ttlMs: number | ((tookMs: number) => number);
  readonly #isCacheable: (value: Value) => boolean;
  readonly #entries = new Map<Key, Entry<Value>>();

  constructor(options: {
    clock: Clock;
    /** Maximum number of entries; the oldest is dropped beyond it. */
    max: number;
    /** Counted from the start of the load. A function gets the duration of the load, and counts from its end. */
    ttlMs: number | ((tookMs: number) => number);
    /** Default: every value. A load that fails is never cached. */
    isCacheable?: (value: Value) => boolean;
  }) {
    this.#clock = options.clock;
    this.#max = options.max;
    this.#ttlMs = options.ttlMs;
    this.#isCacheable = options.isCacheable ?? (() => true);
  }

  /** Returns a value that is loaded and fresh. */
  peek(key: Key): Value | undefined {
    const entry = this.#entries.get(key);
    return entry !== undefined && this.#isFresh(entry) ? entry.loaded?.value : undefined;
  }

  /** Loads at most once at a time for a key. `load` gets the value that has expired. */
  get(key: Key, load: (stale: Value | undefined) => Promise<Value>): Promise<Value> {
    const known = this.#entries.get(key);
    if (known !== undefined && this.#isFresh(known)) return known.loading;
    const startedAt = this.#clock();
    const ttlMs = typeof this.#ttlMs === 'number' ? this.#ttlMs : Number.POSITIVE_INFINITY;
    const entry = { startedAt, ttlMs, loaded: undefined, loading: load(known?.loaded?.value) };
    this.#insert(key, entry);
    entry.loading.then(
      (value) => this.#onLoaded(key, entry, value),
      () => this.#drop(key, entry),
    );
    return entry.loading;
  }

  set(key: Key, value: Value): void {
    const ttlMs = typeof this.#ttlMs === 'number' ? this.#ttlMs : this.#ttlMs(0);
    this.#insert(key, { startedAt: this.#clock(), ttlMs, loaded: { value }, loading: Promise.resolve(value) });
    this.#dropOldest();
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  /** Drops the values that have expired: the others leave memory only when newer ones displace them. */
  dropExpired(): void {
    for (const [key, entry] of this.#entries) {
      if (this.#isFresh(entry)) return;
      this.#entries.delete(key);
    }
  }

  /** An entry from the future was created before the clock was set back. */
  #isFresh({ startedAt, ttlMs }: Entry<Value>): boolean {
    if (ttlMs === Number.POSITIVE_INFINITY) return true;
    const age = this.#clock() - startedAt;
    return age >= 0 && age < ttlMs;
  }

  #insert(key: Key, entry: Entry<Value>): void {
    this.#entries.delete(key);
    this.#entries.set(key, entry);
  }

  #onLoaded(key: Key, entry: Entry<Value>, value: Value): void {
    if (!this.#isCacheable(value)) {
      this.#drop(key, entry);
      return;
    }
    entry.loaded = { value };
    this.#dropOldest();
    if (typeof this.#ttlMs === 'number') return;
    const tookMs = Math.max(0, this.#clock() - entry.startedAt);
    entry.ttlMs = tookMs + this.#ttlMs(tookMs);
  }

  /** Called only for cached values, so that loads of keys that do not exist displace none. */
  #dropOldest(): void {
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#max && oldest !== undefined) this.#entries.delete(oldest);
  }

  /** A newer load of the key remains. */
  #drop(key: Key, entry: Entry<Value>): void {
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
  }
}

const MIN_COUNT_TTL_MS = 10_000;
const COST_FACTOR = 100;

/**
 * Caches a count for 10 seconds, or for 100 times as long as it took, so that counting uses at most 1 % of the time.
 */
export const costAwareTtl = (tookMs: number): number => Math.max(MIN_COUNT_TTL_MS, tookMs * COST_FACTOR);

/**
 * How long settings and configurations are cached: less than the 5 seconds within which a change is valid on every
 * node.
 */
export const SETTINGS_TTL_MS = 2000;
export const MAX_CACHED_TENANTS = 10_000;
