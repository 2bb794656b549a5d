import { useTranslation } from 'react-i18next';
import { formatNumber } from '../../parts/number.ts';
import { audit as texts } from '../../text/en/audit.ts';

type Name = keyof typeof texts.details;

export interface DetailText {
  /** What a detail is called; undefined: not known here. */
  name(name: string): string | undefined;
  /** What it says; undefined: it is no word, but a name, an id or something that is not known here. */
  value(name: string, value: string): string | undefined;
}

/** Where the words of a detail stand, by its name. */
const VALUE_TEXTS: Readonly<Partial<Record<Name, string>>> = {
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
const LIST_TEXTS: Readonly<Partial<Record<Name, string>>> = {
  changed: 'audit:values.trait',
  filters: 'audit:filters',
};
/** What people wrote, or call by its name. */
const VERBATIM: readonly Name[] = ['name', 'processor'];

const isKnown = (name: string): name is Name => Object.hasOwn(texts.details, name);

/** What the service tells as words beside a record. */
export function useDetailText(): DetailText {
  const { t, i18n } = useTranslation('audit');
  const findText = (place: string, word: string): string | undefined => {
    const key = `${place}.${word}`;
    const found: unknown = i18n.exists(key) ? i18n.t(key as 'account', { returnObjects: true }) : undefined;
    return typeof found === 'string' ? found : undefined;
  };
  const findAllTexts = (place: string, values: readonly string[]): string | undefined => {
    const found = values.map((word) => findText(place, word)).filter((text) => text !== undefined);
    return found.length === values.length ? found.join(', ') : undefined;
  };
  return {
    name: (name) => (isKnown(name) ? t(`details.${name}`) : undefined),
    value: (name, value) => {
      if (!isKnown(name)) return undefined;
      if (VERBATIM.includes(name)) return value;
      if (name === 'overlap_minutes' && /^\d+$/.test(value)) return formatNumber(Number(value), i18n.language);
      const [valueText, listText] = [VALUE_TEXTS[name], LIST_TEXTS[name]];
      if (listText !== undefined) return findAllTexts(listText, value.split(/,? /));
      return valueText === undefined ? undefined : findText(valueText, value);
    },
  };
}
