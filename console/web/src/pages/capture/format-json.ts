const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
/** Bidirectional controls, which would reorder the text around them. */
const BIDI_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const escapeCharacter = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Formats JSON text on lines. It is never parsed into values, so long numbers lose no digit. */
export function formatJson(text: string): string {
  const tokens = text.match(TOKEN) ?? [];
  let depth = 0;
  let result = '';
  const newLine = (): string => `\n${'  '.repeat(depth)}`;
  for (const [index, token] of tokens.entries()) {
    const isEmpty = /^[{[]$/.test(tokens[index - 1] ?? '') && /^[}\]]$/.test(token);
    if (/^[}\]]$/.test(token)) {
      depth--;
      if (!isEmpty) result += newLine();
    }
    result += token;
    if (/^[{[]$/.test(token)) {
      depth++;
      if (!/^[}\]]$/.test(tokens[index + 1] ?? '')) result += newLine();
    }
    if (token === ',') result += newLine();
    if (token === ':') result += ' ';
  }
  return result.replace(BIDI_CONTROLS, escapeCharacter);
}
