import { invalid } from './failure.ts';
import { holdsDisguisedPan } from './pan-disguised.ts';
import { UNSEEN_SIGNS } from './unseen.ts';

/**
 * What people type for other people to read: names, notes, labels, addresses. It is shown where somebody decides by it, and
 * stands in the audit log, which never forgets.
 */

/** Phones put U+FE0F behind a heart and the like, and there it is seen: without it the sign is one of text. */
const COLOURED = String.raw`(?<=(?!\p{Emoji_Presentation})\p{Extended_Pictographic})(?<=\p{Emoji})\ufe0f`;

/** They are not seen, or change the order or the lines of what is seen, so that a text reads as another one. */
const UNSEEN = new RegExp(`(?!${COLOURED})[${UNSEEN_SIGNS}]`, 'gu');

/** Text of which every sign is seen: what is not shows its number instead. */
export const withUnseenShown = (text: string): string =>
  text.replace(UNSEEN, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);

/** Throws `invalid_field` for a text that does not look as it is, or holds what people would read as a card number. */
export function mustBeReadable(text: string, field: string): void {
  if (withUnseenShown(text) !== text) throw invalid(field, 'expected no signs that are not seen');
  if (holdsDisguisedPan(text)) throw invalid(field, 'expected no card number');
}

/** As `mustBeReadable`, for what tells one person from another: it has no sign that looks like a plainer one. */
export function mustBePlain(text: string, field: string): void {
  mustBeReadable(text, field);
  if (text.normalize('NFKC') !== text || text.includes('\ufe0f'))
    throw invalid(field, 'expected letters in their plain form');
}
