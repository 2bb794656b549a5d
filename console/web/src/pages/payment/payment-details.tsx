import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { CopyField } from '../../parts/copy.tsx';
import { Details } from '../../parts/details.tsx';
import { Money } from '../../parts/money.tsx';
import { shortenId } from '../../parts/short-id.tsx';
import { Time } from '../../parts/time.tsx';
import { TruncatedCard } from '../../parts/truncated-card.tsx';
import { useTenant } from '../../session/tenant.ts';
import type { Payment } from './payment.ts';
import classes from './payment-details.module.css';

/** Shows the amounts of the payment. */
export function Amounts({ payment }: { readonly payment: Payment }) {
  const { t } = useTranslation('payments');
  const amounts = [
    [t('detail.asked'), payment.amount],
    [t('detail.authorized'), payment.authorized_amount],
    [t('detail.collected'), payment.collected_amount],
    [t('detail.refunded'), payment.refunded_amount],
  ] as const;
  return (
    <dl className={classes['amounts']} aria-label={t('detail.amounts')}>
      {amounts.map(([label, amount]) => (
        <div key={label} data-none={!/[1-9]/.test(amount) || undefined}>
          <dt>{label}</dt>
          <dd>
            <Money amount={amount} currency={payment.currency} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Shows the details of the payment beside the history. */
export function PaymentDetails({ payment }: { readonly payment: Payment }) {
  const { t } = useTranslation('payments');
  const { account, environment } = useTenant();
  const { token, reference_code, expires_at, operations } = payment;
  const operationRef = operations[0]?.operation_ref;
  return (
    <Details
      items={[
        { label: t('detail.card'), value: <TruncatedCard card={payment.card} /> },
        { label: t('detail.reference'), value: reference_code ?? t('detail.none') },
        { label: t('detail.processor'), value: payment.processor },
        operationRef === undefined
          ? undefined
          : {
              label: t('operation.operationRef'),
              value: <CopyField value={operationRef} label={t('operation.operationRef')} />,
            },
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
                  title={token}
                >
                  {shortenId(token)}
                </Anchor>
              ),
            },
        {
          label: t('detail.id'),
          value: <CopyField value={payment.id} label={t('detail.id')} shown={shortenId(payment.id)} />,
        },
      ]}
    />
  );
}
