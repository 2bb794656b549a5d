import { Group, Progress, Skeleton, Stack, Text } from '@mantine/core';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'react-router';
import type { Environment } from '../../../../../src/kernel/environment.ts';
import { showOnboarding } from '../../../../wire/onboarding.ts';
import { useRead } from '../../api/hooks.ts';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useDialog } from '../../parts/form-dialog.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { sandboxFirst } from '../../parts/sandbox-first.ts';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { useMembership } from '../../session/tenant.ts';
import { News } from './news.tsx';
import classes from './onboarding.module.css';
import { RequestDialog } from './request-form.tsx';
import { RequestList } from './request-list.tsx';
import { doneCount, type Onboarding, toAskFor } from './state.ts';
import { StepList } from './step-list.tsx';
import { TryPanel } from './try-panel.tsx';

/** Steps are done elsewhere: by a server, or by an operator. */
const OFTEN = 15_000;

export function OnboardingPage() {
  const { t } = useTranslation('onboarding');
  const { account } = useMembership();
  const reading = useRead(showOnboarding, { params: { account } }, { every: OFTEN });
  const { data, error } = reading;
  useShownPart(data !== undefined);
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} />
      <Stack gap="md">
        {error && <ErrorAlert error={error} onRetry={() => void reading.refetch()} />}
        {data !== undefined && <Whole onboarding={data} />}
        {data === undefined && !error && <Waiting />}
      </Stack>
    </>
  );
}

const Waiting = () => (
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

/** Other pages lead to a part of this one, which is there only after it was read. */
function useShownPart(isRead: boolean): void {
  const { hash } = useLocation();
  useEffect(() => {
    if (isRead && hash !== '') document.getElementById(hash.slice(1))?.scrollIntoView();
  }, [isRead, hash]);
}

function Whole({ onboarding }: { readonly onboarding: Onboarding }) {
  const { t } = useTranslation('onboarding');
  const asking = useDialog<Environment>();
  const { account, payments, steps } = onboarding;
  const ask = (where: Environment): void => asking.open(where);
  return (
    <>
      <News onboarding={onboarding} onAsk={ask} />
      <div className={classes['columns']}>
        <Panel title={t('progress', { done: doneCount(steps), total: steps.length })}>
          <Progress
            value={(100 * doneCount(steps)) / steps.length}
            aria-label={t('progress', { done: doneCount(steps), total: steps.length })}
            color="teal"
            size="sm"
          />
          <StepList onboarding={onboarding} onAsk={ask} />
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
      <RequestList requests={onboarding.requests} onAsk={() => ask(toAskFor(onboarding))} />
      <RequestDialog
        opened={asking.opened}
        onClose={asking.close}
        processors={onboarding.processors}
        suggested={asking.about ?? 'sandbox'}
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
