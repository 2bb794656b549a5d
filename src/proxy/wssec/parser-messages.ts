/** Descriptions of a rejected document: a closed list, because the parser's own messages quote the document. */
export const DOCTYPE = 'a DOCTYPE is not allowed';
export const PROCESSING_INSTRUCTION = 'a processing instruction is not allowed';
export const DECLARATION = 'expected version 1.0 and encoding UTF-8';
const RESERVED_NAME = 'misuse of a reserved prefix or namespace';
const BAD_DECLARATION = 'malformed XML declaration';

/** Prefixes of the parser's messages, which continue by quoting the document, and their replacements. */
const DESCRIPTIONS: readonly (readonly [beginning: string, phrase: string])[] = [
  ['unbound namespace prefix', 'undeclared prefix'],
  ['undefined entity', 'unknown entity'],
  ['disallowed character in entity name', 'malformed reference'],
  ['empty entity name', 'malformed reference'],
  ['malformed character entity', 'malformed reference'],
  ['duplicate attribute', 'duplicate attribute'],
  ['inappropriately located doctype', DOCTYPE],
  ['processing instruction', PROCESSING_INSTRUCTION],
  ['disallowed character in processing instruction', PROCESSING_INSTRUCTION],
  ['version number must', DECLARATION],
  ['encoding value must', DECLARATION],
  ['an XML declaration must', 'an XML declaration not at the start'],
  ['the XML declaration must', 'an XML declaration not at the start'],
  ['XML declaration', BAD_DECLARATION],
  ['expected one of', BAD_DECLARATION],
  ['expected the name', BAD_DECLARATION],
  ['did not expect any more', BAD_DECLARATION],
  ['value required', BAD_DECLARATION],
  ['value must be quoted', BAD_DECLARATION],
  ['whitespace required', BAD_DECLARATION],
  ['standalone value must', BAD_DECLARATION],
  ['The character ? is disallowed', BAD_DECLARATION],
  ['unclosed tag', 'an element without an end tag'],
  ['unexpected close tag', 'an end tag without its start tag'],
  ['unmatched closing tag', 'an end tag without its start tag'],
  ['documents may contain only one root', 'more than one root element'],
  ['document must contain a root', 'no root element'],
  ['text data outside of root', 'text outside the root element'],
  ['the string "]]>"', ']]> in text'],
  ['malformed name', 'malformed name'],
  ['invalid attempt to undefine prefix', 'a prefix bound to no namespace'],
  ['xml prefix must', RESERVED_NAME],
  ['xmlns prefix must', RESERVED_NAME],
  ['may not assign', RESERVED_NAME],
  ['the default namespace may not', RESERVED_NAME],
  ['tags may not have', RESERVED_NAME],
];

export const describeParserError = (message: string): string =>
  DESCRIPTIONS.find(([beginning]) => message.startsWith(beginning))?.[1] ?? 'not well-formed';
