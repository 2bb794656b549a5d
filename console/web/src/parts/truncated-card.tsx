import { Text, VisuallyHidden } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import classes from './truncated-card.module.css';

const PARTS = /^(\d*)\D+(\d*)$/;

/** Shows a truncated card number: first six and last four digits. Null: there is none. */
export function TruncatedCard({ card }: { readonly card: string | null }) {
  const { t } = useTranslation('parts');
  if (card === null || card === '') {
    return (
      <Text span size="sm" c="dimmed">
        {t('noCard')}
      </Text>
    );
  }
  const [, first = '', last = ''] = PARTS.exec(card) ?? [];
  return (
    <span className={classes['card']}>
      <span aria-hidden>{`${first} •••••• ${last}`.trim()}</span>
      <VisuallyHidden>{t('cardRead', { first, last })}</VisuallyHidden>
    </span>
  );
}
