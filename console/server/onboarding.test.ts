import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AuthenticAccount } from '../../src/accounts/account.ts';
import type { ActivationRequest, RequestStatus } from './activation-request-store.ts';
import { effectiveStatus, listOnboardingSteps, type OnboardingFacts } from './onboarding.ts';

const ACCOUNT: AuthenticAccount = {
  isTampered: false,
  id: 'acct_1',
  number: 1,
  name: 'Shop',
  status: 'onboarding',
  createdAt: 1,
  dualControl: false,
  suspendedAt: undefined,
  revision: 1,
};

const NEW: OnboardingFacts = {
  account: ACCOUNT,
  keys: new Map(),
  requests: [],
  owner: undefined,
  isUsedInProduction: false,
  enabledIn: new Set(),
  hasTried: { call: false, token: false, capture: false, payment: false },
};

const requestOf = (status: RequestStatus, decidedAt?: number): ActivationRequest =>
  ({ status, decidedAt }) as ActivationRequest;

/** State and time of one step. */
const step = (name: string, changed: Partial<OnboardingFacts>) => {
  const found = listOnboardingSteps({ ...NEW, ...changed }).find((each) => each.step === name);
  return [found?.state, found?.at];
};

describe('onboarding', () => {
  test('starts with no completed step', () =>
    assert.deepEqual([...new Set(listOnboardingSteps(NEW).map(({ state }) => state))], ['open']));

  test('the account is configured once its owner has joined', () =>
    assert.deepEqual(step('account_configured', { owner: 7 }), ['done', 7]));

  test('a key counts in its environment, unless it was revoked', () => {
    const keys = new Map([
      ['sandbox', { createdAt: 5, isUsed: false }],
      ['production', { createdAt: undefined, isUsed: true }],
    ] as const);
    assert.deepEqual(step('sandbox_key', { keys }), ['done', 5]);
    assert.deepEqual(step('production_key', { keys }), ['open', undefined]);
    assert.deepEqual(step('production_key', {}), ['open', undefined]);
  });

  test('activation is pending until the operator approves it or enables payments', () => {
    const of = (...requests: ActivationRequest[]) => step('activation_requested', { requests });
    assert.deepEqual(of(requestOf('requested')), ['waiting', undefined]);
    assert.deepEqual(of(requestOf('declined', 9)), ['open', undefined]);
    assert.deepEqual(of(requestOf('requested'), requestOf('approved', 9)), ['done', 9]);
    assert.deepEqual(step('activation_requested', { enabledIn: new Set(['sandbox']) }), ['done', undefined]);
  });

  test('the sandbox is tested by a call that created a record, also when payments are enabled later', () => {
    const tried = (...names: (keyof OnboardingFacts['hasTried'])[]) => ({
      hasTried: { ...NEW.hasTried, ...Object.fromEntries(names.map((name) => [name, true])) },
    });
    const sandbox = { paymentsIn: new Set(['sandbox'] as const) };
    const state = (changed: Partial<OnboardingFacts>) => step('sandbox_tested', changed)[0];
    assert.equal(state(tried('call')), 'open');
    assert.equal(state(tried('token')), 'open');
    assert.equal(state(tried('call', 'token')), 'done');
    assert.equal(state(tried('call', 'capture')), 'done');
    assert.equal(state({ ...tried('call', 'token'), ...sandbox }), 'done');
    assert.equal(state({ ...tried('call', 'payment'), ...sandbox }), 'done');
    assert.equal(state({ ...tried('call'), ...sandbox }), 'open');
  });

  test('live requires use in production, in an account that is not suspended', () => {
    const account = { ...ACCOUNT, status: 'live' as const };
    assert.deepEqual(step('live', { account, isUsedInProduction: true })[0], 'done');
    assert.deepEqual(step('live', { account, isUsedInProduction: false })[0], 'open');
    const suspended = { ...account, status: 'suspended' as const };
    assert.deepEqual(step('live', { account: suspended, isUsedInProduction: true })[0], 'open');
  });

  test('an account with a production key is shown as live only once it was used', () => {
    const shown = (status: OnboardingFacts['account']['status'], isUsed: boolean) =>
      effectiveStatus({ ...ACCOUNT, status }, isUsed);
    assert.deepEqual([shown('live', false), shown('live', true)], ['sandbox', 'live']);
    assert.deepEqual([shown('suspended', true), shown('onboarding', false)], ['suspended', 'onboarding']);
  });
});
