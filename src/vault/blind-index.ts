import { type DigestKey, type DigestKeys, versionByte, withVersion } from '../crypto/digest-keys.ts';
import { fingerprint } from '../crypto/fingerprint.ts';
import { toOwnMemory } from '../kernel/own-memory.ts';

/**
 * Blind indexes: keyed digests of first six, last four and tags, by which tokens are found. The database shows which
 * tokens share a value, but not the value. The digests are short, so a search unseals the records that it finds and
 * drops those that differ. Each begins with the byte of the version of its key, and a search looks for those of every version.
 */
export const BIN_DIGITS = 6;
const LAST_DIGITS = 4;

const TAG_BYTES = 8;
/** Bytes of the digests of first six and last four. */
const DIGITS_BYTES = 3;
/** Bytes of the fingerprint, so that only few tokens of one BIN and last four share a `search`. */
const FINGERPRINT_BYTES = 2;
/** Places in `search`: the version, last four, first six, fingerprint. */
const LAST_FOUR_AT = 1;
const BIN_AT = LAST_FOUR_AT + DIGITS_BYTES;
const FINGERPRINT_AT = BIN_AT + DIGITS_BYTES;
const SEARCH_BYTES = FINGERPRINT_AT + FINGERPRINT_BYTES;
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
  // A buffer's slice would share its memory with the value that was read.
  const replaced = Uint8Array.from(search);
  for (let index = 0; index < FINGERPRINT_BYTES; index++) replaced[FINGERPRINT_AT + index] = panFingerprint[index] ?? 0;
  return replaced;
}

/** The blind indexes of one tenant, under every version of their key. */
export class BlindIndexes {
  readonly #keys: DigestKeys;
  readonly #byVersion = new Map<number, BlindIndex>();

  constructor(keys: DigestKeys) {
    this.#keys = keys;
  }

  /** Await it before uses that follow a pause. */
  async refresh(): Promise<this> {
    await this.#keys.refreshSoon();
    return this;
  }

  /** The index of new rows. */
  get current(): BlindIndex {
    return this.#ofVersion(this.#keys.current);
  }

  /** The indexes under which rows may be, the current one first. */
  get all(): BlindIndex[] {
    const { versions } = this.#keys;
    const isKnown = (known: number): boolean => versions.some(({ version }) => version === known);
    for (const version of this.#byVersion.keys()) if (!isKnown(version)) this.#byVersion.delete(version);
    return versions.map((key) => this.#ofVersion(key));
  }

  /** Returns the tags of a text under every version. */
  listTags(text: string): Uint8Array[] {
    return this.all.map((index) => index.tag(text));
  }

  /** Returns a test of `search` for card numbers with these first six digits. */
  binTest(firstSix: string): (search: Uint8Array | undefined) => boolean {
    const tests = this.all.map((index) => index.binTest(firstSix));
    return (search) => tests.some((isOfBin) => isOfBin(search));
  }

  #ofVersion(key: DigestKey): BlindIndex {
    const known = this.#byVersion.get(key.version);
    if (known !== undefined) return known;
    const index = new BlindIndex(key);
    this.#byVersion.set(key.version, index);
    return index;
  }
}

/** The blind indexes of one tenant under one version of their key. */
export class BlindIndex {
  readonly #key: DigestKey;
  /** Pages of digests by last four; zero until computed, and above 2^24 afterwards. */
  readonly #lastFours = new Map<number, Uint32Array>();
  /** The same by first six. */
  readonly #bins = new Map<number, Uint32Array>();
  readonly #tags = new Map<string, Uint8Array>();

  constructor(key: DigestKey) {
    this.#key = key;
  }

  /** True for an index under this version. */
  hasMade(index: Uint8Array): boolean {
    return index[0] === versionByte(this.#key.version);
  }

  /** Returns the value of `search`: the version, last four, first six, fingerprint. */
  search(pan: string, panFingerprint: Uint8Array): Uint8Array {
    const bytes = this.#newSearch();
    writeDigits(bytes, LAST_FOUR_AT, this.#lastFour(pan.slice(-LAST_DIGITS)));
    writeDigits(bytes, BIN_AT, this.#bin(pan.slice(0, BIN_DIGITS)));
    for (let index = 0; index < FINGERPRINT_BYTES; index++) bytes[FINGERPRINT_AT + index] = panFingerprint[index] ?? 0;
    return bytes;
  }

  /** Returns the smallest and the greatest value of `search` of card numbers with these last four digits. */
  lastFourBounds(digits: string): [from: Uint8Array, to: Uint8Array] {
    const from = this.#newSearch();
    writeDigits(from, LAST_FOUR_AT, this.#lastFour(digits));
    return [from, from.slice().fill(LAST_BYTE, BIN_AT)];
  }

  /** Returns a test of `search` for card numbers with these first six digits. */
  binTest(firstSix: string): (search: Uint8Array | undefined) => boolean {
    const expected = this.#bin(firstSix);
    return (search) =>
      search?.length === SEARCH_BYTES && this.hasMade(search) && readDigits(search, BIN_AT) === expected;
  }

  tag(text: string): Uint8Array {
    const known = this.#tags.get(text);
    if (known !== undefined) return known;
    if (this.#tags.size >= MAX_CACHED_TAGS) this.#tags.clear();
    const digest = withVersion(this.#key, fingerprint(this.#key.key, `tag:${text}`).subarray(0, TAG_BYTES));
    this.#tags.set(toOwnMemory(text), digest);
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

  #newSearch(): Uint8Array {
    const bytes = new Uint8Array(SEARCH_BYTES);
    bytes[0] = versionByte(this.#key.version);
    return bytes;
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
    const digest = readDigits(fingerprint(this.#key.key, `${name}:${digits}`), 0);
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
