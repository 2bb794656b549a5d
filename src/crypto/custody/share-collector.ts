import type { MonotonicClock } from '../../kernel/clock.ts';
import { LIMITS } from '../../kernel/limits.ts';
import { subscriberNetwork } from '../../kernel/network.ts';
import { CustodyError, type RootKeys } from '../custody.ts';
import { openWithIdentity, readCustodiansFile, shareCheckValue } from './custodians-file.ts';

/** A share as a custodian gives it. */
export interface GivenShare {
  readonly ceremony: string;
  readonly index: number;
  /** Cleared by the collector. */
  readonly share: Uint8Array;
}

/** How far unsealing has come. */
export interface UnsealProgress {
  readonly threshold: number;
  /** Indexes of the shares in memory, in the order in which they arrived. */
  readonly given: readonly number[];
  readonly isUnsealed: boolean;
}

/** The shares that opened the root key, for the audit log. */
export interface UnsealRecord {
  readonly ceremony: string;
  /** `INDEX NAME by SOURCE` of each share. */
  readonly shares: readonly string[];
  /** Number of shares that were rejected. */
  readonly rejected: number;
}

export interface Unsealing {
  readonly roots: RootKeys;
  readonly record: UnsealRecord;
}

interface HeldShare {
  readonly share: Uint8Array;
  readonly source: string;
}

interface CollectorOptions {
  /** The root key file of the custodians. */
  readonly file: string;
  readonly group: number | undefined;
  readonly clock: MonotonicClock;
}

/** Counts wrong shares by source, until none was given for `unsealMs`. Times are in milliseconds. */
class WrongShares {
  readonly #bySource = new Map<string, number>();
  #lastAt = Number.NEGATIVE_INFINITY;

  /** True when the source gave too many, or when no further source is counted. */
  isLimited(source: string, now: number): boolean {
    const counts = this.#bySource;
    if (now - this.#lastAt > LIMITS.unsealMs) counts.clear();
    const isFull = counts.size >= LIMITS.unsealSources && !counts.has(source);
    return isFull || (counts.get(source) ?? 0) >= LIMITS.unsealFailures;
  }

  add(source: string, now: number): void {
    this.#lastAt = now;
    this.#bySource.set(source, (this.#bySource.get(source) ?? 0) + 1);
  }
}

/**
 * Gathers shares until they open the root key. A wrong share is rejected alone, by its check value. Shares are cleared
 * when they were combined, and when too much time has passed since the first one. Each source has a limited number of
 * wrong shares. A source is `socket USER` or `tls ADDRESS`.
 */
export class ShareCollector {
  readonly #options: CollectorOptions;
  readonly #held = new Map<number, HeldShare>();
  /** The socket has its own counts, because an attacker in the network may have more addresses than are counted. */
  readonly #wrong = { socket: new WrongShares(), network: new WrongShares() };
  #firstAt = 0;
  #rejected = 0;

  constructor(options: CollectorOptions) {
    this.#options = options;
  }

  get progress(): UnsealProgress {
    this.clearOld();
    const { ceremony } = this.#readFile();
    return { threshold: ceremony.threshold, given: [...this.#held.keys()], isUnsealed: false };
  }

  /** Returns the root key once enough shares were given. Throws `CustodyError` for a share that does not count. */
  async add({ ceremony: id, index, share }: GivenShare, source: string): Promise<Unsealing | undefined> {
    const { ceremony } = this.#readFile();
    this.clearOld();
    this.#assertMayTry(source);
    const custodian = ceremony.custodians.find((each) => each.index === index);
    const isRight =
      custodian !== undefined && id === ceremony.id && custodian.check === shareCheckValue(id, index, share);
    if (!isRight) {
      share.fill(0);
      this.#reject(source);
      throw new CustodyError(
        id === ceremony.id
          ? `share ${index} is wrong: its check value does not match`
          : `share ${index} is of another ceremony`,
      );
    }
    if (this.#held.size === 0) this.#firstAt = this.#options.clock();
    this.#held.get(index)?.share.fill(0);
    this.#held.set(index, { share, source });
    return this.#held.size < ceremony.threshold ? undefined : this.#combine();
  }

  /** Clears shares whose time has passed; called periodically. */
  clearOld(): void {
    if (this.#held.size > 0 && this.#options.clock() - this.#firstAt > LIMITS.unsealMs) this.clear();
  }

  clear(): void {
    for (const { share } of this.#held.values()) share.fill(0);
    this.#held.clear();
  }

  #readFile() {
    const { file, group } = this.#options;
    return readCustodiansFile(file, group);
  }

  async #combine(): Promise<Unsealing> {
    const { file, group } = this.#options;
    const { ceremony } = this.#readFile();
    // A share that is given again meanwhile belongs to another attempt, and must not clear one of these.
    const held = [...this.#held];
    this.#held.clear();
    const identity = await combineShares(held.map(([, { share }]) => share));
    try {
      const roots = await openWithIdentity(file, identity, group);
      const nameOf = (index: number): string => ceremony.custodians[index - 1]?.name ?? '';
      const shares = held.map(([index, { source }]) => `${index} ${nameOf(index)} by ${source}`);
      return { roots, record: { ceremony: ceremony.id, shares, rejected: this.#rejected } };
    } finally {
      identity.fill(0);
    }
  }

  #assertMayTry(source: string): void {
    if (this.#wrongBeside(source).isLimited(toCountedSource(source), this.#options.clock()))
      throw new CustodyError(`too many wrong shares; try again in ${LIMITS.unsealMs / 60_000} minutes`);
  }

  #reject(source: string): void {
    this.#rejected++;
    this.#wrongBeside(source).add(toCountedSource(source), this.#options.clock());
  }

  /** Returns the counts of the sources that share a limit with this one. */
  #wrongBeside(source: string): WrongShares {
    return this.#wrong[source.startsWith('socket ') ? 'socket' : 'network'];
  }
}

/** Returns the user of the socket, or the network of the address: a subscriber has 2^64 addresses of IPv6. */
function toCountedSource(source: string): string {
  const [, address] = /^tls (.+)$/.exec(source) ?? [];
  if (address === undefined) return source;
  // A listener of both kinds names an IPv4 address in the first form; all of these would be one network of IPv6.
  return subscriberNetwork(address.replace(/^::ffff:(?=[0-9.]+$)/i, '').replace(/%.*$/, ''));
}

/** Clears the shares. */
async function combineShares(shares: Uint8Array[]): Promise<Uint8Array> {
  try {
    const { combine } = await import('shamir-secret-sharing');
    return await combine(shares);
  } finally {
    for (const share of shares) share.fill(0);
  }
}
