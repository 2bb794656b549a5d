import { invalid } from './failure.ts';
import { holdsDisguisedPan } from './pan-disguised.ts';

/**
 * What people type for other people to read: names, notes, labels, addresses. It is shown where somebody decides by it, and
 * stands in the audit log, which never forgets.
 */

/** They are not seen, or change the order or the lines of what is seen, so that a text reads as another one. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Text of which every sign is seen: what is not shows its number instead. */
export const withUnseenShown = (text: string): string =>
  text.replace(UNSEEN, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);

/** Throws `invalid_field` for a text that does not look as it is. */
export function mustBeSeen(text: string, field: string): void {
  if (withUnseenShown(text) !== text) throw invalid(field, 'expected no signs that are not seen');
}

/** As `mustBeSeen`, and for one that holds what people would read as a card number. */
export function mustBeReadable(text: string, field: string): void {
  mustBeSeen(text, field);
  if (holdsDisguisedPan(text)) throw invalid(field, 'expected no card number');
}
