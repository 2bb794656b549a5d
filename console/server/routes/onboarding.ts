import type { Account } from '../../../src/accounts/account.ts';
import { listKeyProgress } from '../../../src/accounts/api-key-store.ts';
import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { assertDisplayable } from '../../../src/kernel/displayable.ts';
import { ENVIRONMENTS, type Environment } from '../../../src/kernel/environment.ts';
import { Failure, invalidField } from '../../../src/kernel/failure.ts';
import { SIMULATOR } from '../../../src/payments/payment-activations.ts';
import { TOKENS_CREATED } from '../../../src/vault/vault.ts';
import { requestActivation, showOnboarding, withdrawActivationRequest } from '../../wire/onboarding.ts';
import { hasCounted, isUsedInProduction } from '../account-figures-store.ts';
import type { ActivationRequest } from '../activation-request-store.ts';
import { effectiveStatus, listOnboardingSteps, type OnboardingFacts } from '../onboarding.ts';
import { type AnyCall, type Route, route } from '../route.ts';
import { CAPTURES_CREATED } from '../usage-summary.ts';

export const onboardingRoutes: readonly Route[] = [
  route(showOnboarding, async (call) => {
    const { services } = call;
    const account = await getAccount(call);
    const requests = await services.requests.list(account.id);
    const payments = await Promise.all(ENVIRONMENTS.map((environment) => findPayments(call, environment)));
    const facts = await loadFacts(call, account, requests, payments);
    const { id, name, createdAt } = account;
    const status = effectiveStatus(account, facts.isUsedInProduction);
    return {
      account: { id, name, status, created_at: formatIso8601(createdAt) },
      steps: listOnboardingSteps(facts).map(({ step, state, at }) => ({ step, state, at: formatIso8601OrNull(at) })),
      tried: facts.hasTried,
      payments,
      requests: requests.map(toRequestView),
      processors: services.activations.processors.map((each) => ({ name: each, is_simulator: each === SIMULATOR })),
    };
  }),

  route(requestActivation, async (call) => {
    const { note = '', ...processors } = call.body;
    assertDisplayable(note, 'note');
    const { services, transaction, account } = call;
    const submit = async (environment: Environment): Promise<string | null> => {
      const processor = processors[environment];
      if (processor === undefined) return null;
      return services.requests.submit(transaction, { account, environment, processor, note }, call);
    };
    const ids = { sandbox: await submit('sandbox'), production: await submit('production') };
    if (ids.sandbox === null && ids.production === null) throw invalidField('production', 'required');
    return ids;
  }),

  route(withdrawActivationRequest, async (call) => {
    const { services, transaction, account, params } = call;
    const request = await services.requests.getPending(account, params['id'] ?? '');
    await services.requests.decide(transaction, request, 'withdrawn', '', call);
    return { done: true };
  }),
];

export const toRequestView = (request: ActivationRequest) => ({
  id: request.id,
  environment: request.environment,
  processor: request.processor,
  note: request.note,
  status: request.status,
  decision_note: request.decisionNote,
  requested_by: request.requester,
  decided_by: request.decider ?? null,
  created_at: formatIso8601(request.createdAt),
  decided_at: formatIso8601OrNull(request.decidedAt),
});

async function getAccount({ services, account: id }: AnyCall): Promise<Account> {
  const account = await services.accounts.find(id);
  if (account === undefined) throw new Failure('unknown_record');
  return account;
}

async function findPayments({ services, account }: AnyCall, environment: Environment) {
  const enabled = await services.activations.enabledProcessor({ account, environment });
  return { environment, enabled: enabled !== undefined, processor: enabled?.name ?? null };
}

async function loadFacts(
  { services, account: id }: AnyCall,
  account: Account,
  requests: readonly ActivationRequest[],
  payments: readonly { readonly environment: Environment; readonly enabled: boolean }[],
): Promise<OnboardingFacts> {
  const keys = await listKeyProgress(services.database, id);
  const members = await services.people.team.listMemberships(id);
  const sandbox = await services.totals.count({ account: id, environment: 'sandbox' });
  // Records expire and are deleted; counters remain.
  const hasCreated = (name: string) => hasCounted(services.database, id, 'sandbox', name);
  return {
    account,
    keys,
    requests,
    isUsedInProduction: await isUsedInProduction(services.database, id, keys),
    owner: members.find(({ role }) => role === 'owner')?.createdAt,
    enabledIn: new Set(payments.filter(({ enabled }) => enabled).map(({ environment }) => environment)),
    hasTried: {
      call: keys.get('sandbox')?.isUsed === true,
      token: sandbox.tokens > 0 || (await hasCreated(TOKENS_CREATED)),
      capture: sandbox.captures > 0 || (await hasCreated(CAPTURES_CREATED)),
      payment: sandbox.payments > 0,
    },
  };
}
