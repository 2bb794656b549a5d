import { Button, Group, Text } from '@mantine/core';
import { CreditCard } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { exportPayments } from '../../../../wire/exports.ts';
import { listPayments } from '../../../../wire/payments.ts';
import { useReadPages } from '../../api/pages.ts';
import type { Column } from '../../parts/data-table.tsx';
import { ListActions } from '../../parts/list-actions.tsx';
import { formatMoney, Money } from '../../parts/money.tsx';
import { NoRecords } from '../../parts/no-records.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { SearchedTable } from '../../parts/searched-table.tsx';
import { toOrderField, useSortOrder } from '../../parts/sort-order.ts';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useTimeZone } from '../../parts/time-zone.tsx';
import { TruncatedCard } from '../../parts/truncated-card.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { BatchBar, useSelection, useSelectionColumn } from './batch-bar.tsx';
import { toPaymentQuery, usePaymentFilters } from './filters.ts';
import { PaymentFilters } from './payment-filters.tsx';
import { ReasonText } from './reason-text.tsx';
import { ShareBadges } from './share-badges.tsx';

type PaymentRow = ValueOf<typeof listPayments.data>['payments'][number];

const rowKey = ({ id }: PaymentRow): string => id;

export function PaymentsPage() {
  const { t } = useTranslation('payments');
  const params = { ...useTenant() };
  const { account, environment } = params;
  const filters = usePaymentFilters();
  const sort = useSortOrder();
  const body = { ...toPaymentQuery(filters.values, useTimeZone()), ...toOrderField(sort.order) };
  const list = useReadPages(listPayments, { params, body }, { rows: 'payments', key: rowKey });
  const selection = useSelection(JSON.stringify([params, body]));
  const selectionColumn = useSelectionColumn(selection, list.rows);
  const columns = useColumns();
  const mayOperate = useCan()('payments:operate');
  const texts = t('empty', { returnObjects: true });
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t(`description.${environment}`)}
        hasTimes
        actions={
          <>
            {environment === 'sandbox' && <TestPaymentLink />}
            <ListActions
              list="payments"
              filters={filters}
              definition={exportPayments}
              params={params}
              filter={body}
              name={`payments-${environment}`}
            />
          </>
        }
      />
      <PaymentFilters {...filters} onRepeat={list.refresh} />
      <SearchedTable
        caption={t('caption')}
        columns={mayOperate ? [selectionColumn, ...columns] : columns}
        list={list}
        filters={filters}
        sort={{ column: 'created', ...sort }}
        rowKey={rowKey}
        to={({ id }) => `/a/${account}/${environment}/payments/${encodeURIComponent(id)}`}
        texts={texts}
        empty={<NoRecords icon={CreditCard} texts={texts} />}
      />
      {mayOperate && <BatchBar selection={selection} />}
    </>
  );
}

/** Leads to the page that sends a payment to the simulator. */
function TestPaymentLink() {
  const { t } = useTranslation('payments');
  const { account } = useTenant();
  if (!useCan()('workbench:use')) return null;
  return (
    <Button component={Link} to={`/a/${account}/sandbox/test-payment`} variant="default">
      {t('sendTest')}
    </Button>
  );
}

function useColumns(): readonly Column<PaymentRow>[] {
  const { t } = useTranslation('payments');
  return [
    {
      name: 'amount',
      header: t('columns.amount'),
      cell: (payment) => <CurrentAmount {...payment} />,
    },
    { name: 'status', header: t('columns.status'), cell: (payment) => <Status {...payment} /> },
    { name: 'card', header: t('columns.card'), cell: ({ card }) => <TruncatedCard card={card} /> },
    {
      name: 'reference',
      header: t('columns.reference'),
      visibleFrom: 'md',
      cell: ({ reference_code }) => (
        <Text span size="sm" truncate display="block" maw={200} title={reference_code ?? ''}>
          {reference_code ?? '–'}
        </Text>
      ),
    },
    { name: 'created', header: t('columns.created'), cell: ({ created_at }) => <Time value={created_at} /> },
  ];
}

/** Shows what the payment is worth now, and what was requested where that differs. */
function CurrentAmount({ amount, current_amount, currency }: PaymentRow) {
  const { t, i18n } = useTranslation('payments');
  return (
    <>
      <Money amount={current_amount} currency={currency} />
      {amount !== current_amount && (
        <Text size="xs" c="dimmed">
          {t('ofRequested', { amount: formatMoney(amount, currency, i18n.language) })}
        </Text>
      )}
    </>
  );
}

function Status({ status, reason, failure_cause, is_partly_captured, refund, is_in_doubt, is_altered }: PaymentRow) {
  const { t } = useTranslation('payments');
  return (
    <Group gap={6}>
      <StatusBadge status={status} />
      <ShareBadges {...{ is_partly_captured, refund }} />
      {is_altered && <StatusBadge status="altered" />}
      {is_in_doubt && <StatusBadge status="in-doubt" title={t('unknownOutcome.badge')} />}
      {reason !== null && (
        <Text span size="xs" c="dimmed" maw={220}>
          <ReasonText reason={reason} cause={failure_cause} />
        </Text>
      )}
    </Group>
  );
}
