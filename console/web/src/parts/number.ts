import { resolveLocale } from './locale.ts';

/** A number in the person's language. */
export const formatNumber = (value: number, language: string, options: Intl.NumberFormatOptions = {}): string =>
  new Intl.NumberFormat(resolveLocale(language), options).format(value);
