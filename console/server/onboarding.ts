import type { Account, AccountStatus } from '../../src/accounts/account.ts';
import type { KeyProgress } from '../../src/accounts/api-key-store.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import type { STEPS } from '../wire/onboarding.ts';
import type { ActivationRequest } from './activation-request-store.ts';

/** How far an account is on its way to live payments, told by what is there. */

type OnboardingStep = (typeof STEPS)[number];

export interface OnboardingFacts {
  readonly account: Account;
  readonly keys: ReadonlyMap<Environment, KeyProgress>;
  readonly requests: readonly ActivationRequest[];
  /** When the first owner joined; undefined while there is none. */
  readonly owner: number | undefined;
  readonly findPayments: ReadonlySet<Environment>;
  /** In the sandbox, at any time. */
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
  /** When it was done, where that is known. */
  readonly at: number | undefined;
}

/** A production key alone makes nothing live: its first call does. */
export const effectiveStatus = ({ status }: Account, isProductionUsed: boolean): AccountStatus =>
  status === 'live' && !isProductionUsed ? 'sandbox' : status;

export function listOnboardingSteps(facts: OnboardingFacts): OnboardingStepState[] {
  const { account, owner, keys } = facts;
  const isLive = effectiveStatus(account, keys.get('production')?.isUsed === true) === 'live';
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

function activation({ requests, findPayments: paymentsIn }: OnboardingFacts): OnboardingStepState {
  const approved = requests.findLast(({ status }) => status === 'approved');
  if (approved !== undefined || paymentsIn.size > 0)
    return { step: 'activation_requested', state: 'done', at: approved?.decidedAt };
  const isWaiting = requests.some(({ status }) => status === 'requested');
  return { step: 'activation_requested', state: isWaiting ? 'waiting' : 'open', at: undefined };
}

/** A payment is no part of it: enabling payments later must not undo what was done. */
const isTested = ({ hasTried }: OnboardingFacts): boolean =>
  hasTried.call && (hasTried.token || hasTried.capture || hasTried.payment);
