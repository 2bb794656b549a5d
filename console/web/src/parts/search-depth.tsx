import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { SortOrder } from '../../../../src/storage/sort-order.ts';
import { Time } from './time.tsx';

interface SearchDepthProps {
  readonly to: string | null;
  readonly order?: SortOrder;
}

/** Shows how far a stepwise search got. Null: to the end. */
export function SearchDepth({ to, order = 'newest' }: SearchDepthProps) {
  const { t } = useTranslation('lists');
  if (to === null) return null;
  return (
    <Text size="sm" c="dimmed" mt="sm" role="status">
      {t(`searched.${order}`)} <Time value={to} />
    </Text>
  );
}
