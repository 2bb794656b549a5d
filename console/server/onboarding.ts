import type { Account, AccountStatus } from '../../src/accounts/account.ts';
import type { KeyProgress } from '../../src/accounts/api-key-store.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import type { STEPS } from '../wire/onboarding.ts';
import type { ActivationRequest } from './activation-request-store.ts';

/** The steps of an account towards live payments, derived from its records. */

type OnboardingStep = (typeof STEPS)[number];

export interface OnboardingFacts {
  readonly account: Account;
  readonly keys: ReadonlyMap<Environment, KeyProgress>;
  readonly requests: readonly ActivationRequest[];
  /** Time at which the first owner joined; undefined without one. */
  readonly owner: number | undefined;
  /** The vault, payments or the proxy were used in production. */
  readonly isUsedInProduction: boolean;
  /** Environments with enabled payments. */
  readonly enabledIn: ReadonlySet<Environment>;
  /** Calls in the sandbox, at any time. */
  readonly hasTried: {
    readonly call: boolean;
    readonly token: boolean;
    readonly capture: boolean;
    readonly payment: boolean;
  };
}

interface OnboardingStepState {
  readonly step: OnboardingStep;
  /** `waiting`: an operator has to act. */
  readonly state: 'done' | 'waiting' | 'open';
  /** Time of completion, where it is known. */
  readonly at: number | undefined;
}

/** A production key alone does not make an account live; the first use of the vault, payments or the proxy does. */
export const effectiveStatus = ({ status }: Account, isProductionUsed: boolean): AccountStatus =>
  status === 'live' && !isProductionUsed ? 'sandbox' : status;

export function listOnboardingSteps(facts: OnboardingFacts): OnboardingStepState[] {
  const { account, owner, isUsedInProduction } = facts;
  const isLive = effectiveStatus(account, isUsedInProduction) === 'live';
  return [
    doneWhen('account_configured', owner !== undefined, owner),
    keyStep('sandbox_key', facts, 'sandbox'),
    keyStep('production_key', facts, 'production'),
    activation(facts),
    doneWhen('sandbox_tested', isTested(facts), undefined),
    doneWhen('live', isLive, undefined),
  ];
}

const doneWhen = (step: OnboardingStep, isDone: boolean, at: number | undefined): OnboardingStepState =>
  isDone ? { step, state: 'done', at } : { step, state: 'open', at: undefined };

function keyStep(step: OnboardingStep, { keys }: OnboardingFacts, environment: Environment): OnboardingStepState {
  const madeAt = keys.get(environment)?.createdAt;
  return doneWhen(step, madeAt !== undefined, madeAt);
}

function activation({ requests, enabledIn }: OnboardingFacts): OnboardingStepState {
  const approved = requests.findLast(({ status }) => status === 'approved');
  if (approved !== undefined || enabledIn.size > 0)
    return { step: 'activation_requested', state: 'done', at: approved?.decidedAt };
  const isWaiting = requests.some(({ status }) => status === 'requested');
  return { step: 'activation_requested', state: isWaiting ? 'waiting' : 'open', at: undefined };
}

/** Payments are no condition: enabling payments later must not undo completed steps. */
const isTested = ({ hasTried }: OnboardingFacts): boolean =>
  hasTried.call && (hasTried.token || hasTried.capture || hasTried.payment);
