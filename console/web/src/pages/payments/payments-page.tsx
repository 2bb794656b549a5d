import { Button, Group, Text } from '@mantine/core';
import { CreditCard } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { exportPayments } from '../../../../wire/exports.ts';
import { listPayments } from '../../../../wire/payments.ts';
import { useReadPages } from '../../api/pages.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { ExportButton } from '../../parts/export-button.tsx';
import { ListCount } from '../../parts/list-count.tsx';
import { formatMoney, Money } from '../../parts/money.tsx';
import { NoMatches, NoRecords } from '../../parts/no-records.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { SavedViews } from '../../parts/saved-views.tsx';
import { SearchDepth } from '../../parts/search-depth.tsx';
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
  const params = useTenant();
  const { account, environment } = params;
  const may = useCan();
  const filters = usePaymentFilters();
  const { order, toggle } = useSortOrder();
  const body = { ...toPaymentQuery(filters.values, useTimeZone()), ...toOrderField(order) };
  const { pages, rows, live, error, retry, next, refresh } = useReadPages(
    listPayments,
    { params: { ...params }, body },
    { rows: 'payments', key: rowKey },
  );
  const selection = useSelection(JSON.stringify([params, body]));
  const selectionColumn = useSelectionColumn(selection, rows);
  const columns = useColumns();
  const mayOperate = may('payments:operate');
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t(`description.${environment}`)}
        hasTimes
        actions={<Actions filters={filters} body={body} />}
      />
      <PaymentFilters {...filters} onRepeat={refresh} />
      <DataTable
        caption={t('caption')}
        columns={mayOperate ? [selectionColumn, ...columns] : columns}
        rows={rows}
        live={live}
        sort={{ column: 'created', order, toggle }}
        rowKey={rowKey}
        to={({ id }) => `/a/${account}/${environment}/payments/${encodeURIComponent(id)}`}
        error={error}
        onRetry={retry}
        empty={<NoPayments isFiltered={filters.isFiltered} onClear={filters.clear} />}
        next={next && { ...next, label: filters.isFiltered ? t(`search.${order}`) : t(`next.${order}`) }}
      />
      <ListCount shown={rows?.length} count={pages?.[0]?.count} hasNext={next !== undefined} />
      {filters.isFiltered && <SearchDepth order={order} to={pages?.at(-1)?.searched_back_to ?? null} />}
      {mayOperate && <BatchBar selection={selection} />}
    </>
  );
}

interface ActionsProps {
  readonly filters: ReturnType<typeof usePaymentFilters>;
  readonly body: ReturnType<typeof toPaymentQuery>;
}

function Actions({ filters: { values, isFiltered, applyView }, body }: ActionsProps) {
  const params = useTenant();
  const may = useCan();
  return (
    <>
      {params.environment === 'sandbox' && <TestPaymentLink />}
      <SavedViews list="payments" values={values} onApply={applyView} />
      {may('records:export') && (
        <ExportButton
          definition={exportPayments}
          params={{ ...params }}
          filter={body}
          name={`payments-${params.environment}`}
          isFiltered={isFiltered}
        />
      )}
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

interface NoPaymentsProps {
  readonly isFiltered: boolean;
  readonly onClear: () => void;
}

function NoPayments({ isFiltered, onClear }: NoPaymentsProps) {
  const { t } = useTranslation('payments');
  if (!isFiltered) return <NoRecords icon={CreditCard} texts={t('empty', { returnObjects: true })} />;
  return (
    <NoMatches
      title={t('empty.filteredTitle')}
      text={t('empty.filteredText')}
      clearLabel={t('filters.clear')}
      onClear={onClear}
    />
  );
}
