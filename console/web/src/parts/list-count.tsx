import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { formatNumber } from './number.ts';

export interface ListCountProps {
  /** Rows on the screen; undefined while they load. */
  readonly shown: number | undefined;
  /** The count of the service; null when that is unknown. */
  readonly count: { readonly number: number; readonly is_more: boolean } | null | undefined;
  readonly hasNext: boolean;
}

/** Says how many of the records of a list are on the screen. */
export function ListCount({ shown, count, hasNext }: ListCountProps) {
  const { t, i18n } = useTranslation('lists');
  if (shown === undefined || shown === 0) return null;
  const format = (number: number): string => formatNumber(number, i18n.language);
  // The count may be some seconds older than the rows.
  const total = Math.max(shown, count?.number ?? 0);
  const key = !hasNext ? 'all' : count === null || count === undefined ? 'some' : count.is_more ? 'more' : 'of';
  return (
    <Text size="sm" c="dimmed" mt="xs" role="status">
      {t(`count.${key}`, { count: total, shown: format(shown), total: format(total) })}
    </Text>
  );
}
