import type { LANGUAGES } from '../../../wire/session.ts';

/** Names of the languages, each in its own language. */
export const LANGUAGE_NAMES: Readonly<Record<(typeof LANGUAGES)[number], string>> = {
  en: 'English',
  es: 'Español',
};
