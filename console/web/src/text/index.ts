import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import { en } from './en.ts';
import { es } from './es.ts';

/**
 * The texts of the console. Each page has a namespace: `text/en/<page>.ts` and `text/es/<page>.ts`, which has the type of
 * the English one, so that nothing can be missing. Both are joined in `en.ts` and `es.ts`.
 */
declare module 'i18next' {
  interface CustomTypeOptions {
    defaultNS: 'shell';
    resources: typeof en;
  }
}

type Texts = { readonly [key: string]: string | Texts };

const LANGUAGES = { en, es };
export type Language = keyof typeof LANGUAGES;

export const isLanguage = (text: string | null | undefined): text is Language =>
  text !== null && text !== undefined && Object.hasOwn(LANGUAGES, text);

const KEPT = 'language';
const ONE_OF_MANY = '_other';

/** Spanish has a third plural, for whole millions, that reads like the second. */
const withMillions = (texts: Texts): Texts =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([key, text]): [string, string | Texts][] => {
      if (typeof text !== 'string') return [[key, withMillions(text)]];
      if (!key.endsWith(ONE_OF_MANY)) return [[key, text]];
      return [
        [key, text],
        [`${key.slice(0, -ONE_OF_MANY.length)}_many`, text],
      ];
    }),
  );

function firstLanguage(): Language {
  const kept = localStorage.getItem(KEPT);
  if (isLanguage(kept)) return kept;
  return navigator.languages.map((each) => each.slice(0, 2)).find(isLanguage) ?? 'en';
}

const sayLanguage = (language: string): void => {
  document.documentElement.lang = language;
};

export async function startTexts(): Promise<void> {
  i18next.on('languageChanged', sayLanguage);
  await i18next.use(initReactI18next).init({
    lng: firstLanguage(),
    fallbackLng: 'en',
    resources: { en, es: withMillions(es) as typeof es },
    defaultNS: 'shell',
    // React escapes.
    interpolation: { escapeValue: false },
  });
}

/** Kept for the next visit, when nobody is signed in yet. */
export async function setLanguage(language: Language): Promise<void> {
  localStorage.setItem(KEPT, language);
  await i18next.changeLanguage(language);
}
