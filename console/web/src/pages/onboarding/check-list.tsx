import { Check, Circle } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import classes from './onboarding.module.css';

interface CheckListProps {
  readonly rows: readonly { readonly name: string; readonly isDone: boolean; readonly text: string }[];
}

/** Shows the parts of a step, in any order. */
export function CheckList({ rows }: CheckListProps) {
  const { t } = useTranslation('onboarding');
  return (
    <ul className={classes['tried']}>
      {rows.map(({ name, isDone, text }) => (
        <li key={name}>
          {isDone ? (
            <Check
              size={16}
              color="var(--mantine-color-teal-6)"
              strokeWidth={3}
              role="img"
              aria-label={t('tried.yes')}
            />
          ) : (
            <Circle size={14} color="var(--mantine-color-dimmed)" role="img" aria-label={t('tried.no')} />
          )}
          {text}
        </li>
      ))}
    </ul>
  );
}
