import type { Account } from '../../../src/accounts/account.ts';
import { formatIso8601 } from '../../../src/kernel/clock.ts';
import { ENVIRONMENTS, type Environment, type Tenant } from '../../../src/kernel/environment.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import type { ActivationSettingsView } from '../../../src/payments/payment-activations.ts';
import { parseEmail } from '../../people/person.ts';
import { exportAccounts } from '../../wire/exports.ts';
import { findAccounts } from '../../wire/find-accounts.ts';
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
import { type AccountFigures, loadAccountFigures, tenantName } from '../account-figures-store.ts';
import { translateErrors } from '../error-translation.ts';
import { exportList } from '../list-export.ts';
import { effectiveStatus } from '../onboarding.ts';
import { toResultOrApproval } from '../operator-changes.ts';
import { type AnyCall, type Route, route, streamRoute } from '../route.ts';
import { parseEnableBody, toSettingView } from './operator-payments.ts';
import { invite, toLinkView } from './team.ts';

export const operatorAccountRoutes: readonly Route[] = [
  route(listAccounts, async (call) => ({ accounts: await listAccountViews(call) })),

  streamRoute(exportAccounts, (call) =>
    exportList(call, {
      name: 'accounts',
      access: exportAccounts.access,
      scope: 'everything',
      columns: ACCOUNT_COLUMNS,
      codeFilters: [],
      page: async () => ({
        rows: findAccounts(await listAccountViews(call), call.body.filter.search),
        next: undefined,
      }),
    }),
  ),

  route(createAccount, async (call) => {
    const { services, transaction, body } = call;
    const { owner_email: email } = body;
    return translateErrors({ email: 'owner_email' }, async () => {
      // The email is checked before the name.
      if (email !== undefined) parseEmail(email);
      const { id } = await services.accounts.create(transaction, body.name);
      if (email === undefined) return { id, invitation: null };
      return { id, invitation: toLinkView(call, await invite(call, { account: id, role: 'owner', email })) };
    });
  }),

  route(showAccount, async (call) => {
    const account = await getAccountOfPath(call);
    const figures = await loadAccountFigures(call.services.database, call.services.keyring, call.now);
    const payments = ENVIRONMENTS.map(async (environment) => {
      const tenant = { account: account.id, environment };
      return toPaymentsView(tenant, await call.services.activations.describe(tenant));
    });
    return { account: toAccountView(account, figures), payments: await Promise.all(payments) };
  }),

  route(suspendAccount, async (call) => {
    await call.services.accounts.suspend(call.transaction, (await getAccountOfPath(call)).id);
    return { done: true };
  }),

  route(sealAccount, async (call) => {
    const { services, transaction, body } = call;
    const { id } = await getAccountOfPath(call);
    await services.accounts.suspend(transaction, id, body.name);
    // The account has dual control now: pending links, which one user created, could bring in the second person.
    await services.people.invitations.revokeAll(transaction, id);
    return { done: true };
  }),

  route(resumeAccount, async (call) => {
    await call.services.accounts.resume(call.transaction, (await getAccountOfPath(call)).id);
    return { done: true };
  }),

  route(enablePayments, async (call) => {
    const tenant = await getTenantOfPath(call);
    return toResultOrApproval(async () => {
      const { services, transaction, body } = call;
      const enabled = await services.activations.enable(transaction, tenant, parseEnableBody(body));
      return { payments: toPaymentsView(tenant, enabled) };
    });
  }),

  route(disablePayments, async (call) => {
    const tenant = await getTenantOfPath(call);
    return toResultOrApproval(async () => {
      await call.services.activations.disable(call.transaction, tenant);
      return { done: true };
    });
  }),
];

const ACCOUNT_COLUMNS = [
  'id',
  'name',
  'status',
  'is_altered',
  'created_at',
  'people',
  'sandbox_keys',
  'production_keys',
  'open_requests',
  'sandbox_processor',
  'production_processor',
] as const;

/** Returns all accounts, the newest first. */
async function listAccountViews({ services, now }: Pick<AnyCall, 'services' | 'now'>): Promise<AccountView[]> {
  const figures = await loadAccountFigures(services.database, services.keyring, now);
  return (await services.accounts.list()).reverse().map((account) => toAccountView(account, figures));
}

/** Throws `unknown_record`. */
export async function getAccountOfPath({ services, params }: AnyCall): Promise<Account> {
  const account = await services.accounts.find(params['id'] ?? '');
  if (account === undefined) throw new Failure('unknown_record');
  return account;
}

export async function getTenantOfPath(call: AnyCall): Promise<Tenant> {
  const environment = ENVIRONMENTS.find((name) => name === call.params['where']);
  if (environment === undefined) throw new Failure('unknown_record');
  return { account: (await getAccountOfPath(call)).id, environment };
}

type AccountView = ReturnType<typeof toAccountView>;

function toAccountView(account: Account, figures: AccountFigures) {
  const { id, name, createdAt, isTampered } = account;
  const keys = (environment: Environment): number => figures.keys.get(tenantName(id, environment)) ?? 0;
  const processor = (environment: Environment): string | null =>
    figures.processors.get(tenantName(id, environment)) ?? null;
  return {
    id,
    name,
    status: effectiveStatus(account, figures.usedInProduction.has(id)),
    is_altered: isTampered,
    created_at: formatIso8601(createdAt),
    people: figures.people.get(id) ?? 0,
    sandbox_keys: keys('sandbox'),
    production_keys: keys('production'),
    open_requests: figures.openRequests.get(id) ?? 0,
    sandbox_processor: processor('sandbox'),
    production_processor: processor('production'),
  };
}

const toPaymentsView = ({ environment }: Tenant, { processor, settings, isAltered }: ActivationSettingsView) => ({
  environment,
  enabled: processor !== undefined,
  processor: processor ?? null,
  is_altered: isAltered,
  settings: settings.map(toSettingView),
});
