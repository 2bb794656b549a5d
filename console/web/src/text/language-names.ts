import type { LANGUAGES } from '../../../wire/session.ts';

/** Each in itself, so that whoever looks for it can read it. */
export const LANGUAGE_NAMES: Readonly<Record<(typeof LANGUAGES)[number], string>> = {
  en: 'English',
  es: 'Español',
};
