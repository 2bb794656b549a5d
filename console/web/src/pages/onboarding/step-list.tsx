import { Group, Stack, Text, Title } from '@mantine/core';
import { Check, Hourglass } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { SANDBOX_FIRST } from '../../parts/sandbox-first.ts';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { CheckList } from './check-list.tsx';
import { LiveChecklist } from './going-live.tsx';
import { NextAction } from './next-action.tsx';
import classes from './onboarding.module.css';
import {
  findNextStep,
  getPaymentsState,
  type Onboarding,
  type RequestPayments,
  type Step,
} from './onboarding-state.ts';
import { RequestProduction } from './request-production.tsx';

interface StepListProps {
  readonly onboarding: Onboarding;
  readonly onRequest: RequestPayments;
}

/** Lists the six steps, the next one with its button. */
export function StepList({ onboarding, onRequest }: StepListProps) {
  const { steps } = onboarding;
  const next = findNextStep(steps);
  const needsRequest = getPaymentsState(onboarding, 'production') === 'missing';
  return (
    <ol className={classes['steps']}>
      {steps.map((step, index) => (
        <li
          key={step.step}
          className={classes['step']}
          data-state={step.state}
          data-next={step === next || undefined}
          aria-current={step === next ? 'step' : undefined}
        >
          <StepMarker step={step} number={index + 1} />
          <Stack gap={6} align="flex-start">
            <StepText step={step} isNext={step === next} />
            {step.step === 'activation_requested' && <PaymentsChecklist onboarding={onboarding} />}
            {step.step === 'activation_requested' && step.state === 'done' && next?.step !== 'live' && needsRequest && (
              <RequestProduction onRequest={onRequest} isSecondary />
            )}
            {step.step === 'sandbox_tested' && <SandboxChecklist onboarding={onboarding} />}
            {step.step === 'live' && step.state !== 'done' && <LiveChecklist onboarding={onboarding} />}
            {step === next && <NextAction step={step.step} onboarding={onboarding} onRequest={onRequest} />}
          </Stack>
        </li>
      ))}
    </ol>
  );
}

const StepMarker = ({ step: { state }, number }: { readonly step: Step; readonly number: number }) => (
  <span className={classes['sign']} aria-hidden>
    {state === 'done' ? <Check size={16} strokeWidth={3} /> : state === 'waiting' ? <Hourglass size={14} /> : number}
  </span>
);

function StepText({ step: { step, state, at }, isNext }: { readonly step: Step; readonly isNext: boolean }) {
  const { t } = useTranslation('onboarding');
  return (
    <>
      <Group gap="xs" mih={28}>
        <Title order={3} size="h5">
          {t(`steps.${step}.title`)}
        </Title>
        {state === 'done' && <Badge tone="good">{t('state.done')}</Badge>}
        {state === 'waiting' && <Badge tone="attention">{t('state.waiting')}</Badge>}
        {state === 'open' && (
          <Badge tone={isNext ? 'info' : 'quiet'}>{isNext ? t('state.next') : t('state.open')}</Badge>
        )}
        {at !== null && (
          <Text span size="sm" c="dimmed">
            <Time value={at} isDay />
          </Text>
        )}
      </Group>
      <Text size="sm" c="dimmed" maw={620}>
        {t(`steps.${step}.text`)}
      </Text>
    </>
  );
}

/** Each environment needs its own request. */
function PaymentsChecklist({ onboarding }: { readonly onboarding: Onboarding }) {
  const { t } = useTranslation('onboarding');
  const rows = SANDBOX_FIRST.map((where) => {
    const state = getPaymentsState(onboarding, where);
    const text = where === 'sandbox' ? t(`askedInSandbox.${state}`) : t(`going.payments.${state}`);
    return { name: where, isDone: state === 'enabled', text };
  });
  return <CheckList rows={rows} />;
}

const SANDBOX_CALLS = ['call', 'token', 'capture'] as const;

function SandboxChecklist({ onboarding }: { readonly onboarding: Onboarding }) {
  const { t } = useTranslation('onboarding');
  const { tried } = onboarding;
  const isEnabled = getPaymentsState(onboarding, 'sandbox') === 'enabled';
  const payment = isEnabled || tried.payment ? t('tried.payment') : t('tried.paymentsOff');
  const rows = SANDBOX_CALLS.map((name) => ({ name: name as string, isDone: tried[name], text: t(`tried.${name}`) }));
  return <CheckList rows={[...rows, { name: 'payment', isDone: tried.payment, text: payment }]} />;
}
