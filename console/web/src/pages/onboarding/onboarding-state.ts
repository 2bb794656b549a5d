import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { Environment } from '../../../../../src/kernel/environment.ts';
import type { showOnboarding } from '../../../../wire/onboarding.ts';
import { SANDBOX_FIRST } from '../../parts/sandbox-first.ts';

export type Onboarding = ValueOf<typeof showOnboarding.data>;
export type Step = Onboarding['steps'][number];
export type ActivationRequest = Onboarding['requests'][number];

/** Opens the form that requests payments. */
export type RequestPayments = (where: Environment) => void;

/** Returns the first open step. */
export const findNextStep = (steps: readonly Step[]): Step | undefined => steps.find(({ state }) => state === 'open');

export const countDone = (steps: readonly Step[]): number => steps.filter(({ state }) => state === 'done').length;

export const findStepState = ({ steps }: Onboarding, name: Step['step']): Step['state'] | undefined =>
  steps.find(({ step }) => step === name)?.state;

/** Returns the state of payments in an environment. */
export function getPaymentsState(
  { payments, requests }: Onboarding,
  where: Environment,
): 'enabled' | 'waiting' | 'missing' {
  if (payments.some(({ environment, enabled }) => environment === where && enabled)) return 'enabled';
  const isRequested = requests.some(({ environment, status }) => environment === where && status === 'requested');
  return isRequested ? 'waiting' : 'missing';
}

/** Returns the environment to request payments for: the sandbox first. */
export const environmentToRequest = (onboarding: Onboarding): Environment =>
  SANDBOX_FIRST.find((environment) => getPaymentsState(onboarding, environment) === 'missing') ?? 'sandbox';
