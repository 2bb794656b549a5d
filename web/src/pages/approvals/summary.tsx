import { useTranslation } from 'react-i18next';
import { Details } from '../../parts/details.tsx';
import type { Approval } from './approvals-page.tsx';

/** What a change would do, in lines. Names that the console has no words for, as those of settings, stay as they are. */
export function Summary({ lines }: { readonly lines: Approval['summary'] }) {
  const { t, i18n } = useTranslation('approvals');
  const nameOf = (name: string): string => {
    // A long list goes on in lines with a number behind the name.
    const [word = '', ...rest] = name.split(' ');
    const key = `line.${word}`;
    return i18n.exists(`approvals:${key}`) ? [t(key as 'line.name'), ...rest].join(' ') : name;
  };
  if (lines.length === 0) return null;
  const told = lines.filter(({ value }) => value !== '');
  return <Details items={told.map(({ name, value }) => ({ label: nameOf(name), value }))} />;
}
