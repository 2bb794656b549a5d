import { type Brand, brandOf } from './card-brand.ts';
import { LIMITS } from './limits.ts';
import { containsPan, passesLuhn } from './pan.ts';

/** The rules of the fields of the card form (browser.md 3). Pure; the form and the service check with the same rules. */

export const FIELDS = ['number', 'exp', 'name', 'cvv'] as const;
export type FieldName = (typeof FIELDS)[number];

/** A required field has to be filled, an optional one may be, and a hidden one does not exist. */
export type Presence = 'required' | 'optional' | 'hidden';

export const FIELD_CODES = [
  'required',
  'incomplete',
  'invalid',
  'expired',
  'brand_not_accepted',
  'unavailable',
] as const;
export type FieldCode = (typeof FIELD_CODES)[number];

export interface FieldError {
  readonly field: FieldName;
  readonly code: FieldCode;
}

/** The texts of a submission. */
export interface Entry {
  readonly number: string;
  /** `MM/YY`. */
  readonly exp: string;
  readonly name: string;
  readonly cvv: string;
}

export interface EntryRules {
  readonly fields: { readonly name: Presence; readonly cvv: Presence };
  /** Undefined: all, also unknown ones. */
  readonly acceptedBrands: readonly Brand[] | undefined;
}

/** Year and month of the present, UTC; the month from 1. */
export interface Present {
  readonly year: number;
  readonly month: number;
}

/** Returns every field at fault, with its first fault. Hidden fields are not checked. */
export function checkEntry(entry: Entry, rules: EntryRules, present: Present): FieldError[] {
  const digits = toDigits(entry.number);
  const codes: Readonly<Record<FieldName, FieldCode | undefined>> = {
    number: checkNumber(entry.number, rules.acceptedBrands),
    exp: checkExpiry(entry.exp, present),
    name: checkName(entry.name, rules.fields.name),
    cvv: checkCvv(entry.cvv, rules.fields.cvv, digits),
  };
  return FIELDS.flatMap((field) => {
    const code = codes[field];
    return code === undefined ? [] : [{ field, code }];
  });
}

/** Drops blanks and dashes; other signs stay, so that they are found. */
export const toDigits = (number: string): string => number.replace(/[\s\p{Pd}]/gu, '');

export function checkNumber(number: string, accepted: readonly Brand[] | undefined): FieldCode | undefined {
  const digits = toDigits(number);
  if (digits === '') return 'required';
  if (!/^[0-9]+$/.test(digits)) return 'invalid';
  const { brand, lengths } = brandOf(digits);
  if (digits.length < Math.min(...lengths)) return 'incomplete';
  if (!lengths.includes(digits.length) || !passesLuhn(digits)) return 'invalid';
  const isAccepted = accepted === undefined || (brand !== 'unknown' && accepted.includes(brand));
  return isAccepted ? undefined : 'brand_not_accepted';
}

/** A card is valid to the end of its month. */
export function checkExpiry(exp: string, { year, month }: Present): FieldCode | undefined {
  if (exp.trim() === '') return 'required';
  const [, mm, yy] = /^(0[1-9]|1[0-2])\/([0-9]{2})$/.exec(exp) ?? [];
  if (mm === undefined || yy === undefined) return 'invalid';
  const isOver = 2000 + Number(yy) < year || (2000 + Number(yy) === year && Number(mm) < month);
  return isOver ? 'expired' : undefined;
}

export function checkName(name: string, presence: Presence): FieldCode | undefined {
  if (presence === 'hidden') return undefined;
  if (name.trim() === '') return presence === 'required' ? 'required' : undefined;
  return [...name].length > LIMITS.nameCharacters || /\p{Cc}/u.test(name) || containsPan(name) ? 'invalid' : undefined;
}

/** `digits`: of the card number, whose brand decides the length. */
export function checkCvv(cvv: string, presence: Presence, digits: string): FieldCode | undefined {
  if (presence === 'hidden') return undefined;
  if (cvv === '') return presence === 'required' ? 'required' : undefined;
  if (!/^[0-9]+$/.test(cvv)) return 'invalid';
  const { cvvDigits } = brandOf(digits);
  const [least, most] = cvvDigits === undefined ? [3, 4] : [cvvDigits, cvvDigits];
  if (cvv.length < least) return 'incomplete';
  return cvv.length > most ? 'invalid' : undefined;
}
