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
/**
 * Digests are kept in pages of 100 adjacent values, 400 bytes each, so that the memory of a tenant follows its cards. All
 * caches of one tenant take at most 200 kB: 40 for last four, 60 for BINs and some 80 for tags of the greatest length.
 */
const DIGESTS_PER_PAGE = 100;
const MAX_PAGES = 150;
const MAX_CACHED_TAGS = 100;
const LAST_BYTE = 0xff;

/** Returns a value of `search` with another fingerprint of the same card number. */
export function replaceFingerprintPart(search: Uint8Array, panFingerprint: Uint8Array): Uint8Array {
  const replaced = search.slice();
  for (let index = 0; index < FINGERPRINT_BYTES; index++)
    replaced[2 * DIGITS_BYTES + index] = panFingerprint[index] ?? 0;
  return replaced;
}

/** The blind indexes of one tenant. */
export class BlindIndex {
  readonly #key: KeyObject;
  /** Pages of digests by last four; zero until computed, and above 2^24 afterwards. */
  readonly #lastFours = new Map<number, Uint32Array>();
  /** The same by first six. */
  readonly #bins = new Map<number, Uint32Array>();
  readonly #tags = new Map<string, Uint8Array>();

  constructor(key: KeyObject) {
    this.#key = key;
  }

  /** Returns the value of `search`: last four, first six, fingerprint. */
  search(pan: string, panFingerprint: Uint8Array): Uint8Array {
    const bytes = new Uint8Array(SEARCH_BYTES);
    writeDigits(bytes, 0, this.#lastFour(pan.slice(-LAST_DIGITS)));
    writeDigits(bytes, DIGITS_BYTES, this.#bin(pan.slice(0, BIN_DIGITS)));
    for (let index = 0; index < FINGERPRINT_BYTES; index++)
      bytes[2 * DIGITS_BYTES + index] = panFingerprint[index] ?? 0;
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
    const known = this.#tags.get(text);
    if (known !== undefined) return known;
    if (this.#tags.size >= MAX_CACHED_TAGS) this.#tags.clear();
    const digest = fingerprint(this.#key, `tag:${text}`).slice(0, TAG_BYTES);
    this.#tags.set(text, digest);
    return digest;
  }

  /** Returns the blind indexes of tags, each once: tags that differ only in what Unicode cannot express have one digest. */
  tags(texts: readonly string[]): Uint8Array[] {
    const distinct: Uint8Array[] = [];
    for (const text of texts) {
      const tag = this.tag(text);
      if (!distinct.some((other) => Buffer.compare(other, tag) === 0)) distinct.push(tag);
    }
    return distinct;
  }

  #lastFour(digits: string): number {
    return this.#cached(this.#lastFours, 'last-four', digits);
  }

  #bin(firstSix: string): number {
    return this.#cached(this.#bins, 'bin', firstSix);
  }

  #cached(pages: Map<number, Uint32Array>, name: string, digits: string): number {
    const value = Number(digits);
    const number = Math.floor(value / DIGESTS_PER_PAGE);
    let page = pages.get(number);
    if (page === undefined) {
      if (pages.size >= MAX_PAGES) pages.clear();
      page = new Uint32Array(DIGESTS_PER_PAGE);
      pages.set(number, page);
    }
    const index = value % DIGESTS_PER_PAGE;
    const known = page[index] ?? 0;
    if (known !== 0) return known - COMPUTED;
    const digest = readDigits(fingerprint(this.#key, `${name}:${digits}`), 0);
    page[index] = digest + COMPUTED;
    return digest;
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
