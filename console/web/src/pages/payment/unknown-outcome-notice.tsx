import { Alert, Text } from '@mantine/core';
import { Hourglass } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Time, useNow } from '../../parts/time.tsx';
import type { Payment } from './payment.ts';

const REFRESH_MS = 10_000;
/** Time in which an unknown outcome is normal. */
const RECENT_MS = 120_000;

/** Shows that the outcome of an operation is unknown, since when, and what not to do until then. */
export function UnknownOutcomeNotice({ payment }: { readonly payment: Payment }) {
  const { t } = useTranslation('payments');
  const now = useNow(REFRESH_MS);
  const { type, created_at } = payment.operations.findLast(({ state }) => state === 'in_progress') ?? {
    type: payment.type ?? 'payment',
    created_at: payment.created_at,
  };
  return (
    <Alert
      color="yellow"
      role="status"
      icon={<Hourglass size={18} aria-hidden />}
      title={t(`unknownOutcome.title.${type}`)}
    >
      <Text size="sm" component="div">
        {t('unknownOutcome.text')}{' '}
        {now - Date.parse(created_at) < RECENT_MS ? (
          t('unknownOutcome.young')
        ) : (
          <>
            {t('unknownOutcome.since')} <Time value={created_at} />.
          </>
        )}{' '}
        {t('unknownOutcome.meanwhile')}
      </Text>
      <Text size="sm" fw={600} mt={6}>
        {t(`unknownOutcome.warning.${type}`)}
      </Text>
    </Alert>
  );
}
