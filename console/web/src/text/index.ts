import i18next, { type PostProcessorModule } from 'i18next';
import { initReactI18next } from 'react-i18next';
import { en } from './en.ts';
import { es } from './es.ts';
import { joinPeriods } from './join-periods.ts';

/**
 * Texts of the console. Each page has a namespace: `text/en/<page>.ts`, and `text/es/<page>.ts` with the type of the
 * English one, so that no text can be missing. `en.ts` and `es.ts` join them.
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

const STORAGE_KEY = 'language';
const OTHER_SUFFIX = '_other';

/** Adds the third Spanish plural, for whole millions, which reads like the second. */
const withManyPlurals = (texts: Texts): Texts =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([key, text]): [string, string | Texts][] => {
      if (typeof text !== 'string') return [[key, withManyPlurals(text)]];
      if (!key.endsWith(OTHER_SUFFIX)) return [[key, text]];
      return [
        [key, text],
        [`${key.slice(0, -OTHER_SUFFIX.length)}_many`, text],
      ];
    }),
  );

function detectLanguage(): Language {
  const stored = localStorage.getItem(STORAGE_KEY);
  if (isLanguage(stored)) return stored;
  return navigator.languages.map((each) => each.slice(0, 2)).find(isLanguage) ?? 'en';
}

const setDocumentLanguage = (language: string): void => {
  document.documentElement.lang = language;
};

/** A Spanish time ends with the period of "a. m.", which is also that of the sentence. */
const singlePeriod: PostProcessorModule = {
  type: 'postProcessor',
  name: 'singlePeriod',
  process: joinPeriods,
};

export async function startTexts(): Promise<void> {
  i18next.on('languageChanged', setDocumentLanguage);
  await i18next
    .use(initReactI18next)
    .use(singlePeriod)
    .init({
      lng: detectLanguage(),
      fallbackLng: 'en',
      resources: { en, es: withManyPlurals(es) as typeof es },
      defaultNS: 'shell',
      postProcess: ['singlePeriod'],
      // React escapes values.
      interpolation: { escapeValue: false },
    });
}

/** Stored for the next visit before sign-in. */
export async function setLanguage(language: Language): Promise<void> {
  localStorage.setItem(STORAGE_KEY, language);
  await i18next.changeLanguage(language);
}
