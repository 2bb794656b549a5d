import { Button, Skeleton, Stack, Text, Title } from '@mantine/core';
import { UserCheck } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { listApprovals } from '../../../../wire/approvals.ts';
import { useRead } from '../../api/hooks.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useDialog } from '../../parts/form-dialog.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { useMembership } from '../../session/tenant.ts';
import type { Approval } from './approval.ts';
import { ApprovalCard } from './approval-card.tsx';
import { type Decision, DecisionDialog } from './decision-dialog.tsx';
import type { ExecutionResult } from './execution-result.ts';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { NewLinkDialog } from './new-link-dialog.tsx';

const PENDING_STATUSES: readonly string[] = ['waiting', 'approved'];
const REFRESH_MS = 20_000;

export function ApprovalsPage() {
  const { t } = useTranslation('approvals');
  const { account } = useMembership();
  const { data, error, refetch } = useRead(
    listApprovals,
    { params: { account } },
    { refetchIntervalMs: REFRESH_MS, refetchOnMount: true },
  );
  const approvals = data?.approvals ?? [];
  const pending = approvals.filter(({ status }) => PENDING_STATUSES.includes(status));
  const past = approvals.filter(({ status }) => !PENDING_STATUSES.includes(status));
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} />
      {data === undefined && (error === null ? <Skeletons /> : <ErrorAlert error={error} onRetry={refetch} />)}
      {data !== undefined && <ApprovalLists pending={pending} past={past} />}
    </>
  );
}

function ApprovalLists({
  pending,
  past,
}: {
  readonly pending: readonly Approval[];
  readonly past: readonly Approval[];
}) {
  const { t } = useTranslation('approvals');
  const dialog = useDialog<{ decision: Decision; approval: Approval }>();
  const [result, setResult] = useState<ExecutionResult>();
  const decide = (decision: Decision, approval: Approval): void => dialog.open({ decision, approval });
  return (
    <Stack gap="xl">
      {pending.length === 0 ? (
        <NoApprovals />
      ) : (
        <Stack component="section" gap="md" aria-label={t('waiting')}>
          {pending.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} onDecide={decide} />
          ))}
        </Stack>
      )}
      {past.length > 0 && (
        <Stack component="section" gap="md">
          <Title order={2}>{t('past')}</Title>
          {past.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} onDecide={decide} />
          ))}
        </Stack>
      )}
      <DecisionDialog opened={dialog.opened} subject={dialog.subject} onClose={dialog.close} onResult={setResult} />
      <NewKeyDialog result={result?.kind === 'key' ? result : undefined} onStored={() => setResult(undefined)} />
      <NewLinkDialog result={result?.kind === 'link' ? result : undefined} onStored={() => setResult(undefined)} />
    </Stack>
  );
}

function NoApprovals() {
  const { t } = useTranslation('approvals');
  const { account, dual_control: isDualControl, capabilities } = useMembership();
  const maySet = capabilities.includes('account:settings');
  return (
    <EmptyState
      icon={UserCheck}
      title={t('empty.title')}
      action={
        !isDualControl &&
        maySet && (
          <Button component={Link} to={`/a/${account}/settings`} variant="default">
            {t('empty.action')}
          </Button>
        )
      }
    >
      <Text inherit>{isDualControl ? t('empty.textOn') : maySet ? t('empty.textOff') : t('empty.textOffReader')}</Text>
    </EmptyState>
  );
}

const Skeletons = () => (
  <Stack gap="md" aria-hidden>
    <Skeleton height={170} />
    <Skeleton height={170} />
  </Stack>
);
