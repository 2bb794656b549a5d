import { Button, Skeleton, Stack, Text, Title } from '@mantine/core';
import { UserCheck } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import { listApprovals } from '../../../../wire/approvals.ts';
import { useRead } from '../../api/hooks.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useDialog } from '../../parts/form-dialog.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { useMembership } from '../../session/tenant.ts';
import { ApprovalCard } from './approval-card.tsx';
import { type Decision, DecisionDialog } from './decision-dialog.tsx';
import type { Made } from './made.ts';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { NewLinkDialog } from './new-link-dialog.tsx';

export type Approval = ValueOf<typeof listApprovals.data>['approvals'][number];

const OPEN: readonly string[] = ['waiting', 'approved'];
const READ_AGAIN_MS = 20_000;

export function ApprovalsPage() {
  const { t } = useTranslation('approvals');
  const { account } = useMembership();
  const { data, error, refetch } = useRead(
    listApprovals,
    { params: { account } },
    { every: READ_AGAIN_MS, anew: true },
  );
  const approvals = data?.approvals ?? [];
  const open = approvals.filter(({ status }) => OPEN.includes(status));
  const past = approvals.filter(({ status }) => !OPEN.includes(status));
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} />
      {data === undefined && (error === null ? <Skeletons /> : <ErrorAlert error={error} onRetry={refetch} />)}
      {data !== undefined && <Lists open={open} past={past} />}
    </>
  );
}

function Lists({ open, past }: { readonly open: readonly Approval[]; readonly past: readonly Approval[] }) {
  const { t } = useTranslation('approvals');
  const dialog = useDialog<{ decision: Decision; approval: Approval }>();
  const [made, setMade] = useState<Made>();
  const decide = (decision: Decision, approval: Approval): void => dialog.open({ decision, approval });
  return (
    <Stack gap="xl">
      {open.length === 0 ? (
        <Nothing />
      ) : (
        <Stack component="section" gap="md" aria-label={t('waiting')}>
          {open.map((approval) => (
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
      <DecisionDialog opened={dialog.opened} about={dialog.about} onClose={dialog.close} onMade={setMade} />
      <NewKeyDialog made={made?.kind === 'key' ? made : undefined} onStored={() => setMade(undefined)} />
      <NewLinkDialog made={made?.kind === 'link' ? made : undefined} onStored={() => setMade(undefined)} />
    </Stack>
  );
}

function Nothing() {
  const { t } = useTranslation('approvals');
  const { account, dual_control: isOn, capabilities } = useMembership();
  const maySet = capabilities.includes('account:settings');
  return (
    <EmptyState
      icon={UserCheck}
      title={t('empty.title')}
      action={
        !isOn &&
        maySet && (
          <Button component={Link} to={`/a/${account}/settings`} variant="default">
            {t('empty.action')}
          </Button>
        )
      }
    >
      <Text inherit>{isOn ? t('empty.textOn') : maySet ? t('empty.textOff') : t('empty.textOffReader')}</Text>
    </EmptyState>
  );
}

const Skeletons = () => (
  <Stack gap="md" aria-hidden>
    <Skeleton height={170} />
    <Skeleton height={170} />
  </Stack>
);
