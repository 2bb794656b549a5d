import { type SaxesAttributeNS, SaxesParser, type SaxesTagNS } from 'saxes';
import { Failure } from '../../kernel/failure.ts';
import { LIMITS } from '../../kernel/limits.ts';
import { explain } from '../../kernel/reasons.ts';

/**
 * Exclusive XML Canonicalization 1.0 without comments (http://www.w3.org/2001/10/xml-exc-c14n#), without inclusive
 * namespaces, of an element without context. Expects what `parseDocument` accepts: well-formed, no DOCTYPE, no
 * processing instructions. Throws `malformed_xml` when the form is too long.
 */
export function canonicalElement(text: string): string {
  return new CanonicalWriter().write(text);
}

/** Escapes text for the canonical form. */
export const canonicalText = (text: string): string => text.replace(ESCAPED_IN_TEXT, escapeCharacter);

/** A declaration that was written, and the previous meaning of its prefix in the output (`undefined`: none). */
interface Declaration {
  readonly prefix: string;
  readonly uri: string;
  readonly outer: string | undefined;
}

class CanonicalWriter {
  #output = '';
  /**
   * Attributes of the start tag that is being read, without namespace declarations. The parser adds their `uri` at the
   * end of the tag.
   */
  #attributes: SaxesAttributeNS[] = [];
  /**
   * The present meaning of the prefixes in the output; changed and restored in place, as copies would take quadratic
   * time.
   */
  readonly #rendered = new Map<string, string | undefined>([
    ['', ''],
    ['xml', 'http://www.w3.org/XML/1998/namespace'],
  ]);
  /** Declarations of every open element. */
  readonly #declared: (readonly Declaration[])[] = [];

  write(text: string): string {
    const parser = new SaxesParser({ xmlns: true, position: false });
    // Six handlers at most: from the seventh on, V8 represents the parser as a dictionary, several times slower.
    parser.on('error', () => {
      // Not the parser's message, which quotes the document.
      throw new Error('a canonical form was asked for of what is no element');
    });
    parser.on('attribute', (attribute) => {
      if (attribute.prefix !== 'xmlns' && attribute.name !== 'xmlns') this.#attributes.push(attribute);
    });
    parser.on('opentag', (tag) => this.#open(tag));
    parser.on('closetag', (tag) => this.#close(tag));
    const onText = (value: string) => {
      this.#output += canonicalText(value);
    };
    parser.on('text', onText);
    parser.on('cdata', onText);
    parser.write(text).close();
    this.#assertWithinLimit();
    return this.#output;
  }

  #assertWithinLimit(): void {
    if (this.#output.length > LIMITS.xmlCanonicalCharacters)
      throw new Failure('malformed_xml', explain('xmlCanonicalTooLong'));
  }

  #open(tag: SaxesTagNS): void {
    this.#assertWithinLimit();
    const declarations = this.#listDeclarations(tag);
    this.#declared.push(declarations);
    this.#output += `<${tag.name}`;
    for (const { prefix, uri } of declarations) this.#attribute(prefix === '' ? 'xmlns' : `xmlns:${prefix}`, uri);
    if (this.#attributes.length > 0) this.#writeAttributes();
    this.#output += '>';
  }

  /** The declarations that this tag needs for its prefixes; attributes without a prefix have no namespace. */
  #listDeclarations(tag: SaxesTagNS): readonly Declaration[] {
    const declarations: Declaration[] = [];
    this.#declarePrefix(tag.prefix, tag.uri, declarations);
    for (const { prefix, uri } of this.#attributes) {
      if (prefix !== '') this.#declarePrefix(prefix, uri, declarations);
    }
    if (declarations.length > 1) declarations.sort((one, other) => compareCodePoints(one.prefix, other.prefix));
    return declarations;
  }

  #declarePrefix(prefix: string, uri: string, declarations: Declaration[]): void {
    const outer = this.#rendered.get(prefix);
    if (outer === uri) return;
    this.#rendered.set(prefix, uri);
    declarations.push({ prefix, uri, outer });
  }

  #writeAttributes(): void {
    const attributes = this.#attributes;
    this.#attributes = [];
    if (attributes.length > 1) attributes.sort(compareAttributes);
    for (const { name, value } of attributes) this.#attribute(name, value);
  }

  #attribute(name: string, value: string): void {
    this.#output += ` ${name}="${value.replace(ESCAPED_IN_ATTRIBUTE, escapeCharacter)}"`;
  }

  #close(tag: SaxesTagNS): void {
    this.#output += `</${tag.name}>`;
    for (const { prefix, outer } of this.#declared.pop() ?? []) this.#rendered.set(prefix, outer);
  }
}

const ESCAPED_IN_TEXT = /[&<>\r]/g;
const ESCAPED_IN_ATTRIBUTE = /[&<"\t\n\r]/g;
const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
};

const escapeCharacter = (character: string): string => ESCAPES[character] ?? character;

const compareAttributes = (one: SaxesAttributeNS, other: SaxesAttributeNS): number =>
  compareCodePoints(one.uri, other.uri) || compareCodePoints(one.local, other.local);

function compareCodePoints(one: string, other: string): number {
  if (one === other) return 0;
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const difference = codePointOrder(one.charCodeAt(at)) - codePointOrder(other.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Compares by code points: surrogates sort behind U+FFFF. */
const codePointOrder = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800);
