import { Stack } from '@mantine/core';
import { CreditCard } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { listSessions } from '../../../../wire/card-form.ts';
import { useReadPages } from '../../api/pages.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { ShortId } from '../../parts/short-id.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { AppearanceEditor } from './appearance-editor.tsx';

type SessionRow = ValueOf<typeof listSessions.data>['sessions'][number];

const ROWS = { rows: 'sessions', key: ({ id }: SessionRow) => id } as const;
const TONES = {
  open: 'info',
  completed: 'good',
  cancelled: 'quiet',
  failed: 'bad',
  expired: 'quiet',
  altered: 'bad',
} as const;

/** The card form: its appearance with the code for it, and the sessions of the last day. */
export function CardFormPage() {
  const { t } = useTranslation('cardForm');
  const { account, environment } = useTenant();
  const isTried = useCan()('workbench:use') && environment === 'sandbox';
  const list = useReadPages(listSessions, { params: { account, environment } }, ROWS);
  const origin = list.pages?.[0]?.origin;
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} hasTimes />
      <Stack gap="md">
        {isTried && origin !== undefined && <AppearanceEditor origin={origin} />}
        <Panel title={t('sessions.title')} description={t('sessions.text')}>
          <DataTable
            caption={t('sessions.title')}
            columns={useColumns()}
            rows={list.rows}
            rowKey={ROWS.key}
            next={list.next}
            error={list.error}
            onRetry={list.retry}
            live={list.live}
            empty={
              <EmptyState icon={CreditCard} title={t('sessions.emptyTitle')} order={3}>
                {t('sessions.emptyText')}
              </EmptyState>
            }
          />
        </Panel>
      </Stack>
    </>
  );
}

function useColumns(): readonly Column<SessionRow>[] {
  const { t } = useTranslation('cardForm');
  return [
    { name: 'id', header: t('sessions.id'), cell: ({ id }) => <ShortId id={id} /> },
    {
      name: 'state',
      header: t('sessions.state'),
      cell: ({ state }) => (
        <Badge tone={TONES[state]} title={t(`reasons.${state}`)}>
          {t(`states.${state}`)}
        </Badge>
      ),
    },
    { name: 'reason', header: t('sessions.reason'), visibleFrom: 'lg', cell: ({ state }) => t(`reasons.${state}`) },
    { name: 'card', header: t('sessions.card'), visibleFrom: 'md', cell: ({ card }) => card ?? '–' },
    {
      name: 'result',
      header: t('sessions.result'),
      visibleFrom: 'sm',
      cell: ({ capture, token }) => capture ?? token ?? '–',
    },
    {
      name: 'attempts',
      header: t('sessions.attempts'),
      isNumber: true,
      visibleFrom: 'md',
      cell: ({ attempts }) => attempts,
    },
    { name: 'created', header: t('sessions.created'), cell: ({ created_at }) => <Time value={created_at} /> },
    {
      name: 'ended',
      header: t('sessions.ended'),
      visibleFrom: 'sm',
      cell: ({ ended_at }) => <Time value={ended_at} />,
    },
  ];
}
