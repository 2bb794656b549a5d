import { useTranslation } from 'react-i18next';
import { formatNumber } from '../../parts/number.ts';
import { audit as texts } from '../../text/en/audit.ts';

type Name = keyof typeof texts.details;

export interface DetailText {
  /** Returns the label of a detail; undefined when it is not known here. */
  name(name: string): string | undefined;
  /** Returns the text of a value; undefined for names, ids and unknown values. */
  value(name: string, value: string): string | undefined;
}

/** Text key of the values of a detail, by its name. */
const VALUE_TEXTS: Readonly<Partial<Record<Name, string>>> = {
  change: 'approvals:action',
  factor: 'audit:values.factor',
  forced: 'audit:values.answer',
  from: 'team:role',
  kind: 'audit:values.kind',
  list: 'audit:values.list',
  of: 'audit:values.of',
  operation: 'payments:operation',
  altered: 'audit:values.answer',
  dual_control: 'audit:values.answer',
  resumed: 'audit:values.answer',
  role: 'team:role',
  scope: 'audit:values.scope',
  to: 'team:role',
  use: 'audit:values.use',
};
/** Text key of the values of details that are lists. */
const LIST_TEXTS: Readonly<Partial<Record<Name, string>>> = {
  changed: 'audit:values.trait',
  filters: 'audit:filters',
};
/** Details whose value is shown as it was written. */
const VERBATIM: readonly Name[] = ['name', 'processor'];

const isKnown = (name: string): name is Name => Object.hasOwn(texts.details, name);

/** Returns texts for the details of an audit record. */
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
