import type { Clock, Random } from './clock.ts';

const LETTERS = '0123456789abcdefghijkmnpqrstuvwxyz';

/** Returns `prefix_` and `length` random characters that are clear when read aloud (no l, no o). */
export function newId(prefix: string, length: number, random: Random): string {
  let id = `${prefix}_`;
  for (let index = 0; index < length; index++) id += LETTERS[random.below(LETTERS.length)];
  return id;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Returns a UUID version 4 (RFC 9562 5.4), lower case. */
export function newUuid(random: Random): string {
  const bytes = random.bytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  let id = '';
  for (let index = 0; index < 16; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) id += '-';
    id += HEX[bytes[index] ?? 0];
  }
  return id;
}

/** Matches a UUID version 4 as this service writes it. */
export const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text);

const LATIN = 'abcdefghijklmnopqrstuvwxyz';
const TIME_LETTERS = 10;
const COUNT_LETTERS = 3;
const RANDOM_LETTERS = 12;
const MAX_SUFFIX = '~';

/**
 * Ids that sort as text by time (as ULIDs do), strictly ascending within a process. They have letters only, so that no
 * id looks like a card number.
 */
export class MonotonicIds {
  readonly #clock: Clock;
  readonly #random: Random;
  #at = 0;
  #count = 0;

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  next(): string {
    const now = this.#clock();
    if (now > this.#at) {
      this.#at = now;
      this.#count = 0;
    } else if (++this.#count >= LATIN.length ** COUNT_LETTERS) {
      this.#at++;
      this.#count = 0;
    }
    let id = encodeBase26(this.#at, TIME_LETTERS) + encodeBase26(this.#count, COUNT_LETTERS);
    for (let index = 0; index < RANDOM_LETTERS; index++) id += LATIN[this.#random.below(LATIN.length)];
    return id;
  }
}

/** Returns the lowest id of this time: it sorts behind all earlier ids and before or with all others. */
export const minIdAt = (time: number): string =>
  time < LATIN.length ** TIME_LETTERS ? encodeBase26(Math.max(0, Math.ceil(time)), TIME_LETTERS) : MAX_SUFFIX;

/** Returns the time of an id's creation in milliseconds. */
export function parseIdTime(id: string): number {
  let time = 0;
  for (const letter of id.slice(0, TIME_LETTERS)) time = time * LATIN.length + LATIN.indexOf(letter);
  return time;
}

function encodeBase26(number: number, letters: number): string {
  let text = '';
  for (let rest = number; text.length < letters; rest = Math.floor(rest / LATIN.length))
    text = `${LATIN[rest % LATIN.length]}${text}`;
  return text;
}
