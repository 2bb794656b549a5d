import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ROLE_NAMES } from '../../../../people/roles.ts';
import { Details } from '../../parts/details.tsx';
import { Money } from '../../parts/money.tsx';
import { Time } from '../../parts/time.tsx';
import type { Approval } from './approvals-page.tsx';

type Line = Approval['summary'][number];

/** As the service tells the value of a setting that is never shown, and of one that goes. */
const TOLD = { '(secret)': 'value.secret', '(removed)': 'value.removed' } as const;

/** Lines whose value is a role. */
const ROLES_NAMED: readonly string[] = ['role', 'role_now'];

/** What a change would do, in lines. Names that the console has no words for, as those of settings, stay as they are. */
export function Summary({ lines }: { readonly lines: Approval['summary'] }) {
  const { t, i18n } = useTranslation('approvals');
  const { t: team } = useTranslation('team');
  const keyOf = (word: string): string | undefined =>
    i18n.exists(`approvals:line.${word}`) ? `line.${word}` : undefined;
  const nameOf = (name: string): string => {
    // A long list goes on in lines with a number behind the name.
    const [word = '', ...rest] = name.split(' ');
    const key = keyOf(word);
    return key === undefined ? name : [t(key as 'line.name'), ...rest].join(' ');
  };
  // Anything else may have been typed by a person, and is told as it is.
  const shownValue = ({ name, value }: Line): ReactNode => {
    const role = ROLES_NAMED.includes(name) ? ROLE_NAMES.find((each) => each === value) : undefined;
    if (role !== undefined) return team(`role.${role}`);
    if (name === 'expires_at') return value === 'never' ? t('value.never') : <Time value={value} />;
    const [, amount, currency] = /^([0-9.]+) ([A-Z]{3})$/.exec(value) ?? [];
    if (name === 'amount' && amount !== undefined && currency !== undefined)
      return <Money amount={amount} currency={currency} />;
    return value in TOLD && keyOf(name) === undefined ? t(TOLD[value as keyof typeof TOLD]) : value;
  };
  if (lines.length === 0) return null;
  const told = lines.filter(({ value }) => value !== '');
  return <Details items={told.map((line) => ({ label: nameOf(line.name), value: shownValue(line) }))} />;
}
