import type { KeyObject } from 'node:crypto';
import { fingerprint } from '../crypto/fingerprint.ts';

/**
 * Blind indexes: keyed digests of first six, last four and tags, by which tokens are found. The database shows which
 * tokens share a value, but not the value. The digests are short, so a search unseals the records that it finds and
 * drops those that differ.
 */
export const BIN_DIGITS = 6;
const LAST_DIGITS = 4;

const TAG_BYTES = 8;
/** Bytes of the digests of first six and last four. */
const DIGITS_BYTES = 3;
/** Bytes of the fingerprint, so that only few tokens of one BIN and last four share a `search`. */
const FINGERPRINT_BYTES = 2;
const SEARCH_BYTES = 2 * DIGITS_BYTES + FINGERPRINT_BYTES;
const MAX_CACHED_BINS = 1000;
const LAST_BYTE = 0xff;

/** The blind indexes of one tenant. */
export class BlindIndex {
  readonly #key: KeyObject;
  /** Digests by last four; zero until computed, and above 2^24 afterwards. */
  readonly #lastFours = new Uint32Array(10 ** LAST_DIGITS);
  readonly #bins = new Map<string, number>();

  constructor(key: KeyObject) {
    this.#key = key;
  }

  /** Returns the value of `search`: last four, first six, fingerprint. */
  search(pan: string, panFingerprint: Uint8Array): Uint8Array {
    const bytes = new Uint8Array(SEARCH_BYTES);
    writeDigits(bytes, 0, this.#lastFour(pan.slice(-LAST_DIGITS)));
    writeDigits(bytes, DIGITS_BYTES, this.#bin(pan.slice(0, BIN_DIGITS)));
    bytes.set(panFingerprint.subarray(0, FINGERPRINT_BYTES), 2 * DIGITS_BYTES);
    return bytes;
  }

  /** Returns the smallest and the greatest value of `search` of card numbers with these last four digits. */
  lastFourBounds(digits: string): [from: Uint8Array, to: Uint8Array] {
    const from = new Uint8Array(SEARCH_BYTES);
    writeDigits(from, 0, this.#lastFour(digits));
    return [from, from.slice().fill(LAST_BYTE, DIGITS_BYTES)];
  }

  /** Returns a test of `search` for card numbers with these first six digits. */
  binTest(firstSix: string): (search: Uint8Array | undefined) => boolean {
    const expected = this.#bin(firstSix);
    return (search) => search?.length === SEARCH_BYTES && readDigits(search, DIGITS_BYTES) === expected;
  }

  tag(text: string): Uint8Array {
    return new Uint8Array(fingerprint(this.#key, `tag:${text}`).subarray(0, TAG_BYTES));
  }

  /**
   * Returns the blind indexes of tags, each once: tags that differ only in what Unicode cannot express have one digest.
   * `known` holds those that were computed before: tokens of one request share their tags.
   */
  tags(texts: readonly string[], known: Map<string, Uint8Array>): Uint8Array[] {
    const distinct = new Map<string, Uint8Array>();
    for (const text of texts) {
      const tag = known.get(text) ?? this.tag(text);
      known.set(text, tag);
      distinct.set(Buffer.from(tag).toString('latin1'), tag);
    }
    return [...distinct.values()];
  }

  #lastFour(digits: string): number {
    const index = Number(digits);
    const known = this.#lastFours[index] ?? 0;
    if (known !== 0) return known % COMPUTED;
    const digest = this.#digits(`last-four:${digits}`);
    this.#lastFours[index] = digest + COMPUTED;
    return digest;
  }

  #bin(firstSix: string): number {
    const known = this.#bins.get(firstSix);
    if (known !== undefined) return known;
    if (this.#bins.size >= MAX_CACHED_BINS) this.#bins.clear();
    const digest = this.#digits(`bin:${firstSix}`);
    this.#bins.set(firstSix, digest);
    return digest;
  }

  #digits(text: string): number {
    return readDigits(fingerprint(this.#key, text), 0);
  }
}

/** Above every digest of three bytes. */
const COMPUTED = 2 ** (8 * DIGITS_BYTES);

const readDigits = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);

function writeDigits(bytes: Uint8Array, at: number, digest: number): void {
  bytes[at] = digest >>> 16;
  bytes[at + 1] = digest >>> 8;
  bytes[at + 2] = digest;
}
