import { Failure } from './failure.ts';
import { LIMITS } from './limits.ts';
import { explain, type Reason, type ValuesArgument } from './reasons.ts';
import { positionAt } from './text-position.ts';

/**
 * A value of JSON (RFC 8259), parsed so that nothing is lost and nothing is ambiguous: a number that a JavaScript
 * number would change (fractions, exponents, beyond 2^53-1) is preserved as it was written. The parser rejects
 * duplicate keys and deep nesting.
 */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json } | ExactNumber;

/** A number preserved as written; `JSON.stringify` writes it back unchanged. */
export interface ExactNumber {
  readonly rawJSON: string;
}

const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
};

/** Returns a number of exactly these digits. */
export const exactNumber = (digits: string): ExactNumber => rawJSON(digits);

export const isExactNumber = (value: unknown): value is ExactNumber => isRawJSON(value);

export const isJsonObject = (value: unknown): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJSON(value);

/** The position in the text of each member's value of the outermost object, as [start, end). */
type Spans = ReadonlyMap<string, readonly [number, number]>;

/** A string that is a value, not a key. */
export interface TextValue {
  readonly value: string;
  /** The position of its quoted form in the text, as [start, end). */
  readonly start: number;
  readonly end: number;
  /** The keys and indices that lead to the value. The array changes after the call. */
  readonly path: readonly (string | number)[];
}

/**
 * Parses JSON. Throws `malformed_json`, which states the position of the fault and nothing of the text. `onText` gets each
 * string that is a value.
 */
export const parseJson = (text: string, onText?: (found: TextValue) => void): Json =>
  new JsonParser(text, { onText }).document();

/** Locates the members of the outermost object. Throws `malformed_json`. */
export function locateMembers(text: string): Spans {
  const spans = new Map<string, readonly [number, number]>();
  new JsonParser(text, { spans }).document();
  return spans;
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const BLANKS = /[ \t\r\n]*/y;
const ESCAPED: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const LEFT_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const RIGHT_BRACKET = 0x5d;
const LETTER_F = 0x66;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;
const LEFT_BRACE = 0x7b;
const RIGHT_BRACE = 0x7d;

/** Results beside the value. Most callers want none of them. */
interface Findings {
  readonly onText?: ((found: TextValue) => void) | undefined;
  readonly spans?: Map<string, readonly [number, number]>;
}

class JsonParser {
  readonly #text: string;
  readonly #onText: ((found: TextValue) => void) | undefined;
  readonly #spans: Map<string, readonly [number, number]> | undefined;
  readonly #path: (string | number)[] = [];
  #at = 0;
  #depth = 0;
  #values = 0;

  constructor(text: string, { onText, spans }: Findings) {
    this.#text = text;
    this.#onText = onText;
    this.#spans = spans;
  }

  document(): Json {
    const value = this.#value();
    this.#skipBlanks();
    if (this.#at < this.#text.length) throw this.#fault('jsonEnd');
    return value;
  }

  #value(): Json {
    this.#skipBlanks();
    if (++this.#values > LIMITS.jsonValues) throw this.#fault('tooManyValues', { max: LIMITS.jsonValues });
    switch (this.#text.charCodeAt(this.#at)) {
      case LEFT_BRACE:
        return this.#object();
      case LEFT_BRACKET:
        return this.#array();
      case QUOTE:
        return this.#textValue();
      case LETTER_T:
        return this.#word('true', true);
      case LETTER_F:
        return this.#word('false', false);
      case LETTER_N:
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  /** Keeps the path, which only `onText` reads. */
  #valueAt(step: string | number): Json {
    if (this.#onText === undefined) return this.#value();
    this.#path.push(step);
    const value = this.#value();
    this.#path.pop();
    return value;
  }

  #textValue(): string {
    const start = this.#at;
    const value = this.#string();
    this.#onText?.({ value, start, end: this.#at, path: this.#path });
    return value;
  }

  #descend(): void {
    if (++this.#depth > LIMITS.jsonDepth) throw this.#fault('tooDeep', { max: LIMITS.jsonDepth });
    this.#at++;
  }

  #ascend(): void {
    this.#at++;
    this.#depth--;
  }

  #object(): { [key: string]: Json } {
    const object: { [key: string]: Json } = {};
    this.#descend();
    if (this.#peek() !== RIGHT_BRACE) {
      do this.#member(object);
      while (this.#continues(RIGHT_BRACE));
    }
    this.#ascend();
    return object;
  }

  #member(object: { [key: string]: Json }): void {
    if (this.#peek() !== QUOTE) throw this.#fault('jsonKey');
    const keyAt = this.#at;
    const key = this.#string();
    if (Object.hasOwn(object, key)) {
      this.#at = keyAt;
      throw this.#fault('jsonDuplicateKey');
    }
    if (this.#peek() !== COLON) throw this.#fault('jsonColon');
    this.#at++;
    this.#skipBlanks();
    const start = this.#at;
    const value = this.#valueAt(key);
    if (this.#depth === 1) this.#spans?.set(key, [start, this.#at]);
    // An assignment to `__proto__` would change the object instead of adding a member.
    if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true });
    else object[key] = value;
  }

  #array(): Json[] {
    const array: Json[] = [];
    this.#descend();
    if (this.#peek() !== RIGHT_BRACKET) {
      do {
        array.push(this.#valueAt(array.length));
      } while (this.#continues(RIGHT_BRACKET));
    }
    this.#ascend();
    return array;
  }

  #continues(close: number): boolean {
    const sign = this.#peek();
    if (sign === close) return false;
    if (sign !== COMMA) throw this.#fault('jsonComma', { close: String.fromCharCode(close) });
    this.#at++;
    return true;
  }

  #string(): string {
    const text = this.#text;
    let value = '';
    for (;;) {
      const start = this.#at + 1;
      let end = start;
      let code = text.charCodeAt(end);
      while (code >= SPACE && code !== QUOTE && code !== BACKSLASH) code = text.charCodeAt(++end);
      this.#at = end;
      if (code === QUOTE) {
        this.#at++;
        return value === '' ? text.slice(start, end) : value + text.slice(start, end);
      }
      if (code !== BACKSLASH) throw this.#fault(end >= text.length ? 'jsonUnterminated' : 'jsonControlCharacter');
      value += text.slice(start, end) + this.#escape();
    }
  }

  /** Stops at the last character of the escape. */
  #escape(): string {
    const letter = this.#text[++this.#at] ?? '';
    if (letter === 'u') {
      const digits = this.#text.slice(this.#at + 1, this.#at + 5);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.#fault('jsonEscape');
      this.#at += 4;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    const character = Object.hasOwn(ESCAPED, letter) ? ESCAPED[letter] : undefined;
    if (character === undefined) throw this.#fault('jsonEscape');
    return character;
  }

  #number(): Json {
    NUMBER.lastIndex = this.#at;
    const [literal, fraction, exponent] = NUMBER.exec(this.#text) ?? [];
    if (literal === undefined) throw this.#fault('expectedValue');
    this.#at += literal.length;
    const number = Number(literal);
    const exact =
      fraction === undefined && exponent === undefined && Number.isSafeInteger(number) && !Object.is(number, -0);
    return exact ? number : rawJSON(literal);
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#fault('expectedValue');
    this.#at += word.length;
    return value;
  }

  /** Returns the code of the next character that is not blank; NaN at the end. */
  #peek(): number {
    this.#skipBlanks();
    return this.#text.charCodeAt(this.#at);
  }

  #skipBlanks(): void {
    if (this.#text.charCodeAt(this.#at) > SPACE) return;
    BLANKS.lastIndex = this.#at;
    BLANKS.test(this.#text);
    this.#at = BLANKS.lastIndex;
  }

  #fault<R extends Reason>(reason: R, ...values: ValuesArgument<R>): Failure {
    const problem = explain(reason, ...values);
    const position = positionAt(this.#text, this.#at);
    return new Failure('malformed_json', explain('malformedJson', { character: this.#at + 1, problem, ...position }));
  }
}
