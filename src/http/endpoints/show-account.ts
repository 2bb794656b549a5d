import { STATUSES } from '../../accounts/account.ts';
import { formatIso8601OrNull } from '../../kernel/clock.ts';
import { ENVIRONMENTS } from '../../kernel/environment.ts';
import { type ApiCall, defineEndpoint } from '../endpoint.ts';
import { object, output, type ValueOf } from '../fields.ts';

const data = object({
  id: output.text('Id of the account'),
  name: output.text('Name of the account'),
  environment: output.oneOf(ENVIRONMENTS, 'Where the calling key works'),
  status: output.oneOf(STATUSES, 'How far the account is'),
  enabled: object({
    payments: output.bool('Payments are enabled here'),
    jose: output.bool('The JOSE proxy is configured'),
    wssec: output.bool('The WS-Security proxy is configured'),
  }),
  processor: output.nullableText('The processor of payments; null without one'),
  key: object({
    id: output.text('Id of the calling key'),
    name: output.text('Its name'),
    prefix: output.text('Its readable beginning'),
    permissions: output.texts('What it may do'),
    allow_list: output.list(
      object({ cidr: output.text('Address or network'), note: output.text('Why it is there') }),
      'Where it may be used from',
    ),
    expires_at: output.nullableTime('When it ends; null when it does not'),
    last_used_at: output.nullableTime('When it was last used before this request; null when never'),
  }),
});

type Data = ValueOf<typeof data>;

async function showCallerAccount({ services, tenant, key, previousUseAt }: ApiCall): Promise<Data> {
  const account = await services.accounts.get(tenant.account);
  const enablements = await services.accounts.listEnablements(tenant);
  const payments = enablements.find(({ capability }) => capability === 'payments');
  const isConfigured = await services.proxy.isConfigured(tenant);
  return {
    id: account.id,
    name: account.name,
    environment: tenant.environment,
    status: account.status,
    // Both descriptions need the same two keys.
    enabled: { payments: payments !== undefined, jose: isConfigured, wssec: isConfigured },
    processor: payments?.processor ?? null,
    key: {
      id: key.id,
      name: key.name,
      prefix: key.prefix,
      permissions: key.permissions,
      allow_list: key.allowList,
      expires_at: formatIso8601OrNull(key.expiresAt),
      last_used_at: formatIso8601OrNull(previousUseAt),
    },
  };
}

const account = {
  path: '/v1/account',
  family: 'vault',
  tag: 'Account',
  permission: 'account:read',
  summary: 'Show the account',
  description: 'The account, what is enabled on it in this environment, and the calling key. Needs no body.',
  data,
  failures: [],
  example: {
    data: {
      id: 'acct_4m8x2p7k1q',
      name: 'Example Store',
      environment: 'sandbox',
      status: 'sandbox',
      enabled: { payments: false, jose: false, wssec: false },
      processor: null,
      key: {
        id: 'key_9m2k4x7p1d8q3r',
        name: 'checkout',
        prefix: 'cv_sandbox_Jx4k',
        permissions: ['tokens:create', 'account:read'],
        allow_list: [{ cidr: '203.0.113.0/24', note: 'shop servers' }],
        expires_at: null,
        last_used_at: '2026-01-15T10:29:58.000Z',
      },
    },
  },
  run: showCallerAccount,
} as const;

/** POST /v1/account (interface: Account). */
export const showAccount = defineEndpoint({ ...account, method: 'POST', operationId: 'showAccount' });

/** GET /v1/account, which returns the same. */
export const getAccount = defineEndpoint({ ...account, method: 'GET', operationId: 'getAccount' });
