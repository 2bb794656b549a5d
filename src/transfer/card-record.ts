import { parseIso8601 } from '../kernel/clock.ts';
import { type Expiry, parseAnyExpiry } from '../kernel/expiry.ts';
import { LIMITS } from '../kernel/limits.ts';
import { containsIssuedPan, type Pan, parsePan } from '../kernel/pan.ts';
import type { ImportedCard } from '../vault/import-tokens.ts';
import { isScheme, SCHEMES, type Scheme, type TokenFormat } from '../vault/scheme.ts';
import type { Creator } from '../vault/token.ts';

/** The fields of a card in CSV and JSON Lines, see docs/guides/import.md. */
export const CARD_FIELDS = [
  'pan',
  'exp',
  'name',
  'tags',
  'scheme',
  'type',
  'bin',
  'token',
  'created_at',
  'created_by',
] as const;

export type CardField = (typeof CARD_FIELDS)[number];

/** Why a line is not imported. None of the codes says anything of a value. */
export type LineFault =
  | { readonly field: CardField | 'line'; readonly code: LineFaultCode }
  | { readonly field: 'pan' | 'token'; readonly code: string };

type LineFaultCode = 'required' | 'malformed' | 'unknown_field' | 'too_long' | 'not_utf8' | 'not_json' | 'not_csv';

/** Values that lines without them get. */
export interface CardDefaults {
  readonly scheme: Scheme;
  readonly isPersistent: boolean;
  readonly bin: 6 | 8;
  readonly creator: Creator;
  /** Creation times after this one are rejected. */
  readonly now: number;
}

/** The card of a line; the card number is known also of a line with another fault. */
export type ParsedCard = { readonly card: ImportedCard } | { readonly fault: LineFault; readonly pan: Pan | undefined };

export type SourceFormat = 'export' | 'jsonl' | 'csv';

/** The values of a line by field; empty texts and null count as absent. */
export type CardValues = Readonly<Partial<Record<CardField, unknown>>>;

class FieldFault extends Error {
  readonly fault: LineFault;

  constructor(field: CardField | 'line', code: LineFaultCode) {
    super(code);
    this.fault = { field, code };
  }
}

const malformed = (field: CardField): never => {
  throw new FieldFault(field, 'malformed');
};

const isAbsent = (value: unknown): boolean => value === undefined || value === null || value === '';

/** Parses the values of a line. Never throws. */
export function parseCard(values: CardValues, defaults: CardDefaults, format: SourceFormat): ParsedCard {
  const isText = format === 'export' ? isStoredText : isWrittenText;
  let pan: Pan | undefined;
  try {
    pan = toPan(values.pan);
    const tokenFormat = toFormat(values, defaults);
    const name = toName(values.name, isText);
    const expiry = toExpiry(values.exp);
    const tags = toTags(values.tags, isText);
    const isPersistent = toPersistent(values.type, defaults.isPersistent);
    const wanted = toWanted(values.token);
    const createdAt = toTime(values.created_at, defaults.now);
    const creator = toCreator(values.created_by, defaults.creator, isText);
    const card = { pan, name, expiry };
    return { card: { card, tags, format: tokenFormat, isPersistent, wanted, creator, createdAt } };
  } catch (error) {
    if (error instanceof FieldFault) return { fault: error.fault, pan };
    throw error;
  }
}

function toPan(value: unknown): Pan {
  if (isAbsent(value)) throw new FieldFault('pan', 'required');
  // A number in JSON may have lost digits on its way.
  return (typeof value === 'string' ? parsePan(value) : undefined) ?? malformed('pan');
}

function toExpiry(value: unknown): Expiry | undefined {
  if (isAbsent(value)) return undefined;
  return (typeof value === 'string' ? parseAnyExpiry(value) : undefined) ?? malformed('exp');
}

type TextRule = (value: unknown, max: number) => value is string;

/**
 * The rule of the API for texts, which is that of an export: names and tags may contain lone surrogates, and tags U+0000. Both are
 * sealed as JSON, and never become a text of the database.
 */
const isStoredText: TextRule = (value, max): value is string =>
  typeof value === 'string' && value !== '' && (value.length <= max || [...value].length <= max);

/** In a file of another system these are faults of what wrote it. */
const isWrittenText: TextRule = (value, max): value is string =>
  isStoredText(value, max) && !value.includes('\0') && value.isWellFormed();

function toName(value: unknown, isText: TextRule): string | undefined {
  if (isAbsent(value)) return undefined;
  return isText(value, LIMITS.nameCharacters) && !/\p{Cc}/u.test(value) ? value : malformed('name');
}

function toTags(value: unknown, isText: TextRule): readonly string[] {
  if (isAbsent(value)) return [];
  const tags: readonly unknown[] = Array.isArray(value) ? value : malformed('tags');
  const isList = tags.length <= LIMITS.tags && tags.every((tag) => isText(tag, LIMITS.tagCharacters));
  return isList ? (tags as readonly string[]) : malformed('tags');
}

function toFormat(values: CardValues, defaults: CardDefaults): TokenFormat {
  const scheme = isAbsent(values.scheme) ? defaults.scheme : toDigit(values.scheme);
  if (scheme === undefined || !isScheme(scheme)) return malformed('scheme');
  const bin = isAbsent(values.bin) ? defaults.bin : toDigit(values.bin);
  if (bin === 6 || (bin === 8 && SCHEMES[scheme].eightDigitBin)) return { scheme, bin };
  // The default of the command applies where the scheme allows it.
  return isAbsent(values.bin) ? { scheme, bin: 6 } : malformed('bin');
}

const toDigit = (value: unknown): number | undefined => {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && /^[0-9]$/.test(value) ? Number(value) : undefined;
};

function toPersistent(value: unknown, fallback: boolean): boolean {
  if (isAbsent(value)) return fallback;
  if (value === 'single') return false;
  return value === 'persistent' || malformed('type');
}

/** Longer texts are no token of any scheme. */
const MAX_TOKEN_CHARACTERS = 36;

function toWanted(value: unknown): string | undefined {
  if (isAbsent(value)) return undefined;
  return typeof value === 'string' && value.length <= MAX_TOKEN_CHARACTERS ? value : malformed('token');
}

function toTime(value: unknown, now: number): number | undefined {
  if (isAbsent(value)) return undefined;
  const time = typeof value === 'string' ? parseIso8601(value) : undefined;
  return time !== undefined && time >= 0 && time <= now ? time : malformed('created_at');
}

/** Ids of API keys, users and imports of cardvault. They are random, and may have digits that pass as a card number. */
const OWN_ID = /^(?:(?:key|person)_[0-9a-z]{14}|import:[0-9a-f]{32})$/;

/** In CSV a name, in JSON the id and name of the key that created the token. */
function toCreator(value: unknown, fallback: Creator, isText: TextRule): Creator {
  if (isAbsent(value)) return fallback;
  const members = typeof value === 'object' ? (value as Readonly<Record<string, unknown>>) : { name: value };
  const { user_id: id = fallback.id, name } = members as { readonly user_id?: unknown; readonly name?: unknown };
  if (!isText(id, LIMITS.apiKeyNameCharacters) || !isText(name, LIMITS.apiKeyNameCharacters))
    return malformed('created_by');
  const hasPan = containsIssuedPan(name) || (!OWN_ID.test(id) && containsIssuedPan(id));
  return hasPan || /\p{Cc}/u.test(id + name) ? malformed('created_by') : { id, name };
}
