import { Anchor, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { DataTable } from '../../parts/data-table.tsx';
import { Money } from '../../parts/money.tsx';
import { ReasonText } from '../payments/reason-text.tsx';
import { useNumberFormats } from './number-formats.ts';
import classes from './overview.module.css';
import type { Usage } from './series.ts';

interface PaymentMoneyProps {
  /** Undefined while it loads. */
  readonly usage: Usage | undefined;
  /** Returns the address of the payments with these filters; absent where the user may not read them. */
  readonly toPayments?: ((filters: Readonly<Record<string, string>>) => string) | undefined;
}

/** Shows the money of the payments by currency, and why payments were not approved. */
export function PaymentMoney(props: PaymentMoneyProps) {
  const { t } = useTranslation('overview');
  return (
    <section aria-labelledby="money">
      <Title order={2} size="h4" id="money">
        {t('money.title')}
      </Title>
      <Text size="xs" c="dimmed" mb="sm">
        {t('money.text')}
      </Text>
      <Stack gap="md">
        <Currencies {...props} />
        <Reasons {...props} />
      </Stack>
    </section>
  );
}

function Card({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const id = useId();
  return (
    <Paper component="section" withBorder p="md" aria-labelledby={id} className={classes['card'] ?? ''}>
      <Title order={3} size="h5" id={id} mb="xs">
        {title}
      </Title>
      {children}
    </Paper>
  );
}

function Nothing({ text }: { readonly text: string }) {
  return (
    <Text size="sm" c="dimmed" py="lg" ta="center">
      {text}
    </Text>
  );
}

const SUMS = ['authorized', 'collected', 'refunded', 'net'] as const;

function Currencies({ usage, toPayments }: PaymentMoneyProps) {
  const { t } = useTranslation('overview');
  const { whole } = useNumberFormats();
  return (
    <Card title={t('money.byCurrency')}>
      <DataTable
        caption={t('money.byCurrency')}
        rows={usage?.currencies}
        rowKey={({ currency }) => currency}
        skeletonRows={2}
        empty={<Nothing text={t('money.none')} />}
        columns={[
          {
            name: 'currency',
            header: t('money.currency'),
            cell: ({ currency }) => <Rows to={toPayments?.({ currency })}>{currency}</Rows>,
          },
          {
            name: 'approved',
            header: t('money.approved'),
            isNumber: true,
            cell: ({ approved }) => whole(approved),
          },
          ...SUMS.map((name) => ({
            name,
            header: t(`money.${name}`),
            isNumber: true,
            cell: (sums: Usage['currencies'][number]) => <Money amount={sums[name]} currency={sums.currency} />,
          })),
        ]}
      />
    </Card>
  );
}

function Reasons({ usage, toPayments }: PaymentMoneyProps) {
  const { t } = useTranslation('overview');
  const { whole, share } = useNumberFormats();
  const total = usage?.reasons.reduce((sum, { number }) => sum + number, 0) ?? 0;
  return (
    <Card title={t('money.reasons')}>
      <DataTable
        caption={t('money.reasons')}
        rows={usage?.reasons}
        rowKey={({ status, reason }) => `${status}/${reason}`}
        skeletonRows={2}
        empty={<Nothing text={t('money.noReasons')} />}
        columns={[
          {
            name: 'reason',
            header: t('money.reason'),
            cell: ({ status, reason }) => (
              <Rows to={toPayments?.({ status })}>
                <ReasonText reason={reason} />
              </Rows>
            ),
          },
          {
            name: 'number',
            header: t('money.payments'),
            isNumber: true,
            cell: ({ number }) => whole(number),
          },
          {
            name: 'share',
            header: t('money.share'),
            isNumber: true,
            cell: ({ number }) => share(number / total),
          },
        ]}
      />
    </Card>
  );
}

/** Links to the rows, where the user may read them. */
function Rows({ to, children }: { readonly to: string | undefined; readonly children: ReactNode }) {
  if (to === undefined) return children;
  return (
    <Anchor component={Link} to={to} inherit>
      {children}
    </Anchor>
  );
}
