import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ROLE_NAMES } from '../../../../people/roles.ts';
import { Details } from '../../parts/details.tsx';
import { Money } from '../../parts/money.tsx';
import { Time } from '../../parts/time.tsx';
import type { Approval } from './approval.ts';

type SummaryLine = Approval['summary'][number];

/** Values with which the service marks a secret or removed setting. */
const VALUE_TEXTS = { '(secret)': 'value.secret', '(removed)': 'value.removed' } as const;

/** Names of lines whose value is a role. */
const ROLE_LINES: readonly string[] = ['role', 'role_now'];

/** Shows what a change would do. Names without a text, such as settings, are shown as they are. */
export function Summary({ lines }: { readonly lines: Approval['summary'] }) {
  const { t, i18n } = useTranslation('approvals');
  const { t: teamText } = useTranslation('team');
  const textKey = (word: string): string | undefined =>
    i18n.exists(`approvals:line.${word}`) ? `line.${word}` : undefined;
  const lineName = (name: string): string => {
    // A long list continues in lines with a number after the name.
    const [word = '', ...rest] = name.split(' ');
    const key = textKey(word);
    return key === undefined ? name : [t(key as 'line.name'), ...rest].join(' ');
  };
  // All other values may be user input and are shown as they are.
  const renderValue = ({ name, value }: SummaryLine): ReactNode => {
    const role = ROLE_LINES.includes(name) ? ROLE_NAMES.find((each) => each === value) : undefined;
    if (role !== undefined) return teamText(`role.${role}`);
    if (name === 'expires_at') return value === 'never' ? t('value.never') : <Time value={value} />;
    const [, amount, currency] = /^([0-9.]+) ([A-Z]{3})$/.exec(value) ?? [];
    if (name === 'amount' && amount !== undefined && currency !== undefined)
      return <Money amount={amount} currency={currency} />;
    // The rest of a long value is user input as well, whatever it says.
    return value in VALUE_TEXTS && !name.includes(' ') && textKey(name) === undefined
      ? t(VALUE_TEXTS[value as keyof typeof VALUE_TEXTS])
      : value;
  };
  if (lines.length === 0) return null;
  const visible = lines.filter(({ value }) => value !== '');
  return <Details items={visible.map((line) => ({ label: lineName(line.name), value: renderValue(line) }))} />;
}
