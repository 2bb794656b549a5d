import type { Transaction } from '../idempotency/transaction.ts';
import { type Expiry, parseExpiry } from '../kernel/expiry.ts';
import { Failure, invalidField } from '../kernel/failure.ts';
import { type Pan, parsePan, passesLuhn } from '../kernel/pan.ts';
import { type Explanation, explain } from '../kernel/reasons.ts';
import {
  type ExtractPart,
  findPlaceholders,
  type Placeholder,
  PlaceholderSyntaxError,
} from '../placeholders/grammar.ts';
import type { LocatedPlaceholder } from '../placeholders/located-placeholder.ts';
import type { CardDataContext, Placeholders } from '../placeholders/placeholders.ts';
import type { CardData } from './processor.ts';

/** A card field of a request: the value itself, or the placeholder that names it. */
export type CardField<T> = { readonly literal: T } | { readonly placeholder: Placeholder };

export interface CardSource {
  readonly number: CardField<Pan>;
  readonly expiry: CardField<Expiry>;
  readonly securityCode: CardField<string> | undefined;
  readonly holder: CardField<string> | undefined;
}

/** A card as it will be sent, and its origin. */
export interface ResolvedCard {
  readonly card: CardData;
  /** True when the request contained the number itself. */
  readonly isInClear: boolean;
  /** Captures that were read for it. */
  readonly captureIds: readonly string[];
}

/** Each field determines the part (decisions: Placeholders). */
const FIELDS = {
  number: { path: 'card.number', part: 'card' },
  expiry: { path: 'card.expiration_date', part: 'expiration' },
  securityCode: { path: 'card.security_code', part: 'cvv' },
  holder: { path: 'card.holder', part: 'name' },
} as const satisfies Record<keyof CardSource, { path: string; part: ExtractPart }>;

const NAMES = Object.keys(FIELDS) as (keyof CardSource)[];

/**
 * Returns the placeholder in a card field, blanks around it allowed; undefined when the text starts none. Throws
 * `invalid_placeholder`, which names the field and never the text.
 */
export function parseCardPlaceholder(text: string, field: keyof CardSource): Placeholder | undefined {
  if (!text.includes('{{')) return undefined;
  const { path } = FIELDS[field];
  const [found, ...others] = placeholdersIn(text, path);
  if (found === undefined || others.length > 0 || !isBlankAround(text, found))
    throw fault(path, explain('onePlaceholder'));
  if (text.slice(found.start, found.end).includes('|')) throw fault(path, explain('noFilters'));
  if (field === 'securityCode' && found.placeholder.source === 'detokenize')
    throw fault(path, explain('tokenWithoutCvv', { example: '{{…:transaction}}' }));
  return found.placeholder;
}

const isBlankAround = (text: string, { start, end }: { start: number; end: number }): boolean =>
  /^[ \t\r\n]*$/.test(text.slice(0, start) + text.slice(end));

const fault = (path: string, explanation: Explanation): Failure =>
  new Failure('invalid_placeholder', explanation, { field: path });

function placeholdersIn(text: string, path: string): ReturnType<typeof findPlaceholders> {
  try {
    return findPlaceholders(text);
  } catch (error) {
    throw error instanceof PlaceholderSyntaxError ? fault(path, error.explanation) : error;
  }
}

/**
 * Returns the card, with the values of its placeholders; their reading is audited. Throws `access_denied`,
 * `unknown_token`, `unknown_capture`, `invalid_placeholder`, and `invalid_field` for a number that fails the Luhn
 * check.
 */
export async function resolveCard(
  transaction: Transaction,
  placeholders: Placeholders,
  reader: CardDataContext,
  source: CardSource,
): Promise<ResolvedCard> {
  const marks = marksOf(source);
  const filled = marks.length === 0 ? [] : await placeholders.resolve(transaction, reader, marks);
  const values = new Map(filled.map(({ located: mark, value }) => [mark.location(), value]));
  const fieldOf = <T>(name: keyof CardSource, read: (text: string) => T): T | undefined => {
    const field = source[name] as CardField<T> | undefined;
    if (field === undefined || 'literal' in field) return field?.literal;
    return read(values.get(FIELDS[name].path) ?? '');
  };
  const text = (value: string): string => value;
  const pan = fieldOf<Pan | undefined>('number', parsePan);
  const expiry = fieldOf<Expiry | undefined>('expiry', parseExpiry);
  if (pan === undefined || !passesLuhn(pan)) throw invalidField(FIELDS.number.path, 'luhn');
  if (expiry === undefined) throw invalidField(FIELDS.expiry.path, 'expiry');
  const card = { pan, expiry, securityCode: fieldOf('securityCode', text), holder: fieldOf('holder', text) };
  const captures = marks.map(({ placeholder }) => placeholder).filter(({ source: from }) => from === 'transaction');
  return { card, isInClear: 'literal' in source.number, captureIds: [...new Set(captures.map(({ token }) => token))] };
}

function marksOf(source: CardSource): LocatedPlaceholder[] {
  const marks: LocatedPlaceholder[] = [];
  for (const name of NAMES) {
    const field = source[name];
    if (field === undefined || 'literal' in field) continue;
    const { path, part } = FIELDS[name];
    const placeholder = { ...field.placeholder, part };
    // Nothing is written back: the values are put into separate fields.
    const place = { location: () => path, position: () => undefined, start: 0, end: 0 };
    marks.push({ placeholder, ...place, number: marks.length + 1, encode: (value) => value });
  }
  return marks;
}
