import { Alert, Anchor, Box, Button, Modal, Stack, Text } from '@mantine/core';
import { CircleCheck } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listProcessors } from '../../../../wire/operator.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { CopyField } from '../../parts/copy.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { useDialog } from '../../parts/form-dialog.tsx';
import { shortenId } from '../../parts/short-id.tsx';
import { Time } from '../../parts/time.tsx';

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

const PROBLEMS = ['timeout', 'not-found', 'contradiction'] as const;
type Problem = (typeof PROBLEMS)[number];

const isProblem = (word: string | null): word is Problem => (PROBLEMS as readonly (string | null)[]).includes(word);

function useProblemText(): (problem: string | null) => string {
  const { t } = useTranslation('operator');
  return (problem) => (isProblem(problem) ? t(`processors.problem.${problem}`) : (problem ?? '–'));
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
      cell: ({ problem }) => problemText(problem),
    },
    {
      name: 'resolve',
      header: t('processors.inDoubtColumns.resolve'),
      isHeaderHidden: true,
      cell: (payment) => <ResolveButton id={payment.id} onClick={() => onResolve(payment)} />,
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

function ResolveButton({ id, onClick }: { readonly id: string; readonly onClick: () => void }) {
  const { t } = useTranslation('operator');
  return (
    <Button variant="default" size="xs" onClick={onClick} aria-label={`${t('processors.resolve')}: ${id}`}>
      {t('processors.resolve')}
    </Button>
  );
}

interface ResolveDialogProps {
  readonly opened: boolean;
  readonly payment: InDoubtPayment | undefined;
  readonly onClose: () => void;
}

const buildCommand = (
  { account, environment, operation, id }: InDoubtPayment,
  outcome: 'accepted' | 'refused',
): string =>
  [
    'npx cardvault payments resolve',
    `--account ${account}`,
    `--environment ${environment}`,
    `--transaction ${operation ?? id}`,
    `--outcome ${outcome}`,
  ].join(' \\\n  ');

/**
 * Shows the commands that resolve a payment. The console cannot do it: the operator has to check the processor's
 * records and run a command on the server.
 */
function ResolveDialog({ opened, payment, onClose }: ResolveDialogProps) {
  const { t } = useTranslation('operator');
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('processors.resolveTitle')}
      size="lg"
      closeButtonProps={{ 'aria-label': t('processors.close') }}
    >
      {payment !== undefined && (
        <Stack gap="md">
          <Text size="sm">{t('processors.resolveText')}</Text>
          <CodeBlock label={t('processors.accepted')} code={buildCommand(payment, 'accepted')} />
          <CodeBlock label={t('processors.refused')} code={buildCommand(payment, 'refused')} />
          <Alert color="yellow">{t('processors.resolveWarning')}</Alert>
        </Stack>
      )}
    </Modal>
  );
}
