import { useTranslation } from 'react-i18next';
import { numberText } from '../../parts/number.ts';
import { audit as texts } from '../../text/en/audit.ts';

type Name = keyof typeof texts.details;

export interface DetailWords {
  /** What a detail is called; undefined: not known here. */
  name(name: string): string | undefined;
  /** What it says; undefined: it is no word, but a name, an id or something that is not known here. */
  value(name: string, value: string): string | undefined;
}

/** Where the words of a detail stand, by its name. */
const WORDS: Readonly<Partial<Record<Name, string>>> = {
  change: 'approvals:action',
  factor: 'audit:values.factor',
  forced: 'audit:values.answer',
  from: 'team:role',
  kind: 'audit:values.kind',
  of: 'audit:values.of',
  operation: 'payments:operation',
  altered: 'audit:values.answer',
  dual_control: 'audit:values.answer',
  role: 'team:role',
  scope: 'audit:values.scope',
  to: 'team:role',
  use: 'audit:values.use',
};
/** The same of those that hold several. */
const LISTS: Readonly<Partial<Record<Name, string>>> = {
  changed: 'audit:values.trait',
  filters: 'audit:filters',
};
/** What people wrote, or call by its name. */
const AS_WRITTEN: readonly Name[] = ['name', 'processor'];

const isKnown = (name: string): name is Name => Object.hasOwn(texts.details, name);

/** What the service tells as words beside a record. */
export function useDetailWords(): DetailWords {
  const { t, i18n } = useTranslation('audit');
  const said = (place: string, word: string): string | undefined => {
    const key = `${place}.${word}`;
    const found: unknown = i18n.exists(key) ? i18n.t(key as 'account', { returnObjects: true }) : undefined;
    return typeof found === 'string' ? found : undefined;
  };
  const allSaid = (place: string, words: readonly string[]): string | undefined => {
    const found = words.map((word) => said(place, word)).filter((text) => text !== undefined);
    return found.length === words.length ? found.join(', ') : undefined;
  };
  return {
    name: (name) => (isKnown(name) ? t(`details.${name}`) : undefined),
    value: (name, value) => {
      if (!isKnown(name)) return undefined;
      if (AS_WRITTEN.includes(name)) return value;
      if (name === 'overlap_minutes' && /^\d+$/.test(value)) return numberText(Number(value), i18n.language);
      const [one, several] = [WORDS[name], LISTS[name]];
      if (several !== undefined) return allSaid(several, value.split(/,? /));
      return one === undefined ? undefined : said(one, value);
    },
  };
}
