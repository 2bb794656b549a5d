import { Alert, Grid, Skeleton, Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { showPayment } from '../../../../wire/payments.ts';
import { useRead } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { formatMoney } from '../../parts/money.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { TimeZone } from '../../parts/time-zone.tsx';
import { useTenant } from '../../session/tenant.ts';
import { isReason, ReasonText } from '../payments/reason-text.tsx';
import { ShareBadges } from '../payments/share-badges.tsx';
import { History } from './history.tsx';
import { Operations } from './operations.tsx';
import type { Payment } from './payment.ts';
import { Amounts, PaymentDetails } from './payment-details.tsx';
import { UnknownOutcomeNotice } from './unknown-outcome-notice.tsx';

const POLL_MS = 5000;

export function PaymentPage() {
  const { t } = useTranslation('payments');
  const { account, environment } = useTenant();
  const { id = '' } = useParams();
  const args = { params: { account, environment, id } };
  const { data: payment, error, refetch } = useRead(showPayment, args);
  const back = { to: `/a/${account}/${environment}/payments`, label: t('back') };
  if (payment !== undefined) {
    return (
      <>
        {payment.is_in_doubt && <PaymentPoll args={args} />}
        <PaymentContent payment={payment} back={back} />
      </>
    );
  }
  return (
    <>
      <PageHeader title={t('detail.fallbackTitle')} back={back} />
      {error === null ? <Skeletons /> : <ErrorAlert error={error} onRetry={refetch} />}
    </>
  );
}

/** Reloads the payment periodically while its outcome is unknown. */
function PaymentPoll({ args }: { readonly args: { readonly params: Readonly<Record<string, string>> } }) {
  useRead(showPayment, args, { refetchIntervalMs: POLL_MS });
  return null;
}

interface PaymentContentProps {
  readonly payment: Payment;
  readonly back: { readonly to: string; readonly label: string };
}

function PaymentContent({ payment, back }: PaymentContentProps) {
  const { t, i18n } = useTranslation('payments');
  const [hasConflict, setConflict] = useState(false);
  return (
    <>
      <PageHeader
        title={formatMoney(payment.current_amount, payment.currency, i18n.language)}
        {...(payment.type !== null && { description: t(`type.${payment.type}`) })}
        beside={<Badges payment={payment} />}
        back={back}
        actions={<Operations payment={payment} onConflict={setConflict} />}
      />
      <Stack gap="md">
        {hasConflict && <ConflictNotice onClose={() => setConflict(false)} />}
        <Notices payment={payment} />
        <Amounts payment={payment} />
        <Grid gap="md">
          <Grid.Col span={{ base: 12, md: 7 }}>
            <Panel title={t('detail.history')} description={<TimeZone />}>
              <History payment={payment} />
            </Panel>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 5 }}>
            <Panel title={t('detail.details')}>
              <PaymentDetails payment={payment} />
            </Panel>
          </Grid.Col>
        </Grid>
      </Stack>
    </>
  );
}

/** The payment changed while the user decided about it. */
function ConflictNotice({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('payments');
  return (
    <Alert color="yellow" role="alert" withCloseButton closeButtonLabel={t('close')} onClose={onClose}>
      {t('act.changed')}
    </Alert>
  );
}

function Badges({ payment: { status, is_partly_captured, refund, is_in_doubt } }: { readonly payment: Payment }) {
  const { t } = useTranslation('payments');
  return (
    <>
      <StatusBadge status={status} />
      <ShareBadges {...{ is_partly_captured, refund }} />
      {is_in_doubt && <StatusBadge status="in-doubt" title={t('unknownOutcome.badge')} />}
    </>
  );
}

function Notices({ payment }: { readonly payment: Payment }) {
  const { t } = useTranslation('payments');
  const { unknown_outcome, is_altered, reason, failure_cause } = payment;
  return (
    <>
      {is_altered && (
        <Alert color="red" role="alert" title={t('alteredTitle')}>
          {t('alteredText')}
        </Alert>
      )}
      {unknown_outcome !== null && <UnknownOutcomeNotice payment={payment} unknown={unknown_outcome} />}
      {reason !== null && (
        <Alert color="gray" title={<ReasonText reason={reason} cause={failure_cause} />}>
          {failure_cause !== null ? t(`causeAdvice.${failure_cause}`) : isReason(reason) && t(`advice.${reason}`)}
        </Alert>
      )}
    </>
  );
}

function Skeletons() {
  return (
    <Grid gap="md" aria-hidden>
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Skeleton height={320} />
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Skeleton height={320} />
      </Grid.Col>
    </Grid>
  );
}
