import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Time } from './time.tsx';

/** Shows how far back a stepwise search got. Null: to the end. */
export function SearchDepth({ to }: { readonly to: string | null }) {
  const { t } = useTranslation('payments');
  if (to === null) return null;
  return (
    <Text size="sm" c="dimmed" mt="sm" role="status">
      {t('searchedBack')} <Time value={to} />
    </Text>
  );
}
