import { Alert, Group, Stack, Text } from '@mantine/core';
import { CircleAlert, PartyPopper } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { countDone, getPaymentsState, type Onboarding, type RequestPayments } from './onboarding-state.ts';
import { RequestProduction } from './request-production.tsx';

interface StatusNoticeProps {
  readonly onboarding: Onboarding;
  readonly onRequest: RequestPayments;
}

/** Shows a suspension, or that all steps are done. */
export function StatusNotice({ onboarding, onRequest }: StatusNoticeProps) {
  const { t } = useTranslation('onboarding');
  const { account, steps } = onboarding;
  if (account.status === 'suspended') {
    return (
      <Alert color="red" icon={<CircleAlert size={18} aria-hidden />}>
        {t('suspended')}
      </Alert>
    );
  }
  if (countDone(steps) < steps.length) return null;
  // An account that only stores cards is live without payments; others need the reminder.
  const payments = getPaymentsState(onboarding, 'production');
  return (
    <Alert color="teal" icon={<PartyPopper size={18} aria-hidden />} title={t('finished.title')}>
      <Stack gap="sm">
        <Text size="sm">{t(`finished.${payments}`)}</Text>
        {payments === 'missing' && (
          <Group>
            <RequestProduction onRequest={onRequest} />
          </Group>
        )}
      </Stack>
    </Alert>
  );
}
