import { Anchor, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listRequests } from '../../../../wire/request-log.ts';
import { CopyField } from '../../parts/copy.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { Details } from '../../parts/details.tsx';
import { formatNumber } from '../../parts/number.ts';
import { useRowDetails } from '../../parts/row-opener.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { useApiErrorText, useReasonPattern } from './api-errors.ts';

export type LoggedRequest = ValueOf<typeof listRequests.data>['requests'][number];

export interface RequestTableOptions {
  /** Returns the address of the page of a key; absent where the reader may not see it. */
  readonly keyPage?: (id: string) => string;
  /** More columns, after the request. */
  readonly columns?: readonly Column<LoggedRequest>[];
}

const rowKey = ({ id }: LoggedRequest): string => id;

/** The rows of a page of the log. */
export const REQUEST_ROWS = { rows: 'requests', key: rowKey } as const;

/** Returns the properties of the table of the log, whose rows open. */
export function useRequestTable({ keyPage, columns = [] }: RequestTableOptions) {
  const { t } = useTranslation('requestLog');
  const others = useColumns();
  const { opener, renderDetail } = useRowDetails<LoggedRequest>({
    keyOf: rowKey,
    header: t('columns.at'),
    labelOf: ({ method, route }) => t('detail.show', { request: `${method} ${route}` }),
    render: (request) => <RequestDetail request={request} keyPage={keyPage} />,
  });
  const request: Column<LoggedRequest> = {
    name: 'request',
    header: t('columns.request'),
    cell: (row) => <Route {...row} />,
  };
  return {
    caption: t('caption'),
    columns: [opener, request, ...columns, ...others],
    rowKey,
    renderDetail,
    skeletonRows: 8,
  };
}

function useColumns(): readonly Column<LoggedRequest>[] {
  const { t, i18n } = useTranslation('requestLog');
  return [
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

interface RequestDetailProps {
  readonly request: LoggedRequest;
  readonly keyPage: RequestTableOptions['keyPage'];
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
