import { Group, Progress, Skeleton, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Environment } from '../../../../../src/kernel/environment.ts';
import { showOnboarding } from '../../../../wire/onboarding.ts';
import { useRead } from '../../api/hooks.ts';
import { LIST_POLL_MS } from '../../api/pages.ts';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useDialog } from '../../parts/form-dialog.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { sandboxFirst } from '../../parts/sandbox-first.ts';
import { useScrollToHash } from '../../parts/scroll-to-hash.ts';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useMembership } from '../../session/tenant.ts';
import classes from './onboarding.module.css';
import { countDone, environmentToRequest, type Onboarding } from './onboarding-state.ts';
import { RequestDialog } from './request-form.tsx';
import { RequestList } from './request-list.tsx';
import { ShopPanel } from './shop-panel.tsx';
import { StatusNotice } from './status-notice.tsx';
import { StepList } from './step-list.tsx';
import { TryPanel } from './try-panel.tsx';

export function OnboardingPage() {
  const { t } = useTranslation('onboarding');
  const { account } = useMembership();
  const query = useRead(showOnboarding, { params: { account } }, { refetchIntervalMs: LIST_POLL_MS });
  const { data, error } = query;
  useScrollToHash(data !== undefined);
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} />
      <Stack gap="md">
        {error && <ErrorAlert error={error} onRetry={() => void query.refetch()} />}
        {data !== undefined && <OnboardingContent onboarding={data} />}
        {data === undefined && !error && <Skeletons />}
      </Stack>
    </>
  );
}

const Skeletons = () => (
  <Panel>
    <Skeleton height={18} width="20%" />
    {['a', 'b', 'c', 'd', 'e', 'f'].map((each) => (
      <Group key={each} wrap="nowrap" align="flex-start">
        <Skeleton circle height={28} />
        <Stack gap={6} flex={1}>
          <Skeleton height={18} width="35%" />
          <Skeleton height={14} width="80%" />
        </Stack>
      </Group>
    ))}
  </Panel>
);

function OnboardingContent({ onboarding }: { readonly onboarding: Onboarding }) {
  const { t } = useTranslation('onboarding');
  const dialog = useDialog<Environment>();
  const { account, payments, steps } = onboarding;
  const request = (environment: Environment): void => dialog.open(environment);
  const done = countDone(steps);
  const progress = t('progress', { done, total: steps.length });
  return (
    <>
      <StatusNotice onboarding={onboarding} onRequest={request} />
      <div className={classes['columns']}>
        <Panel title={progress}>
          <Progress value={(100 * done) / steps.length} aria-label={progress} color="teal" size="sm" />
          <StepList onboarding={onboarding} onRequest={request} />
        </Panel>
        <Stack gap="md">
          <Panel title={account.name}>
            <div>
              <StatusBadge status={account.status} />
              <Text size="sm" c="dimmed" mt={6}>
                {t('account.made')} <Time value={account.created_at} isDay />
              </Text>
            </div>
          </Panel>
          <Payments payments={payments} />
        </Stack>
      </div>
      <TryPanel payments={payments} />
      <ShopPanel />
      <RequestList requests={onboarding.requests} onRequest={() => request(environmentToRequest(onboarding))} />
      <RequestDialog
        opened={dialog.opened}
        onClose={dialog.close}
        onboarding={onboarding}
        suggested={dialog.subject ?? 'sandbox'}
      />
    </>
  );
}

function Payments({ payments }: { readonly payments: Onboarding['payments'] }) {
  const { t } = useTranslation('onboarding');
  return (
    <Panel title={t('payments.title')}>
      <Stack gap="sm">
        {sandboxFirst(payments).map(({ environment, enabled, processor }) => (
          <div key={environment}>
            <EnvironmentBadge environment={environment} />
            <Text size="sm" mt={4} {...(!enabled && { c: 'dimmed' })}>
              {enabled ? t('payments.on', { processor: processor ?? '–' }) : t('payments.off')}
            </Text>
          </div>
        ))}
      </Stack>
    </Panel>
  );
}
