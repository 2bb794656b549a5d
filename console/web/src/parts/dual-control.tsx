import { Alert } from '@mantine/core';
import { Users } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useMembership, useTenant } from '../session/tenant.ts';

/** Do changes in the environment of the address wait for a second person? */
export function useDualControl(): boolean {
  const { dual_control } = useMembership();
  return useTenant().environment === 'production' && dual_control;
}

/** Said before somebody asks for what will not happen at once. */
export function DualControlNote() {
  const { t } = useTranslation('parts');
  return (
    <Alert color="blue" icon={<Users size={18} aria-hidden />}>
      {t('byTwo')}
    </Alert>
  );
}
