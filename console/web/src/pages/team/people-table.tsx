import { ActionIcon, Group, Menu, Stack, Text } from '@mantine/core';
import { Ellipsis, Users } from 'lucide-react';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import type { CallError } from '../../api/call.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { Badge, StatusBadge } from '../../parts/status-badge.tsx';
import { Time, useFormatTime } from '../../parts/time.tsx';
import type { Person } from './team-calls.ts';

export type PersonAction = 'change' | 'reset' | 'remove';

interface PeopleTableProps {
  readonly people: readonly Person[] | undefined;
  /** True when invitations are pending. */
  readonly isInvited: boolean;
  readonly error: CallError | null;
  readonly onRetry: () => void;
  readonly actionsFor: (person: Person) => readonly PersonAction[];
  readonly onAction: (action: PersonAction, person: Person) => void;
}

function useColumns({ actionsFor, onAction }: PeopleTableProps): readonly Column<Person>[] {
  const { t } = useTranslation('team');
  return [
    { name: 'person', header: t('columns.person'), cell: (person) => <PersonCell {...person} /> },
    { name: 'role', header: t('columns.role'), visibleFrom: 'sm', cell: ({ role }) => t(`role.${role}`) },
    {
      name: 'seen',
      header: t('columns.seen'),
      visibleFrom: 'sm',
      cell: ({ last_active_at }) => <Time value={last_active_at} none={t('noSession')} />,
    },
    {
      name: 'joined',
      header: t('columns.joined'),
      visibleFrom: 'md',
      cell: ({ joined_at }) => <Time value={joined_at} isDay />,
    },
    {
      name: 'actions',
      header: t('columns.actions'),
      isHeaderHidden: true,
      width: 56,
      cell: (person) => <Actions person={person} actions={actionsFor(person)} onAction={onAction} />,
    },
  ];
}

export function PeopleTable(props: PeopleTableProps) {
  const { people, isInvited, error, onRetry } = props;
  const { t } = useTranslation('team');
  const { t: operatorText } = useTranslation('operator');
  return (
    <DataTable
      caption={t('people')}
      columns={useColumns(props)}
      rows={people}
      rowKey={({ id }) => id}
      error={error}
      onRetry={onRetry}
      skeletonRows={3}
      empty={
        <EmptyState icon={Users} order={3} title={operatorText('account.noPeopleTitle')}>
          {isInvited ? operatorText('account.noPeopleInvited') : operatorText('account.noPeopleText')}
        </EmptyState>
      }
    />
  );
}

function PersonCell({ name, email, is_you, sign_in, locked_until }: Person) {
  const { t } = useTranslation('team');
  const formatTime = useFormatTime();
  // A lock ends within the hour.
  const until = locked_until === null ? '' : formatTime(locked_until);
  return (
    <Stack gap={0} miw={0}>
      <Group gap={8}>
        <Text span size="sm" fw={500} truncate maw={260} title={name}>
          {name}
        </Text>
        {is_you && <Badge tone="quiet">{t('you')}</Badge>}
        {sign_in !== 'active' && <StatusBadge status={sign_in} title={t(`signInHint.${sign_in}`, { time: until })} />}
      </Group>
      <Text span size="xs" c="dimmed" truncate maw={280} title={email}>
        {email}
      </Text>
    </Stack>
  );
}

const ACTION_TEXTS = { change: 'change.button', reset: 'reset.button', remove: 'remove.button' } as const;

function Actions({
  person,
  actions,
  onAction,
}: {
  readonly person: Person;
  readonly actions: readonly PersonAction[];
  readonly onAction: PeopleTableProps['onAction'];
}) {
  const { t } = useTranslation('team');
  const button = useRef<HTMLButtonElement>(null);
  if (actions.length === 0) return null;
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon ref={button} variant="subtle" color="gray" aria-label={t('menu', { name: person.name })}>
          <Ellipsis size={16} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {actions.map((action) => (
          <Menu.Item
            key={action}
            onClick={() => {
              // The dialog returns the focus to the button, because the menu closes.
              button.current?.focus();
              onAction(action, person);
            }}
            {...(action === 'remove' && { c: 'var(--mantine-color-error)' })}
          >
            {t(ACTION_TEXTS[action])}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
