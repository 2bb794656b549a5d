import { Anchor, Box, Button, Group, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { CircleCheck } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { checkPaymentAsOperator, type listProcessors, resolvePaymentAsOperator } from '../../../../wire/operator.ts';
import { useChange } from '../../api/hooks.ts';
import { CopyField } from '../../parts/copy.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { FormDialog, useDialog } from '../../parts/form-dialog.tsx';
import { notifySuccess, useNotifyResult } from '../../parts/notifications.tsx';
import { shortenId } from '../../parts/short-id.tsx';
import { Time } from '../../parts/time.tsx';
import { useProblemText } from '../payment/problem-text.ts';
import { ResolveForm } from '../payment/resolve-form.tsx';

type InDoubtPayment = ValueOf<typeof listProcessors.data>['in_doubt'][number];

export function InDoubtTable({ payments }: { readonly payments: readonly InDoubtPayment[] }) {
  const { t } = useTranslation('operator');
  const dialog = useDialog<InDoubtPayment>();
  return (
    <>
      <DataTable
        caption={t('processors.inDoubt')}
        columns={useColumns(dialog.open)}
        rows={payments}
        rowKey={({ account, environment, id }) => `${account}/${environment}/${id}`}
        empty={
          <EmptyState icon={CircleCheck} title={t('processors.noInDoubtTitle')} order={3}>
            {t('processors.noInDoubtText')}
          </EmptyState>
        }
      />
      <ResolveDialog opened={dialog.opened} payment={dialog.subject} onClose={dialog.close} />
    </>
  );
}

function useColumns(onResolve: (payment: InDoubtPayment) => void): readonly Column<InDoubtPayment>[] {
  const { t } = useTranslation('operator');
  const problemText = useProblemText();
  return [
    {
      name: 'payment',
      header: t('processors.inDoubtColumns.payment'),
      cell: ({ id }) => <PaymentId id={id} />,
    },
    {
      name: 'account',
      header: t('processors.inDoubtColumns.account'),
      cell: ({ account, account_name: name }) => <AccountLink account={account} name={name} />,
    },
    {
      name: 'environment',
      header: t('processors.inDoubtColumns.environment'),
      cell: ({ environment }) => <EnvironmentBadge environment={environment} />,
    },
    {
      name: 'processor',
      header: t('processors.inDoubtColumns.processor'),
      visibleFrom: 'md',
      cell: ({ processor }) => processor,
    },
    {
      name: 'since',
      header: t('processors.inDoubtColumns.since'),
      cell: ({ since }) => <Time value={since} isRelative />,
    },
    {
      name: 'problem',
      header: t('processors.inDoubtColumns.problem'),
      visibleFrom: 'md',
      cell: ({ problem }) => (problem === null ? '–' : problemText(problem)),
    },
    {
      name: 'resolve',
      header: t('processors.inDoubtColumns.resolve'),
      isHeaderHidden: true,
      cell: (payment) => <Actions payment={payment} onResolve={() => onResolve(payment)} />,
    },
  ];
}

function PaymentId({ id }: { readonly id: string }) {
  const { t } = useTranslation('operator');
  return (
    <Box miw={150}>
      <CopyField value={id} label={t('processors.inDoubtColumns.payment')} shown={shortenId(id)} />
    </Box>
  );
}

const AccountLink = ({ account, name }: { readonly account: string; readonly name: string }) => (
  <Anchor component={Link} to={`/operator/accounts/${encodeURIComponent(account)}`} size="sm">
    {name}
  </Anchor>
);

interface ActionsProps {
  readonly payment: InDoubtPayment;
  readonly onResolve: () => void;
}

function Actions({ payment, onResolve }: ActionsProps) {
  const { t } = useTranslation('operator');
  const { t: statusText } = useTranslation('status');
  const check = useChange(checkPaymentAsOperator);
  const start = (): void =>
    check.mutate(
      { params: paramsOf(payment) },
      {
        onSuccess: ({ is_in_doubt, status }) => {
          if (is_in_doubt) notifications.show({ color: 'yellow', message: t('processors.stillUnknown') });
          else notifySuccess(t('processors.checked', { status: statusText(status) }));
        },
      },
    );
  return (
    <Stack gap={4}>
      <Group gap={6} wrap="nowrap">
        <Button
          variant="default"
          size="xs"
          loading={check.isPending}
          onClick={start}
          aria-label={`${t('processors.check')}: ${payment.id}`}
        >
          {t('processors.check')}
        </Button>
        <Button
          variant="default"
          size="xs"
          onClick={onResolve}
          aria-label={`${t('processors.resolve')}: ${payment.id}`}
        >
          {t('processors.resolve')}
        </Button>
      </Group>
      {check.error !== null && <ErrorAlert error={check.error} />}
    </Stack>
  );
}

const paramsOf = ({ account, environment, id }: InDoubtPayment) => ({ id: account, where: environment, payment: id });

interface ResolveDialogProps {
  readonly opened: boolean;
  readonly payment: InDoubtPayment | undefined;
  readonly onClose: () => void;
}

/** Resolves a payment manually, after the operator has checked the records of the processor. */
function ResolveDialog({ opened, payment, onClose }: ResolveDialogProps) {
  const { t } = useTranslation('payments');
  const notifyResult = useNotifyResult();
  const resolve = useChange(resolvePaymentAsOperator);
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={t('resolve.title')}
      {...(payment !== undefined && { environment: payment.environment })}
      production={t('resolve.production')}
    >
      {payment !== undefined && (
        <ResolveForm
          transactionId={payment.operation ?? payment.id}
          reference={payment.operation ?? payment.id}
          onSubmit={(body) =>
            resolve.mutate(
              { params: paramsOf(payment), body },
              {
                onSuccess: ({ approval }) => {
                  notifyResult(approval, t('resolve.done'));
                  onClose();
                },
              },
            )
          }
          onCancel={onClose}
          isBusy={resolve.isPending}
          error={resolve.error}
        />
      )}
    </FormDialog>
  );
}
