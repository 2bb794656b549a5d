import { Failure } from './failure.ts';
import { LIMITS } from './limits.ts';

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
export type Spans = ReadonlyMap<string, readonly [number, number]>;

/** A string that is a value, not a key. */
export interface TextValue {
  readonly value: string;
  /** The position of its quoted form in the text, as [start, end). */
  readonly start: number;
  readonly end: number;
  /** The keys and indices that lead to the value. The array changes after the call. */
  readonly path: readonly (string | number)[];
}

/** Parses JSON. Throws `malformed_json`, which states the position of the fault and nothing of the text. */
export function parseJson(text: string, onText?: (found: TextValue) => void): { value: Json; spans: Spans } {
  const parser = new JsonParser(text, onText);
  return { value: parser.document(), spans: parser.spans };
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const PLAIN_TEXT = /[^"\\\u0000-\u001f]*/y;
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

class JsonParser {
  readonly spans = new Map<string, readonly [number, number]>();
  readonly #text: string;
  readonly #onText: ((found: TextValue) => void) | undefined;
  readonly #path: (string | number)[] = [];
  #at = 0;
  #depth = 0;
  #values = 0;

  constructor(text: string, onText: ((found: TextValue) => void) | undefined) {
    this.#text = text;
    this.#onText = onText;
  }

  document(): Json {
    const value = this.#value();
    this.#skipBlanks();
    if (this.#at < this.#text.length) throw this.#fault('expected the end of the body');
    return value;
  }

  #value(): Json {
    this.#skipBlanks();
    if (++this.#values > LIMITS.jsonValues) throw this.#fault(`more than ${LIMITS.jsonValues} values`);
    switch (this.#text[this.#at]) {
      case '{':
        return this.#nested(() => this.#object());
      case '[':
        return this.#nested(() => this.#array());
      case '"':
        return this.#textValue();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #textValue(): string {
    const start = this.#at;
    const value = this.#string();
    this.#onText?.({ value, start, end: this.#at, path: this.#path });
    return value;
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > LIMITS.jsonDepth) throw this.#fault(`nested deeper than ${LIMITS.jsonDepth} levels`);
    this.#at++;
    const value = read();
    this.#at++;
    this.#depth--;
    return value;
  }

  #object(): { [key: string]: Json } {
    const object: { [key: string]: Json } = {};
    if (this.#peek() === '}') return object;
    for (;;) {
      if (this.#peek() !== '"') throw this.#fault('expected a key');
      const keyAt = this.#at;
      const key = this.#string();
      if (Object.hasOwn(object, key)) {
        this.#at = keyAt;
        throw this.#fault('duplicate key');
      }
      if (this.#peek() !== ':') throw this.#fault('expected a colon');
      this.#at++;
      this.#skipBlanks();
      const start = this.#at;
      this.#path.push(key);
      const value = this.#value();
      this.#path.pop();
      if (this.#depth === 1) this.spans.set(key, [start, this.#at]);
      // An assignment to `__proto__` would change the object instead of adding a member.
      if (key === '__proto__') Object.defineProperty(object, key, { value, enumerable: true, configurable: true });
      else object[key] = value;
      if (!this.#continues('}')) return object;
    }
  }

  #array(): Json[] {
    const array: Json[] = [];
    if (this.#peek() === ']') return array;
    do {
      this.#path.push(array.length);
      array.push(this.#value());
      this.#path.pop();
    } while (this.#continues(']'));
    return array;
  }

  #continues(close: string): boolean {
    const sign = this.#peek();
    if (sign === close) return false;
    if (sign !== ',') throw this.#fault(`expected a comma or ${close}`);
    this.#at++;
    return true;
  }

  #string(): string {
    let value = '';
    this.#at++;
    for (;;) {
      PLAIN_TEXT.lastIndex = this.#at;
      PLAIN_TEXT.test(this.#text);
      const plain = this.#text.slice(this.#at, PLAIN_TEXT.lastIndex);
      this.#at = PLAIN_TEXT.lastIndex + 1;
      const stop = this.#text[this.#at - 1];
      value = value === '' ? plain : value + plain;
      if (stop === '"') return value;
      if (stop !== '\\') {
        this.#at--;
        throw this.#fault(stop === undefined ? 'unterminated string' : 'control character in a string');
      }
      value += this.#escape();
    }
  }

  #escape(): string {
    const letter = this.#text[this.#at] ?? '';
    if (letter === 'u') {
      const digits = this.#text.slice(this.#at + 1, this.#at + 5);
      if (!/^[0-9a-fA-F]{4}$/.test(digits)) throw this.#fault('malformed escape');
      this.#at += 5;
      return String.fromCharCode(Number.parseInt(digits, 16));
    }
    const character = Object.hasOwn(ESCAPED, letter) ? ESCAPED[letter] : undefined;
    if (character === undefined) throw this.#fault('malformed escape');
    this.#at++;
    return character;
  }

  #number(): Json {
    NUMBER.lastIndex = this.#at;
    const [literal, fraction, exponent] = NUMBER.exec(this.#text) ?? [];
    if (literal === undefined) throw this.#fault('expected a value');
    this.#at += literal.length;
    const number = Number(literal);
    const exact =
      fraction === undefined && exponent === undefined && Number.isSafeInteger(number) && !Object.is(number, -0);
    return exact ? number : rawJSON(literal);
  }

  #word<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#fault('expected a value');
    this.#at += word.length;
    return value;
  }

  #peek(): string | undefined {
    this.#skipBlanks();
    return this.#text[this.#at];
  }

  #skipBlanks(): void {
    if (this.#text.charCodeAt(this.#at) > 32) return;
    BLANKS.lastIndex = this.#at;
    BLANKS.test(this.#text);
    this.#at = BLANKS.lastIndex;
  }

  #fault(what: string): Failure {
    return new Failure('malformed_json', { message: `malformed JSON at character ${this.#at + 1}: ${what}` });
  }
}
