import { Anchor, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listRequests } from '../../../../wire/request-log.ts';
import type { CallError } from '../../api/call.ts';
import type { LiveList } from '../../api/pages.ts';
import { CopyField } from '../../parts/copy.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { Details } from '../../parts/details.tsx';
import { formatNumber } from '../../parts/number.ts';
import { RowDetail, RowOpener, useOpenRows } from '../../parts/row-opener.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { useApiErrorText, useReasonPattern } from './api-errors.ts';

export type LoggedRequest = ValueOf<typeof listRequests.data>['requests'][number];

interface RequestTableProps {
  readonly requests: readonly LoggedRequest[] | undefined;
  readonly live: LiveList;
  readonly error: CallError | null;
  readonly onRetry: () => void;
  readonly empty: ReactNode;
  readonly next: { readonly onClick: () => void; readonly isLoading: boolean; readonly label: string } | undefined;
  /** Returns the address of the page of a key; absent where the reader may not see it. */
  readonly keyPage?: ((id: string) => string) | undefined;
  /** More columns, after the request. */
  readonly columns?: readonly Column<LoggedRequest>[];
}

const rowKey = ({ id }: LoggedRequest): string => id;

/** The rows of a page of the log. */
export const REQUEST_ROWS = { rows: 'requests', key: rowKey } as const;

/** Shows recorded requests, each with its details on demand. */
export function RequestTable({ requests, onRetry, keyPage, columns = [], ...table }: RequestTableProps) {
  const { t } = useTranslation('requestLog');
  const { isOpen, toggle } = useOpenRows(rowKey);
  const [at, request, ...others] = useColumns(isOpen, toggle);
  return (
    <DataTable
      caption={t('caption')}
      columns={[at, request, ...columns, ...others]}
      rows={requests}
      rowKey={rowKey}
      renderDetail={(row) =>
        isOpen(row) && (
          <RowDetail>
            <RequestDetail request={row} keyPage={keyPage} />
          </RowDetail>
        )
      }
      onRetry={onRetry}
      skeletonRows={8}
      {...table}
    />
  );
}

type Columns = readonly [Column<LoggedRequest>, Column<LoggedRequest>, ...Column<LoggedRequest>[]];

function useColumns(isOpen: (row: LoggedRequest) => boolean, toggle: (row: LoggedRequest) => void): Columns {
  const { t, i18n } = useTranslation('requestLog');
  return [
    {
      name: 'at',
      header: t('columns.at'),
      cell: (row) => (
        <RowOpener
          at={row.at}
          label={t('detail.show', { request: `${row.method} ${row.route}` })}
          isOpen={isOpen(row)}
          onClick={() => toggle(row)}
        />
      ),
    },
    { name: 'request', header: t('columns.request'), cell: (row) => <Route {...row} /> },
    { name: 'result', header: t('columns.result'), cell: (row) => <Result {...row} /> },
    { name: 'key', header: t('columns.key'), visibleFrom: 'md', cell: ({ api_key }) => <KeyName apiKey={api_key} /> },
    {
      name: 'duration',
      header: t('columns.duration'),
      visibleFrom: 'lg',
      isNumber: true,
      cell: ({ duration_us }) => formatDuration(duration_us, i18n.language),
    },
  ];
}

const MICROSECONDS_PER_MS = 1000;

const formatDuration = (microseconds: number, language: string): string =>
  formatNumber(microseconds / MICROSECONDS_PER_MS, language, {
    style: 'unit',
    unit: 'millisecond',
    maximumFractionDigits: 1,
  });

const Route = ({ method, route }: LoggedRequest) => (
  <Text span size="sm" ff="monospace" style={{ overflowWrap: 'anywhere' }}>
    {method} {route}
  </Text>
);

const toneOf = (status: number) => (status >= 500 ? 'bad' : status >= 400 ? 'attention' : 'good');

function Result({ status, error, repeats }: LoggedRequest) {
  const { t, i18n } = useTranslation('requestLog');
  const errorText = useApiErrorText();
  return (
    <Stack gap={2} align="flex-start">
      <Badge tone={toneOf(status)}>{status}</Badge>
      {error !== null && (
        <Text span size="xs" c="dimmed" maw={260}>
          {errorText(error)}
        </Text>
      )}
      {repeats > 0 && (
        <Text span size="xs" fw={500}>
          {t('repeats', { count: repeats, number: formatNumber(repeats, i18n.language) })}
        </Text>
      )}
    </Stack>
  );
}

function KeyName({ apiKey }: { readonly apiKey: LoggedRequest['api_key'] }) {
  const { t } = useTranslation('requestLog');
  return (
    <Text span size="sm" truncate display="block" maw={200} title={apiKey?.name ?? ''} c={apiKey ? '' : 'dimmed'}>
      {apiKey === null ? t('unknownKey') : (apiKey.name ?? apiKey.id)}
    </Text>
  );
}

interface RequestDetailProps extends Pick<RequestTableProps, 'keyPage'> {
  readonly request: LoggedRequest;
}

/** Shows the remaining members of a request. */
function RequestDetail({ request, keyPage }: RequestDetailProps) {
  const { t, i18n } = useTranslation('requestLog');
  const reasonText = useReasonPattern();
  const { error, reason, field, api_key: key, address, request_id, duration_us, at } = request;
  const code = (label: string, value: string | null) =>
    value === null ? undefined : { label, value: <code>{value}</code> };
  return (
    <Details
      items={[
        code(t('detail.error'), error),
        reason === null ? undefined : { label: t('detail.reason'), value: reasonText(reason) },
        code(t('detail.field'), field),
        { label: t('detail.requestId'), value: <CopyField value={request_id} label={t('detail.requestId')} /> },
        { label: t('detail.address'), value: <CopyField value={address} label={t('detail.address')} /> },
        key === null
          ? undefined
          : {
              label: t('detail.key'),
              value:
                keyPage === undefined || key.name === null ? (
                  <CopyField value={key.id} label={t('detail.key')} />
                ) : (
                  <Anchor component={Link} to={keyPage(key.id)} inherit>
                    {key.name}
                  </Anchor>
                ),
            },
        { label: t('columns.duration'), value: formatDuration(duration_us, i18n.language) },
        { label: t('detail.at'), value: <code>{at}</code> },
      ]}
    />
  );
}
