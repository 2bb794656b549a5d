import { Anchor, Box, Button, Stack } from '@mantine/core';
import { CreditCard } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ReadList } from '../../api/pages.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { useFocusFallback } from '../../parts/focus-fallback.ts';
import { useDialog } from '../../parts/form-dialog.tsx';
import { Panel } from '../../parts/panel.tsx';
import { ShortId, shortenId } from '../../parts/short-id.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { CancelSession } from './cancel-session.tsx';
import type { SessionRow } from './session-row.ts';

export const SESSION_ROWS = { rows: 'sessions', key: ({ id }: SessionRow) => id } as const;

const TONES = {
  open: 'info',
  completed: 'good',
  cancelled: 'quiet',
  failed: 'bad',
  expired: 'quiet',
  altered: 'bad',
} as const;

/** The sessions of the last day with state, end and its reason; users who may delete captures cancel open ones. */
export function SessionsPanel({ list }: { readonly list: ReadList<unknown, SessionRow> }) {
  const { t } = useTranslation('cardForm');
  const mayCancel = useCan()('captures:delete');
  const dialog = useDialog<SessionRow>();
  const chosen = list.rows?.find(({ id }) => id === dialog.subject?.id);
  const hasEnded = chosen !== undefined && chosen.state !== 'open';
  const content = useFocusFallback(hasEnded ? `${chosen.id} ${dialog.opened}` : undefined);
  return (
    <Panel title={t('sessions.title')} description={t('sessions.text')}>
      <Box ref={content} tabIndex={-1} role="group" aria-label={t('sessions.title')}>
        <DataTable
          caption={t('sessions.title')}
          columns={useColumns(mayCancel ? dialog.open : undefined)}
          rows={list.rows}
          rowKey={SESSION_ROWS.key}
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
      </Box>
      {mayCancel && (
        <CancelSession opened={dialog.opened} session={dialog.subject} onClose={dialog.close} onRefused={list.retry} />
      )}
    </Panel>
  );
}

function useColumns(onCancel: ((session: SessionRow) => void) | undefined): readonly Column<SessionRow>[] {
  const { t } = useTranslation('cardForm');
  const columns: readonly Column<SessionRow>[] = [
    { name: 'id', header: t('sessions.id'), cell: ({ id }) => <ShortId id={id} /> },
    {
      name: 'state',
      header: t('sessions.state'),
      cell: ({ state }) => <Badge tone={TONES[state]}>{t(`states.${state}`)}</Badge>,
    },
    { name: 'reason', header: t('sessions.reason'), cell: (session) => <Reason session={session} /> },
    {
      name: 'card',
      header: t('sessions.card'),
      visibleFrom: 'md',
      cell: (session) => <CardAndResult session={session} />,
    },
    {
      name: 'created',
      header: t('sessions.created'),
      visibleFrom: 'lg',
      cell: ({ created_at }) => <Time value={created_at} />,
    },
    { name: 'ended', header: t('sessions.ended'), cell: ({ ended_at }) => <Time value={ended_at} /> },
  ];
  if (onCancel === undefined) return columns;
  return [
    ...columns,
    {
      name: 'actions',
      header: t('sessions.actions'),
      isHeaderHidden: true,
      cell: (session) => session.state === 'open' && <CancelButton session={session} onClick={onCancel} />,
    },
  ];
}

/** Why the session has its state; of a session that did not fail by them, also how many entries were refused. */
function Reason({ session: { state, attempts } }: { readonly session: SessionRow }) {
  const { t } = useTranslation('cardForm');
  const isNamed = state === 'failed' || attempts === 0;
  return (
    <>
      {t(`reasons.${state}`)} {!isNamed && t('sessions.refused', { count: attempts })}
    </>
  );
}

/** The card of a completed session, and a link to the capture or token that it became. */
function CardAndResult({ session: { card, capture, token } }: { readonly session: SessionRow }) {
  const { account, environment } = useTenant();
  const id = capture ?? token;
  if (card === null || id === null) return '–';
  return (
    <Stack gap={0}>
      {card}
      <Anchor
        component={Link}
        to={`/a/${account}/${environment}/${capture === null ? 'tokens' : 'captures'}/${id}`}
        inherit
      >
        <ShortId id={id} />
      </Anchor>
    </Stack>
  );
}

interface CancelButtonProps {
  readonly session: SessionRow;
  readonly onClick: (session: SessionRow) => void;
}

function CancelButton({ session, onClick }: CancelButtonProps) {
  const { t } = useTranslation('cardForm');
  return (
    <Button
      variant="default"
      size="xs"
      aria-label={t('cancel.label', { id: shortenId(session.id) })}
      onClick={() => onClick(session)}
    >
      {t('cancel.button')}
    </Button>
  );
}
