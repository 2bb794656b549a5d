import type { PlainReason } from '../../kernel/reasons.ts';

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

export const describeParserError = (message: string): PlainReason =>
  DESCRIPTIONS.find(([beginning]) => message.startsWith(beginning))?.[1] ?? 'xmlNotWellFormed';
