import { invalidField } from './failure.ts';
import { containsIssuedPan } from './pan.ts';

/**
 * Names, notes, labels and addresses that users type for other users. They are shown where a user decides by them, and
 * stay in the audit log permanently.
 */

/**
 * Invisible characters, bidirectional controls and line separators (Unicode TR 36), as a part of a character class.
 * Unassigned and private code points look different, or like nothing, in each font. The last five are pictures of a
 * blank, and a placeholder that browsers leave out.
 */
const INVISIBLE_CHARACTERS = String.raw`\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{13441}\u{13442}\u{1d159}\ufffc`;

/**
 * Phones put U+FE0F behind a heart and similar characters. It is visible there: without it the character is a text
 * symbol.
 */
const EMOJI_VARIATION = String.raw`(?<=(?!\p{Emoji_Presentation})\p{Extended_Pictographic})(?<=\p{Emoji})\ufe0f`;

/**
 * Matches characters that are invisible, or that change the order or the lines of others, so that one text reads as
 * another.
 */
const INVISIBLE = new RegExp(`(?!${EMOJI_VARIATION})[${INVISIBLE_CHARACTERS}]`, 'gu');

/** Returns the text with the code point of each invisible character in its place. */
export const escapeInvisible = (text: string): string =>
  text.replace(INVISIBLE, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);

/** Throws `invalid_field` for a text with invisible characters or a number that a card issuer could have issued. */
export function assertDisplayable(text: string, field: string): void {
  if (escapeInvisible(text) !== text) throw invalidField(field, 'invisibleCharacters');
  if (containsIssuedPan(text)) throw invalidField(field, 'noCard');
}

/** Like `assertDisplayable`, for a text that identifies a user: rejects characters that look like a plainer one. */
export function assertUnambiguous(text: string, field: string): void {
  assertDisplayable(text, field);
  if (text.normalize('NFKC') !== text || text.includes('\ufe0f')) throw invalidField(field, 'plainLetters');
}
