import type { Account } from '../../../src/accounts/account.ts';
import { iso8601 } from '../../../src/kernel/clock.ts';
import { ENVIRONMENTS, type Environment, type Tenant } from '../../../src/kernel/environment.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import { readEmail } from '../../people/person.ts';
import {
  createAccount,
  disablePayments,
  enablePayments,
  listAccounts,
  resumeAccount,
  sealAccount,
  showAccount,
  suspendAccount,
} from '../../wire/operator.ts';
import { type Figures, readFigures, tenantName } from '../figures-store.ts';
import { shownStatus } from '../onboarding.ts';
import { resultOrApproval } from '../operator-changes.ts';
import { saidAs } from '../refusals.ts';
import { type Call, type Route, route } from '../route.ts';
import { enablingOf, settingView } from './operator-payments.ts';
import { invite, linkView } from './team.ts';

type AnyCall = Call<unknown, unknown>;

export const operatorAccountRoutes: readonly Route[] = [
  route(listAccounts, async ({ services, now }) => {
    const figures = await readFigures(services.database, services.keyring, now);
    return { accounts: (await services.accounts.list()).reverse().map((account) => accountView(account, figures)) };
  }),

  route(createAccount, async (call) => {
    const { services, body, origin } = call;
    const { owner_email: email } = body;
    return saidAs({ email: 'owner_email' }, async () => {
      // Before there is an account that nobody could get into.
      if (email !== undefined) readEmail(email);
      const { id } = await services.accounts.create(body.name, origin);
      if (email === undefined) return { id, invitation: null };
      return { id, invitation: linkView(call, await invite(call, { account: id, role: 'owner', email })) };
    });
  }),

  route(showAccount, async (call) => {
    const account = await accountOfPath(call);
    const figures = await readFigures(call.services.database, call.services.keyring, call.now);
    const payments = ENVIRONMENTS.map((environment) => paymentsView(call, { account: account.id, environment }));
    return { account: accountView(account, figures), payments: await Promise.all(payments) };
  }),

  route(suspendAccount, async (call) => {
    await call.services.accounts.suspend((await accountOfPath(call)).id, call.origin);
    return { done: true };
  }),

  route(sealAccount, async (call) => {
    await call.services.accounts.suspend((await accountOfPath(call)).id, call.origin, call.body.name);
    return { done: true };
  }),

  route(resumeAccount, async (call) => {
    await call.services.accounts.resume((await accountOfPath(call)).id, call.origin);
    return { done: true };
  }),

  route(enablePayments, async (call) => {
    const tenant = await tenantOfPath(call);
    return resultOrApproval(async () => {
      await call.services.activations.enable(tenant, enablingOf(call.body), call.origin);
      return { payments: await paymentsView(call, tenant) };
    });
  }),

  route(disablePayments, async (call) => {
    const tenant = await tenantOfPath(call);
    return resultOrApproval(async () => {
      await call.services.activations.disable(tenant, call.origin);
      return { done: true };
    });
  }),
];

/** Throws `unknown_record`. */
export async function accountOfPath({ services, params }: AnyCall): Promise<Account> {
  const account = await services.accounts.find(params['id'] ?? '');
  if (account === undefined) throw new Failure('unknown_record');
  return account;
}

async function tenantOfPath(call: AnyCall): Promise<Tenant> {
  const environment = ENVIRONMENTS.find((name) => name === call.params['where']);
  if (environment === undefined) throw new Failure('unknown_record');
  return { account: (await accountOfPath(call)).id, environment };
}

function accountView(account: Account, figures: Figures) {
  const { id, name, createdAt, isTampered } = account;
  const keys = (environment: Environment): number => figures.keys.get(tenantName(id, environment)) ?? 0;
  const processor = (environment: Environment): string | null =>
    figures.processors.get(tenantName(id, environment)) ?? null;
  return {
    id,
    name,
    status: shownStatus(account, figures.usedInProduction.has(id)),
    is_altered: isTampered,
    created_at: iso8601(createdAt),
    people: figures.people.get(id) ?? 0,
    sandbox_keys: keys('sandbox'),
    production_keys: keys('production'),
    open_requests: figures.openRequests.get(id) ?? 0,
    sandbox_processor: processor('sandbox'),
    production_processor: processor('production'),
  };
}

async function paymentsView({ services }: AnyCall, tenant: Tenant) {
  const { processor, settings, isAltered } = await services.activations.describe(tenant);
  return {
    environment: tenant.environment,
    enabled: processor !== undefined,
    processor: processor ?? null,
    is_altered: isAltered,
    settings: settings.map(settingView),
  };
}
