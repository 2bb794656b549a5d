import { Button, Skeleton, Stack, Text, Title } from '@mantine/core';
import { UserCheck } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { listApprovals } from '../../../../wire/approvals.ts';
import { useRead } from '../../api/hooks.ts';
import { LIST_POLL_MS } from '../../api/pages.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useDialog } from '../../parts/form-dialog.tsx';
import { NewRows, useHeldRows } from '../../parts/held-rows.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { useMembership } from '../../session/tenant.ts';
import type { Approval } from './approval.ts';
import { ApprovalCard } from './approval-card.tsx';
import { type Decision, DecisionDialog } from './decision-dialog.tsx';
import type { ExecutionResult } from './execution-result.ts';
import { GroupBars } from './group-bar.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { NewLinkDialog } from './new-link-dialog.tsx';

const PENDING_STATUSES: readonly string[] = ['waiting', 'approved'];

export function ApprovalsPage() {
  const { t } = useTranslation('approvals');
  const { account } = useMembership();
  const { data, error, refetch } = useRead(
    listApprovals,
    { params: { account } },
    { refetchIntervalMs: LIST_POLL_MS, refetchOnMount: true },
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
  const { account } = useMembership();
  const held = useHeldRows(pending, { live: { version: account, isDeep: false }, key: ({ id }) => id });
  const decide = (decision: Decision, approval: Approval): void => dialog.open({ decision, approval });
  return (
    <Stack gap="xl">
      <NewRows {...held.news} />
      <GroupBars pending={held.rows ?? []} />
      {pending.length === 0 ? (
        <NoApprovals />
      ) : (
        <Stack component="section" gap="md" aria-label={t('waiting')} ref={held.frame} tabIndex={-1}>
          {held.rows?.map((approval) => (
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
