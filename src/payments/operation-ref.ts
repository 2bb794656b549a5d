import { containsPan } from '../kernel/pan.ts';

/** The texts that a processor accepts as our reference of an operation, in a field that its reports show. */
export interface OperationRefFormat {
  readonly maxCharacters: number;
  /** Matches each character that is not allowed. */
  readonly disallowed: RegExp;
}

/** A character that begins a text in no search syntax. */
const LEADING_PUNCTUATION = /^[^A-Za-z0-9]+/;

/**
 * Returns our reference of an operation at its processor: `REFERENCE.ID`, so that a merchant finds it by its own reference,
 * or the id alone. The id is never shortened, because it makes the reference unique. A reference that reads as a card
 * number is omitted, also when only its allowed characters do.
 */
export function buildOperationRef(
  id: string,
  referenceCode: string | undefined,
  format: OperationRefFormat | undefined,
): string {
  if (referenceCode === undefined || format === undefined) return id;
  const allowed = referenceCode.replace(format.disallowed, '').replace(LEADING_PUNCTUATION, '');
  const reference = allowed.slice(0, Math.max(0, format.maxCharacters - id.length - 1));
  return reference === '' || [referenceCode, allowed, reference].some(containsPan) ? id : `${reference}.${id}`;
}
