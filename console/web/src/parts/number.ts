import { localeOf } from './locale.ts';

/** A number in the person's language. */
export const numberText = (value: number, language: string, options: Intl.NumberFormatOptions = {}): string =>
  new Intl.NumberFormat(localeOf(language), options).format(value);
