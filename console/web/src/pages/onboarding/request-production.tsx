import { Button, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useCan } from '../../session/tenant.ts';
import type { RequestPayments } from './onboarding-state.ts';

/** Shows the button, or the role that may use it. `isSecondary`: another action of the page is more important. */
export function RequestProduction({
  onRequest,
  isSecondary = false,
}: {
  readonly onRequest: RequestPayments;
  readonly isSecondary?: boolean;
}) {
  const { t } = useTranslation('onboarding');
  if (!useCan()('activation:request'))
    return (
      <Text size="sm" fw={500}>
        {t('ownerOnly')}
      </Text>
    );
  return (
    <Button onClick={() => onRequest('production')} {...(isSecondary && { variant: 'default', size: 'xs' })}>
      {t('going.ask')}
    </Button>
  );
}
