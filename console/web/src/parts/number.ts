import { numberFormat } from './formatters.ts';
import { resolveLocale } from './locale.ts';

/** Formats a number in the user's language. */
export const formatNumber = (value: number, language: string, options: Intl.NumberFormatOptions = {}): string =>
  numberFormat(resolveLocale(language), options).format(value);
