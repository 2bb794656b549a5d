import { LIMITS } from '../kernel/limits.ts';
import { type Explanation, explain, formatReason } from '../kernel/reasons.ts';

/**
 * `{{ token : detokenize|transaction [| extract:PART] [| date:FORMAT] [| encrypt] }}` (decisions: Placeholders). Blanks
 * are allowed around every word and separator; words are lower case.
 */
const PARTS = ['card', 'expiration', 'name', 'token', 'cvv'] as const;
const TOKEN_PARTS = PARTS.filter((part) => part !== 'cvv');
const DATE_FORMATS = ['MM/YYYY', 'MM/YY', 'MM', 'YYYY/MM', 'YYYY-MM', 'YYYY', 'YY'] as const;
const SOURCES = ['detokenize', 'transaction'] as const;

export type ExtractPart = (typeof PARTS)[number];
export type DateFormat = (typeof DATE_FORMATS)[number];

export interface Placeholder {
  readonly token: string;
  /** `detokenize` reads a permanent token, `transaction` a capture. */
  readonly source: (typeof SOURCES)[number];
  readonly part: ExtractPart;
  /** Set for the part `expiration` only. */
  readonly date: DateFormat | undefined;
  readonly encrypt: boolean;
}

/** A placeholder and its offsets in the text, [start, end). */
interface Occurrence {
  readonly placeholder: Placeholder;
  readonly start: number;
  readonly end: number;
}

/** A malformed placeholder and its offset. */
export class PlaceholderSyntaxError extends Error {
  override readonly name = 'PlaceholderSyntaxError';
  readonly explanation: Explanation;
  readonly at: number;
  /** Counts from 1, within this text. */
  readonly number: number;
  constructor(explanation: Explanation, at: number, number: number) {
    super(formatReason(explanation));
    this.explanation = explanation;
    this.at = at;
    this.number = number;
  }
}

/**
 * Returns all placeholders of a text, in order, at most `limit`. `{{` must start one; `}}` alone is text. Throws
 * `PlaceholderSyntaxError`.
 */
export function findPlaceholders(text: string, limit: number = LIMITS.placeholders): Occurrence[] {
  const found: Occurrence[] = [];
  for (let start = text.indexOf('{{'); start >= 0; start = text.indexOf('{{', found.at(-1)?.end)) {
    const number = found.length + 1;
    if (number > limit)
      throw new PlaceholderSyntaxError(explain('placeholdersUpTo', { max: LIMITS.placeholders }), start, number);
    const parser = new Parser(text, start, number);
    const placeholder = parser.placeholder();
    found.push({ placeholder, start, end: parser.at });
  }
  return found;
}

const BLANKS = /[ \t\r\n]*/y;
const TOKEN = /[A-Za-z0-9-]+/y;
const WORD = /[a-z]+/y;
const DATE = /[A-Z]+(?:[/-][A-Z]+)?/y;

class Parser {
  at: number;
  readonly #text: string;
  readonly #number: number;

  constructor(text: string, start: number, number: number) {
    this.#text = text;
    this.at = start;
    this.#number = number;
  }

  placeholder(): Placeholder {
    this.#expect('{{');
    const token = this.#match(TOKEN, () => explain('placeholderToken', { begin: '{{' }));
    this.#expect(':');
    const source = this.#oneOf(SOURCES);
    let part: ExtractPart | undefined;
    let date: DateFormat | undefined;
    let encrypt = false;
    while (this.#peek('|')) {
      this.#expect('|');
      this.#skipBlanks();
      const at = this.at;
      const filter = this.#oneOf(['extract', 'date', 'encrypt']);
      const isInOrder = !encrypt && (filter === 'encrypt' || (date === undefined && (filter === 'date' || !part)));
      if (!isInOrder) throw this.#error(explain('filterOrder'), at);
      if (filter === 'encrypt') encrypt = true;
      else this.#expect(':');
      if (filter === 'extract') part = this.#part(source);
      if (filter === 'date') date = this.#date(part, at);
    }
    if (!this.#peek('}}')) throw this.#error(explain('placeholderEnd', { end: '}}' }), this.at);
    this.at += '}}'.length;
    return { token, source, part: part ?? 'card', date, encrypt };
  }

  #part(source: Placeholder['source']): ExtractPart {
    this.#skipBlanks();
    const at = this.at;
    const part = this.#oneOf(PARTS, source === 'transaction' ? PARTS : TOKEN_PARTS);
    if (part === 'cvv' && source === 'detokenize') throw this.#error(explain('cvvOfCaptures'), at);
    return part;
  }

  #date(part: ExtractPart | undefined, filterAt: number): DateFormat {
    if (part !== 'expiration') throw this.#error(explain('dateOfExpiration'), filterAt);
    this.#skipBlanks();
    const at = this.at;
    const expectation = () => explain('placeholderWord', { words: DATE_FORMATS.join(', ') });
    const format = this.#match(DATE, expectation);
    const known = DATE_FORMATS.find((each) => each === format);
    if (known === undefined) throw this.#error(expectation(), at);
    return known;
  }

  /** The error lists `listed` when the word is none of them. */
  #oneOf<W extends string>(words: readonly W[], listed: readonly W[] = words): W {
    this.#skipBlanks();
    const at = this.at;
    const expectation = () => explain('placeholderWord', { words: listed.join(', ') });
    const word = this.#match(WORD, expectation);
    const known = words.find((each) => each === word);
    if (known === undefined) throw this.#error(expectation(), at);
    return known;
  }

  /** `expectation` is for the error, which few payloads cause. */
  #match(pattern: RegExp, expectation: () => Explanation): string {
    this.#skipBlanks();
    pattern.lastIndex = this.at;
    const [match] = pattern.exec(this.#text) ?? [];
    if (match === undefined) throw this.#error(expectation(), this.at);
    this.at += match.length;
    return match;
  }

  #expect(sign: string): void {
    if (!this.#peek(sign)) throw this.#error(explain('expectedSign', { sign }), this.at);
    this.at += sign.length;
  }

  #peek(sign: string): boolean {
    this.#skipBlanks();
    return this.#text.startsWith(sign, this.at);
  }

  #skipBlanks(): void {
    BLANKS.lastIndex = this.at;
    BLANKS.test(this.#text);
    this.at = BLANKS.lastIndex;
  }

  #error(explanation: Explanation, at: number): PlaceholderSyntaxError {
    return new PlaceholderSyntaxError(explanation, at, this.#number);
  }
}
