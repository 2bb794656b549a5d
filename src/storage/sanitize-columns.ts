import { escapeInvisible } from '../kernel/displayable.ts';
import type { Value } from './database.ts';

/** Columns of a row whose MAC is invalid, made safe to display whatever they contain. */

const MAX_CHARACTERS = 255;
/** The last time that a `Date` can represent. */
const MAX_TIME = 8.64e15;

export const sanitizeText = (value: Value | undefined): string =>
  typeof value === 'string' ? escapeInvisible(value).slice(0, MAX_CHARACTERS) : '';

export const sanitizeInteger = (value: Value | undefined): number =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value : 0;

export const sanitizeTime = (value: Value | undefined): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value <= MAX_TIME ? value : 0;

export const sanitizeOptionalTime = (value: Value | undefined): number | undefined =>
  typeof value === 'number' ? sanitizeTime(value) : undefined;

export function sanitizeList(value: Value | undefined): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(typeof value === 'string' ? value : '');
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}
