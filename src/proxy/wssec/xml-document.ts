import { SaxesParser, type SaxesTagNS } from 'saxes';
import { Failure } from '../../kernel/failure.ts';
import { LIMITS } from '../../kernel/limits.ts';
import { explain, type PlainReason, type Reason, type ValuesArgument } from '../../kernel/reasons.ts';
import { positionAt, type TextPosition } from '../../kernel/text-position.ts';

/** The element of a merchant's document that is sent to the processor. */
interface OutboundElement {
  /** The element as written, from `<` of its start tag to `>` of its end tag. */
  readonly text: string;
  /** Returns where in the document an offset of `text` is. */
  positionAt(offset: number): TextPosition;
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
  if (!isEnvelope(root.tag))
    return { text: text.slice(root.start, root.end), positionAt: (offset) => positionAt(text, root.start + offset) };
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
    parser.on('doctype', () => this.#fail('xmlDoctype'));
    parser.on('processinginstruction', () => this.#fail('xmlProcessingInstruction'));
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
    if (this.#root === undefined) return this.#fail('xmlNoRoot');
    return { root: this.#root, body: this.#body, content: this.#content };
  }

  #countNode(): void {
    if (++this.#nodes > LIMITS.xmlNodes) this.#fail('xmlTooManyNodes', { max: LIMITS.xmlNodes });
  }

  #assertNamespace(uri: string): void {
    const max = LIMITS.xmlNamespaceCharacters;
    if (uri.length > max) this.#fail('xmlNamespaceLong', { max });
    if (uri !== '' && !ABSOLUTE_URI.test(uri)) this.#fail('xmlNamespace');
  }

  #assertLocalName(local: string): void {
    if (INVALID_NAME_START.test(local)) this.#fail('xmlName');
  }

  #open(tag: SaxesTagNS): void {
    this.#countNode();
    if (++this.#depth > LIMITS.xmlDepth) this.#fail('tooDeep', { max: LIMITS.xmlDepth });
    if (tag.prefix !== '') this.#assertLocalName(tag.local);
    if (this.#depth === 1) this.#openRoot(tag);
    else if (this.#depth <= 3 && this.#root !== undefined && isEnvelope(this.#root.tag)) {
      this.#openInEnvelope(tag, this.#root.tag.uri);
    }
  }

  #openRoot(tag: SaxesTagNS): void {
    const { version = '1.0', encoding = 'utf-8' } = this.#parser.xmlDecl;
    if (version !== '1.0' || !/^utf-8$/i.test(encoding)) throw fault({ line: 1, column: 1 }, 'xmlEncoding');
    this.#root = this.#span(tag);
  }

  #openInEnvelope(tag: SaxesTagNS, soap: string): void {
    if (this.#depth === 2 && tag.local === 'Body' && tag.uri === soap) {
      if (this.#body !== undefined) this.#fail('xmlOneBody');
      this.#body = this.#span(tag);
    } else if (this.#depth === 3 && this.#body?.end === 0) {
      if (this.#content !== undefined) this.#fail('xmlOneElement');
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
    // Only the first of several relevant elements on a level is stored, and it ends first.
    if (part?.end === 0) part.end = this.#parser.position;
  }

  #fail<R extends Reason>(reason: R, ...values: ValuesArgument<R>): never {
    const { line, columnIndex } = this.#parser;
    throw fault({ line, column: Math.max(columnIndex, 1) }, reason, ...values);
  }
}

function extractContent(text: string, { root, body, content }: Outline): OutboundElement {
  if (body === undefined) throw fault(positionAt(text, root.start), 'xmlOneBody');
  if (content === undefined) throw fault(positionAt(text, body.start), 'xmlOneElement');
  const before = skipWhitespaceAndComments(text, body.contentStart);
  const after = skipWhitespaceAndComments(text, content.end);
  if (before !== content.start) throw fault(positionAt(text, before), 'xmlOneElement');
  if (!text.startsWith('</', after)) throw fault(positionAt(text, after), 'xmlOneElement');
  const nameLength = 1 + content.tag.name.length;
  const nameEnd = content.start + nameLength;
  const declarations = inheritedDeclarations(content.tag, { ...root.tag.ns, ...body.tag.ns });
  return {
    text: text.slice(content.start, nameEnd) + declarations + text.slice(nameEnd, content.end),
    positionAt: (offset) =>
      positionAt(
        text,
        content.start + (offset <= nameLength ? offset : Math.max(nameLength, offset - declarations.length)),
      ),
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

const fault = <R extends Reason>(position: TextPosition, reason: R, ...values: ValuesArgument<R>): Failure =>
  new Failure('malformed_xml', explain('malformedXml', { ...position, problem: explain(reason, ...values) }));

/** Prefixes of the parser's messages, which continue by quoting the document, and the reasons that replace them. */
const DESCRIPTIONS: readonly (readonly [beginning: string, reason: PlainReason])[] = [
  ['unbound namespace prefix', 'xmlUndeclaredPrefix'],
  ['undefined entity', 'xmlUnknownEntity'],
  ['disallowed character in entity name', 'xmlReference'],
  ['empty entity name', 'xmlReference'],
  ['malformed character entity', 'xmlReference'],
  ['duplicate attribute', 'xmlDuplicateAttribute'],
  ['inappropriately located doctype', 'xmlDoctype'],
  ['processing instruction', 'xmlProcessingInstruction'],
  ['disallowed character in processing instruction', 'xmlProcessingInstruction'],
  ['version number must', 'xmlEncoding'],
  ['encoding value must', 'xmlEncoding'],
  ['an XML declaration must', 'xmlDeclarationNotAtStart'],
  ['the XML declaration must', 'xmlDeclarationNotAtStart'],
  ['XML declaration', 'xmlDeclaration'],
  ['expected one of', 'xmlDeclaration'],
  ['expected the name', 'xmlDeclaration'],
  ['did not expect any more', 'xmlDeclaration'],
  ['value required', 'xmlDeclaration'],
  ['value must be quoted', 'xmlDeclaration'],
  ['whitespace required', 'xmlDeclaration'],
  ['standalone value must', 'xmlDeclaration'],
  ['The character ? is disallowed', 'xmlDeclaration'],
  ['unclosed tag', 'xmlNoEndTag'],
  ['unexpected close tag', 'xmlNoStartTag'],
  ['unmatched closing tag', 'xmlNoStartTag'],
  ['documents may contain only one root', 'xmlManyRoots'],
  ['document must contain a root', 'xmlNoRoot'],
  ['text data outside of root', 'xmlTextOutside'],
  ['the string "]]>"', 'xmlCdataEnd'],
  ['malformed name', 'xmlName'],
  ['invalid attempt to undefine prefix', 'xmlUnboundPrefix'],
  ['xml prefix must', 'xmlReservedName'],
  ['xmlns prefix must', 'xmlReservedName'],
  ['may not assign', 'xmlReservedName'],
  ['the default namespace may not', 'xmlReservedName'],
  ['tags may not have', 'xmlReservedName'],
];

const describeParserError = (message: string): PlainReason =>
  DESCRIPTIONS.find(([beginning]) => message.startsWith(beginning))?.[1] ?? 'xmlNotWellFormed';
