import { Text, VisuallyHidden } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { StatusBadge } from './status-badge.tsx';
import classes from './truncated-card.module.css';

const PARTS = /^(\d*)\D+(\d*)$/;

interface TruncatedCardProps {
  /** Null: the record has none. */
  readonly card: string | null;
  /** The record was altered in the database, so its card is unknown. */
  readonly isAltered?: boolean;
}

/** Shows a truncated card number: first six and last four digits. */
export function TruncatedCard({ card, isAltered = false }: TruncatedCardProps) {
  const { t } = useTranslation('parts');
  if (isAltered) return <StatusBadge status="altered" />;
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
