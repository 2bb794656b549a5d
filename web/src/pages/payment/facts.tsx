import { Anchor, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { CopyField } from '../../parts/copy.tsx';
import { Details } from '../../parts/details.tsx';
import { Money } from '../../parts/money.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Time } from '../../parts/time.tsx';
import { TruncatedCard } from '../../parts/truncated-card.tsx';
import { useTenant } from '../../session/tenant.ts';
import type { Payment } from './payment-page.tsx';

/** Amounts and particulars, beside the history. */
export function Facts({ payment }: { readonly payment: Payment }) {
  const { t } = useTranslation('payments');
  const money = (amount: string) => <Money amount={amount} currency={payment.currency} />;
  return (
    <Stack gap="md">
      <Panel title={t('detail.amounts')}>
        <Details
          items={[
            { label: t('detail.asked'), value: money(payment.amount) },
            { label: t('detail.authorized'), value: money(payment.authorized_amount) },
            { label: t('detail.collected'), value: money(payment.collected_amount) },
            { label: t('detail.refunded'), value: money(payment.refunded_amount) },
          ]}
        />
      </Panel>
      <Panel title={t('detail.details')}>
        <Particulars payment={payment} />
      </Panel>
    </Stack>
  );
}

function Particulars({ payment }: { readonly payment: Payment }) {
  const { t } = useTranslation('payments');
  const { account, environment } = useTenant();
  const { token, reference_code, expires_at } = payment;
  return (
    <Details
      items={[
        { label: t('detail.card'), value: <TruncatedCard card={payment.card} /> },
        { label: t('detail.reference'), value: reference_code ?? t('detail.none') },
        { label: t('detail.processor'), value: payment.processor },
        { label: t('detail.created'), value: <Time value={payment.created_at} isRelative /> },
        expires_at === null ? undefined : { label: t('detail.expires'), value: <Time value={expires_at} isRelative /> },
        token === null
          ? undefined
          : {
              label: t('detail.token'),
              value: (
                <Anchor
                  component={Link}
                  to={`/a/${account}/${environment}/tokens/${encodeURIComponent(token)}`}
                  size="sm"
                  ff="monospace"
                >
                  {token}
                </Anchor>
              ),
            },
        { label: t('detail.id'), value: <CopyField value={payment.id} what={t('detail.id')} /> },
      ]}
    />
  );
}
