import { invalidField } from './failure.ts';
import { containsIssuedPan } from './pan.ts';

/**
 * What people type for other people to read: names, notes, labels, addresses. It is shown where somebody decides by it, and
 * stands in the audit log, which never forgets.
 */

/**
 * Invisible characters, bidirectional controls and line separators, as they stand between the brackets of a pattern. Unassigned
 * and private code points look different, or like nothing, in each font. The last five are pictures of a blank, and a
 * placeholder that browsers leave out.
 */
const INVISIBLE_CHARACTERS = String.raw`\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{13441}\u{13442}\u{1d159}\ufffc`;

/** Phones put U+FE0F behind a heart and the like, and there it is seen: without it the sign is one of text. */
const EMOJI_VARIATION = String.raw`(?<=(?!\p{Emoji_Presentation})\p{Extended_Pictographic})(?<=\p{Emoji})\ufe0f`;

/** They are not seen, or change the order or the lines of what is seen, so that a text reads as another one. */
const INVISIBLE = new RegExp(`(?!${EMOJI_VARIATION})[${INVISIBLE_CHARACTERS}]`, 'gu');

/** Text of which every sign is seen: what is not shows its number instead. */
export const escapeInvisible = (text: string): string =>
  text.replace(INVISIBLE, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);

/** Throws `invalid_field` for a text with invisible characters or a number that a card issuer could have given out. */
export function assertDisplayable(text: string, field: string): void {
  if (escapeInvisible(text) !== text) throw invalidField(field, 'invisibleCharacters');
  if (containsIssuedPan(text)) throw invalidField(field, 'noCard');
}

/** As `assertDisplayable`, for what tells one person from another: it has no sign that looks like a plainer one. */
export function assertUnambiguous(text: string, field: string): void {
  assertDisplayable(text, field);
  if (text.normalize('NFKC') !== text || text.includes('\ufe0f')) throw invalidField(field, 'plainLetters');
}
