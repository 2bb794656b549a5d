import { Alert, Button, SimpleGrid, Skeleton, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { resumeAccount, sealAccount, showAccount, suspendAccount } from '../../../../wire/operator.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { ConfirmButton } from '../../parts/confirm-dialog.tsx';
import { CopyField } from '../../parts/copy.tsx';
import { Details } from '../../parts/details.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { sandboxFirst } from '../../parts/sandbox-first.ts';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { JoinAccount } from '../operator-accounts/join-account.tsx';
import type { Account, AccountView } from './account.ts';
import { AccountRequests } from './account-requests.tsx';
import { AccountTeam } from './account-team.tsx';
import { PaymentsPanel } from './payments-panel.tsx';

export function OperatorAccountPage() {
  const { t } = useTranslation('operator');
  const { id = '' } = useParams();
  const { data, error, refetch } = useRead(showAccount, { params: { id } });
  const back = { to: '/operator/accounts', label: t('account.back') };
  if (data !== undefined) return <AccountContent view={data} back={back} />;
  return (
    <>
      <PageHeader title={t('accounts.columns.name')} back={back} />
      {error === null ? <Skeletons /> : <ErrorAlert error={error} onRetry={refetch} />}
    </>
  );
}

interface AccountContentProps {
  readonly view: AccountView;
  readonly back: { readonly to: string; readonly label: string };
}

function AccountContent({ view: { account, payments }, back }: AccountContentProps) {
  const { t } = useTranslation('operator');
  return (
    <>
      <PageHeader
        title={account.name}
        back={back}
        beside={<StatusBadge status={account.is_altered ? 'altered' : account.status} />}
        actions={account.is_altered ? <SealButton account={account} /> : <SuspensionButton account={account} />}
      />
      <Stack gap="md">
        {account.is_altered && <Alert color="red">{t('account.alteredNotice')}</Alert>}
        {account.status === 'suspended' && !account.is_altered && (
          <Alert color="red">{t('account.suspendedNotice')}</Alert>
        )}
        <JoinAccount account={account} />
        {account.open_requests > 0 && <AccountRequests account={account} />}
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
          {sandboxFirst(payments).map((each) => (
            <PaymentsPanel key={each.environment} account={account} payments={each} />
          ))}
        </SimpleGrid>
        <AccountTeam account={account.id} />
        <Facts account={account} />
      </Stack>
    </>
  );
}

function Facts({ account }: { readonly account: Account }) {
  const { t } = useTranslation('operator');
  const { sandbox_keys, production_keys } = account;
  return (
    <Panel title={t('account.facts')}>
      <Details
        items={[
          { label: t('account.id'), value: <CopyField value={account.id} label={t('account.id')} /> },
          { label: t('account.created'), value: <Time value={account.created_at} isRelative /> },
          { label: t('account.people'), value: account.people },
          {
            label: t('account.keys'),
            value: t('accounts.keysValue', { sandbox: sandbox_keys, production: production_keys }),
          },
        ]}
      />
    </Panel>
  );
}

/** Suspends or reactivates the account. */
function SuspensionButton({ account: { id, name, status } }: { readonly account: Account }) {
  const { t } = useTranslation('operator');
  const isSuspended = status === 'suspended';
  const suspend = useChange(suspendAccount);
  const resume = useChange(resumeAccount);
  const change = isSuspended ? resume : suspend;
  const verb = isSuspended ? t('account.resume') : t('account.suspend');
  const confirm = (close: () => void): void => {
    const onSuccess = (): void => {
      close();
      notifySuccess(isSuspended ? t('account.resumed') : t('account.suspended'));
    };
    change.mutate({ params: { id } }, { onSuccess });
  };
  return (
    <ConfirmButton
      button={(open) => (
        <Button variant="default" onClick={open}>
          {verb}
        </Button>
      )}
      title={isSuspended ? t('account.resumeTitle', { name }) : t('account.suspendTitle', { name })}
      confirmLabel={verb}
      change={change}
      onConfirm={confirm}
      isDangerous={!isSuspended}
    >
      {isSuspended ? t('account.resumeText') : t('account.suspendText')}
    </ConfirmButton>
  );
}

/** Seals an altered account again, with the name that the operator confirms. */
function SealButton({ account: { id, name } }: { readonly account: Account }) {
  const { t } = useTranslation('operator');
  const [text, setText] = useState(name);
  const change = useChange(sealAccount);
  const openDialog = (open: () => void): void => {
    setText(name);
    open();
  };
  const confirm = (close: () => void): void => {
    const onSuccess = (): void => {
      close();
      notifySuccess(t('account.sealed'));
    };
    change.mutate({ params: { id }, body: { name: text } }, { onSuccess });
  };
  return (
    <ConfirmButton
      button={(open) => (
        <Button variant="default" onClick={() => openDialog(open)}>
          {t('account.seal')}
        </Button>
      )}
      title={t('account.sealTitle')}
      confirmLabel={t('account.seal')}
      change={change}
      onConfirm={confirm}
    >
      {t('account.sealText')}
      <TextInput
        mt="md"
        label={t('account.sealName')}
        description={t('account.sealNameHint')}
        autoComplete="off"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
    </ConfirmButton>
  );
}

const Skeletons = () => (
  <Stack gap="md" aria-hidden>
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Skeleton height={220} />
      <Skeleton height={220} />
    </SimpleGrid>
    <Skeleton height={240} />
  </Stack>
);
