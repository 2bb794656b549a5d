import { Group, Stack, Text, Title } from '@mantine/core';
import { Check, Hourglass } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { SANDBOX_FIRST } from '../../parts/sandbox-first.ts';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { AskForProduction } from './ask-for-production.tsx';
import { CheckList } from './check-list.tsx';
import { GoingLive } from './going-live.tsx';
import { NextAction } from './next-action.tsx';
import classes from './onboarding.module.css';
import { type AskFor, nextStep, type Onboarding, paymentsStateIn, type Step } from './state.ts';

interface StepListProps {
  readonly onboarding: Onboarding;
  readonly onAsk: AskFor;
}

/** All six steps, and the one that comes next with its button. */
export function StepList({ onboarding, onAsk }: StepListProps) {
  const { steps } = onboarding;
  const next = nextStep(steps);
  const mustAsk = paymentsStateIn(onboarding, 'production') === 'missing';
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
          <Sign step={step} number={index + 1} />
          <Stack gap={6} align="flex-start">
            <Words step={step} isNext={step === next} />
            {step.step === 'activation_requested' && <Asked onboarding={onboarding} />}
            {step.step === 'activation_requested' && step.state === 'done' && next?.step !== 'live' && mustAsk && (
              <AskForProduction onAsk={onAsk} isQuiet />
            )}
            {step.step === 'sandbox_tested' && <Tried onboarding={onboarding} />}
            {step.step === 'live' && step.state !== 'done' && <GoingLive onboarding={onboarding} />}
            {step === next && <NextAction step={step.step} onboarding={onboarding} onAsk={onAsk} />}
          </Stack>
        </li>
      ))}
    </ol>
  );
}

const Sign = ({ step: { state }, number }: { readonly step: Step; readonly number: number }) => (
  <span className={classes['sign']} aria-hidden>
    {state === 'done' ? <Check size={16} strokeWidth={3} /> : state === 'waiting' ? <Hourglass size={14} /> : number}
  </span>
);

function Words({ step: { step, state, at }, isNext }: { readonly step: Step; readonly isNext: boolean }) {
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

/** Each environment is asked for by itself: one of them alone says nothing about the other. */
function Asked({ onboarding }: { readonly onboarding: Onboarding }) {
  const { t } = useTranslation('onboarding');
  const rows = SANDBOX_FIRST.map((where) => {
    const state = paymentsStateIn(onboarding, where);
    const text = where === 'sandbox' ? t(`askedInSandbox.${state}`) : t(`going.payments.${state}`);
    return { name: where, isDone: state === 'enabled', text };
  });
  return <CheckList rows={rows} />;
}

const TRIALS = ['call', 'token', 'capture'] as const;

function Tried({ onboarding }: { readonly onboarding: Onboarding }) {
  const { t } = useTranslation('onboarding');
  const { tried } = onboarding;
  const isEnabled = paymentsStateIn(onboarding, 'sandbox') === 'enabled';
  const payment = isEnabled || tried.payment ? t('tried.payment') : t('tried.paymentsOff');
  const rows = TRIALS.map((name) => ({ name: name as string, isDone: tried[name], text: t(`tried.${name}`) }));
  return <CheckList rows={[...rows, { name: 'payment', isDone: tried.payment, text: payment }]} />;
}
