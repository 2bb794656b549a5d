import { Skeleton, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** Shown while the code of a page loads. */
export function PageSkeleton() {
  const { t } = useTranslation();
  return (
    <Stack gap="lg" role="status" aria-label={t('loading')}>
      <Stack gap={10}>
        <Skeleton height={26} width={200} />
        <Skeleton height={14} width="min(420px, 80%)" />
      </Stack>
      <Skeleton height={280} />
    </Stack>
  );
}
