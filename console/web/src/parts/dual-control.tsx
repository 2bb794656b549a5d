import { Alert } from '@mantine/core';
import { Users } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useMembership, useTenant } from '../session/tenant.ts';

/** Returns true when changes in the environment of the address need approval. */
export function useDualControl(): boolean {
  const { dual_control } = useMembership();
  return useTenant().environment === 'production' && dual_control;
}

/** Explains the approval before the user requests a change. */
export function DualControlNote() {
  const { t } = useTranslation('parts');
  return (
    <Alert color="blue" icon={<Users size={18} aria-hidden />}>
      {t('dualControl')}
    </Alert>
  );
}
