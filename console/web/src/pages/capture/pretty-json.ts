const STRING_OR_SIGN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
/** They would turn the text around them, so that it reads as something else. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** JSON text over lines. It is never made a value, so no digit of a long number is lost. */
export function prettyJson(text: string): string {
  const pieces = text.match(STRING_OR_SIGN) ?? [];
  let depth = 0;
  let result = '';
  const newLine = (): string => `\n${'  '.repeat(depth)}`;
  for (const [index, piece] of pieces.entries()) {
    const isEmpty = /^[{[]$/.test(pieces[index - 1] ?? '') && /^[}\]]$/.test(piece);
    if (/^[}\]]$/.test(piece)) {
      depth--;
      if (!isEmpty) result += newLine();
    }
    result += piece;
    if (/^[{[]$/.test(piece)) {
      depth++;
      if (!/^[}\]]$/.test(pieces[index + 1] ?? '')) result += newLine();
    }
    if (piece === ',') result += newLine();
    if (piece === ':') result += ' ';
  }
  return result.replace(TURNING, escaped);
}
