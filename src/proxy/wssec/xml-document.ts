import { SaxesParser, type SaxesTagNS } from 'saxes';
import { Failure } from '../../kernel/failure.ts';
import { LIMITS } from '../../kernel/limits.ts';
import { DECLARATION, DOCTYPE, describeParserError, PROCESSING_INSTRUCTION } from './parser-messages.ts';

/** The element of a merchant's document that is sent to the processor. */
export interface OutboundElement {
  /** The element as written, from `<` of its start tag to `>` of its end tag. */
  readonly text: string;
  /** Line of the request (from 1) at which it starts. */
  readonly line: number;
}

/**
 * Returns the element to be sent from a document (decoded UTF-8): the element in the Body when the document is a SOAP
 * envelope, otherwise the root. It stays as written, except that an element of an envelope gets the namespace
 * declarations of its ancestors.
 *
 * Rejects documents that are not well-formed with namespaces, DOCTYPEs, processing instructions, elements nested too
 * deeply, and namespaces that canonical forms treat differently. Throws `malformed_xml`, which states the line and
 * nothing of the document. Takes time linear in the document.
 */
export function parseDocument(text: string): OutboundElement {
  const outline = new XmlOutlineParser(text).parse();
  const { root } = outline;
  if (!isEnvelope(root.tag)) return { text: text.slice(root.start, root.end), line: lineAt(text, root.start) };
  return extractContent(text, outline);
}

const ENVELOPES: ReadonlySet<string> = new Set([
  'http://schemas.xmlsoap.org/soap/envelope/',
  'http://www.w3.org/2003/05/soap-envelope',
]);

const isEnvelope = (tag: SaxesTagNS): boolean => tag.local === 'Envelope' && ENVELOPES.has(tag.uri);

/** An element of the document; `end` is 0 until its end tag was read. */
interface Span {
  readonly tag: SaxesTagNS;
  readonly start: number;
  readonly contentStart: number;
  end: number;
}

/** The elements that matter; `body` and `content` are only searched in an envelope. */
interface Outline {
  readonly root: Span;
  readonly body: Span | undefined;
  readonly content: Span | undefined;
}

/**
 * The characters of RFC 3986 without `&`, because canonical forms differ in how they write it. Blanks are excluded: the
 * parser trims them, others do not, so that the two would mean different namespaces. libxml2 accepts no other
 * characters.
 */
const ABSOLUTE_URI = /^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#[\]@!$'()*+,;=-]|%[0-9A-Fa-f]{2})*$/;
/** The characters of names with which no name starts. The parser does not check the part behind the colon. */
const INVALID_NAME_START = /^[\u0300-\u036f\u00b7\u203f\u2040.0-9-]/;

class XmlOutlineParser {
  readonly #text: string;
  // Without `position` its messages start with the fault; lines and offsets are known in any case.
  readonly #parser = new SaxesParser({ xmlns: true, position: false, forceXMLVersion: true, defaultXMLVersion: '1.0' });
  #depth = 0;
  #nodes = 0;
  #root: Span | undefined;
  #body: Span | undefined;
  #content: Span | undefined;

  constructor(text: string) {
    this.#text = text;
    const parser = this.#parser;
    // Six handlers at most: from the seventh on, V8 represents the parser as a dictionary, several times slower.
    parser.on('error', ({ message }) => this.#fail(describeParserError(message)));
    parser.on('doctype', () => this.#fail(DOCTYPE));
    parser.on('processinginstruction', () => this.#fail(PROCESSING_INSTRUCTION));
    parser.on('attribute', ({ name, prefix, local, value }) => {
      this.#countNode();
      if (prefix !== '') this.#assertLocalName(local);
      if (prefix === 'xmlns' || name === 'xmlns') this.#assertNamespace(value);
    });
    parser.on('opentag', (tag) => this.#open(tag));
    parser.on('closetag', () => this.#close());
  }

  parse(): Outline {
    // The parser drops a leading U+FEFF and counts it in its offsets.
    this.#parser.write(this.#text).close();
    if (this.#root === undefined) return this.#fail('no root element');
    return { root: this.#root, body: this.#body, content: this.#content };
  }

  #countNode(): void {
    if (++this.#nodes > LIMITS.xmlNodes) this.#fail(`more than ${LIMITS.xmlNodes} elements and attributes`);
  }

  #assertNamespace(uri: string): void {
    const longest = LIMITS.xmlNamespaceCharacters;
    if (uri.length > longest) this.#fail(`a namespace longer than ${longest} characters`);
    if (uri !== '' && !ABSOLUTE_URI.test(uri))
      this.#fail('a namespace must be an absolute URI of ASCII characters without &');
  }

  #assertLocalName(local: string): void {
    if (INVALID_NAME_START.test(local)) this.#fail('malformed name');
  }

  #open(tag: SaxesTagNS): void {
    this.#countNode();
    if (++this.#depth > LIMITS.xmlDepth) this.#fail(`nested deeper than ${LIMITS.xmlDepth} levels`);
    if (tag.prefix !== '') this.#assertLocalName(tag.local);
    if (this.#depth === 1) this.#openRoot(tag);
    else if (this.#depth <= 3 && this.#root !== undefined && isEnvelope(this.#root.tag)) {
      this.#openInEnvelope(tag, this.#root.tag.uri);
    }
  }

  #openRoot(tag: SaxesTagNS): void {
    const { version = '1.0', encoding = 'utf-8' } = this.#parser.xmlDecl;
    if (version !== '1.0' || !/^utf-8$/i.test(encoding)) throw fault(1, DECLARATION);
    this.#root = this.#span(tag);
  }

  #openInEnvelope(tag: SaxesTagNS, soap: string): void {
    if (this.#depth === 2 && tag.local === 'Body' && tag.uri === soap) {
      if (this.#body !== undefined) this.#fail(ONE_BODY);
      this.#body = this.#span(tag);
    } else if (this.#depth === 3 && this.#body?.end === 0) {
      if (this.#content !== undefined) this.#fail(ONE_ELEMENT);
      this.#content = this.#span(tag);
    }
  }

  #span(tag: SaxesTagNS): Span {
    const contentStart = this.#parser.position;
    // No tag contains a second `<`.
    return { tag, start: this.#text.lastIndexOf('<', contentStart - 1), contentStart, end: 0 };
  }

  #close(): void {
    const depth = this.#depth--;
    if (depth > 3) return;
    const part = depth === 1 ? this.#root : depth === 2 ? this.#body : this.#content;
    // Of several elements on a level only the first relevant one is stored, and it ends first.
    if (part?.end === 0) part.end = this.#parser.position;
  }

  #fail(what: string): never {
    throw fault(this.#parser.line, what);
  }
}

function extractContent(text: string, { root, body, content }: Outline): OutboundElement {
  if (body === undefined) throw fault(lineAt(text, root.start), ONE_BODY);
  if (content === undefined) throw fault(lineAt(text, body.start), ONE_ELEMENT);
  const before = skipWhitespaceAndComments(text, body.contentStart);
  const after = skipWhitespaceAndComments(text, content.end);
  if (before !== content.start) throw fault(lineAt(text, before), ONE_ELEMENT);
  if (!text.startsWith('</', after)) throw fault(lineAt(text, after), ONE_ELEMENT);
  const nameEnd = content.start + 1 + content.tag.name.length;
  const declarations = inheritedDeclarations(content.tag, { ...root.tag.ns, ...body.tag.ns });
  return {
    text: text.slice(content.start, nameEnd) + declarations + text.slice(nameEnd, content.end),
    line: lineAt(text, content.start),
  };
}

/**
 * All declarations in scope, because values may be qualified names. Nothing is escaped: a URI that needs escaping was
 * rejected.
 */
function inheritedDeclarations(tag: SaxesTagNS, inherited: Readonly<Record<string, string>>): string {
  let declarations = '';
  for (const [prefix, uri] of Object.entries(inherited)) {
    if (Object.hasOwn(tag.ns, prefix) || uri === '') continue;
    declarations += prefix === '' ? ` xmlns="${uri}"` : ` xmlns:${prefix}="${uri}"`;
  }
  return declarations;
}

const WHITESPACE = /[ \t\r\n]*/y;

function skipWhitespaceAndComments(text: string, start: number): number {
  for (let at = start; ; ) {
    WHITESPACE.lastIndex = at;
    WHITESPACE.test(text);
    if (!text.startsWith('<!--', WHITESPACE.lastIndex)) return WHITESPACE.lastIndex;
    at = text.indexOf('-->', WHITESPACE.lastIndex + 4) + 3;
  }
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = 0; at < offset; at++) {
    const code = text.charCodeAt(at);
    if (code === 10 || (code === 13 && text.charCodeAt(at + 1) !== 10)) line++;
  }
  return line;
}

const ONE_BODY = 'expected one Body in the Envelope';
const ONE_ELEMENT = 'expected one element in the Body';

const fault = (line: number, what: string): Failure =>
  new Failure('malformed_xml', { message: `malformed XML at line ${line}: ${what}` });
