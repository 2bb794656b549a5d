import { Alert, Group, Stack, Text } from '@mantine/core';
import { CircleAlert, PartyPopper } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { AskForProduction } from './ask-for-production.tsx';
import { type AskFor, doneCount, type Onboarding, paymentsStateIn } from './state.ts';

interface NewsProps {
  readonly onboarding: Onboarding;
  readonly onAsk: AskFor;
}

/** What matters more than the steps: that nothing works, or that they are done. */
export function News({ onboarding, onAsk }: NewsProps) {
  const { t } = useTranslation('onboarding');
  const { account, steps } = onboarding;
  if (account.status === 'suspended') {
    return (
      <Alert color="red" icon={<CircleAlert size={18} aria-hidden />}>
        {t('suspended')}
      </Alert>
    );
  }
  if (doneCount(steps) < steps.length) return null;
  // Who keeps cards alone is live without payments; nobody else should take them for granted.
  const payments = paymentsStateIn(onboarding, 'production');
  return (
    <Alert color="teal" icon={<PartyPopper size={18} aria-hidden />} title={t('finished.title')}>
      <Stack gap="sm">
        <Text size="sm">{t(`finished.${payments}`)}</Text>
        {payments === 'missing' && (
          <Group>
            <AskForProduction onAsk={onAsk} />
          </Group>
        )}
      </Stack>
    </Alert>
  );
}
