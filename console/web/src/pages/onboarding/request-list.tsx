import { Button, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { withdrawActivationRequest } from '../../../../wire/onboarding.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { useDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { Panel } from '../../parts/panel.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useCan, useMembership } from '../../session/tenant.ts';
import classes from './onboarding.module.css';
import type { ActivationRequest } from './onboarding-state.ts';

interface RequestListProps {
  readonly requests: readonly ActivationRequest[];
  readonly onRequest: () => void;
}

/** Lists the requests with the decisions of the operator. */
export function RequestList({ requests, onRequest }: RequestListProps) {
  const { t } = useTranslation('onboarding');
  const mayRequest = useCan()('activation:request');
  const withdrawing = useDialog<ActivationRequest>();
  const columns = useColumns();
  return (
    <Panel
      title={t('requests.title')}
      actions={
        mayRequest && (
          <Button variant="default" onClick={onRequest}>
            {t('requests.ask')}
          </Button>
        )
      }
    >
      <DataTable
        caption={t('requests.caption')}
        columns={mayRequest ? [...columns, withdrawColumn(t('requests.withdraw'), withdrawing.open)] : columns}
        rows={requests}
        rowKey={({ id }) => id}
        renderDetail={(request) =>
          request.note === '' && request.decision_note === '' ? null : <Notes request={request} />
        }
        empty={
          <Text size="sm" c="dimmed">
            {t('requests.empty')}
          </Text>
        }
      />
      <Withdraw opened={withdrawing.opened} request={withdrawing.subject} onClose={withdrawing.close} />
    </Panel>
  );
}

function useColumns(): readonly Column<ActivationRequest>[] {
  const { t } = useTranslation('onboarding');
  return [
    { name: 'processor', header: t('requests.processor'), cell: ({ processor }) => processor },
    {
      name: 'environment',
      header: t('requests.environment'),
      cell: ({ environment }) => <EnvironmentBadge environment={environment} />,
    },
    { name: 'status', header: t('requests.status'), cell: ({ status }) => <StatusBadge status={status} /> },
    {
      name: 'asked',
      header: t('requests.asked'),
      visibleFrom: 'sm',
      cell: ({ created_at, requested_by }) => (
        <PersonAndTime at={created_at} label={t('requests.by', { name: requested_by })} />
      ),
    },
    {
      name: 'decision_note',
      header: t('requests.decisionNote'),
      visibleFrom: 'sm',
      cell: ({ decided_at, decided_by }) =>
        decided_at === null ? (
          '–'
        ) : (
          <PersonAndTime at={decided_at} label={t('requests.by', { name: decided_by ?? '–' })} />
        ),
    },
  ];
}

const withdrawColumn = (
  label: string,
  onWithdraw: (request: ActivationRequest) => void,
): Column<ActivationRequest> => ({
  name: 'withdraw',
  header: label,
  isHeaderHidden: true,
  isNumber: true,
  cell: (request) =>
    request.status === 'requested' && (
      <Button variant="subtle" color="gray" size="compact-sm" onClick={() => onWithdraw(request)}>
        {label}
      </Button>
    ),
});

const PersonAndTime = ({ at, label }: { readonly at: string; readonly label: string }) => (
  <>
    <Time value={at} />
    <Text size="xs" c="dimmed" className={classes['words'] ?? ''}>
      {label}
    </Text>
  </>
);

function Notes({ request: { note, decision_note } }: { readonly request: ActivationRequest }) {
  const { t } = useTranslation('onboarding');
  const notes = [
    { label: t('requests.yourNote'), text: note },
    { label: t('requests.decisionNote'), text: decision_note },
  ];
  return (
    <Stack gap={4}>
      {notes
        .filter(({ text }) => text !== '')
        .map(({ label, text }) => (
          <Text key={label} size="sm" className={classes['words'] ?? ''}>
            <b>{label}:</b> {text}
          </Text>
        ))}
    </Stack>
  );
}

interface WithdrawProps {
  readonly opened: boolean;
  readonly request: ActivationRequest | undefined;
  readonly onClose: () => void;
}

function Withdraw({ opened, request, onClose }: WithdrawProps) {
  const { t } = useTranslation('onboarding');
  const { account } = useMembership();
  const withdraw = useChange(withdrawActivationRequest);
  const onSuccess = (): void => {
    notifySuccess(t('requests.withdrawn'));
    onClose();
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('requests.withdrawTitle')}
      confirmLabel={t('requests.withdraw')}
      {...(request !== undefined && { environment: request.environment })}
      isBusy={withdraw.isPending}
      error={withdraw.error}
      onConfirm={() => withdraw.mutate({ params: { account, id: request?.id ?? '' } }, { onSuccess })}
    >
      {t('requests.withdrawText')}
    </ConfirmDialog>
  );
}
