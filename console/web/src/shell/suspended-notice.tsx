import { Alert } from '@mantine/core';
import { CircleSlash } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useNavigation } from './navigation-context.ts';

export function SuspendedNotice() {
  const { t } = useTranslation();
  const { area, membership } = useNavigation();
  if (area !== 'account' || membership?.status !== 'suspended') return null;
  return (
    <Alert color="red" mb="lg" icon={<CircleSlash size={18} aria-hidden />}>
      {t('suspended')}
    </Alert>
  );
}
