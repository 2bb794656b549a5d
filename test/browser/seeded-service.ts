import { approve, decline, executeApproval, listApprovals } from '../../console/wire/approvals.ts';
import { createKey } from '../../console/wire/keys.ts';
import { requestActivation, showOnboarding } from '../../console/wire/onboarding.ts';
import { approveActivation, declineActivation } from '../../console/wire/operator.ts';
import { capturePaymentManually, refundPaymentManually } from '../../console/wire/payments.ts';
import { configureProxy } from '../../console/wire/proxy.ts';
import { inviteToTeam } from '../../console/wire/team.ts';
import { createWebhook } from '../../console/wire/webhooks.ts';
import type { Permission } from '../../src/accounts/permission.ts';
import { DAY, HOUR } from '../../src/kernel/clock.ts';
import { newKeyPair, privatePem, publicPem } from '../fixtures/rsa-key-pairs.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { type Member, newMember } from './member.ts';
import {
  type ApiClient,
  createPayments,
  newApiClient,
  openSession,
  seedUsageDays,
  storeCaptures,
  storeCards,
} from './seed-data.ts';

/** A service in use: two merchants, their users, and the records of two weeks. */
export interface SeededService {
  readonly service: TestService;
  readonly harbour: Harbour;
  /** A new account: it has no key yet, and has requested payments. */
  readonly northwind: { readonly account: string; readonly owner: Member };
  readonly operator: Member;
  /** All users sign in again, as after their sessions ended. */
  signIn(): Promise<void>;
}

interface People {
  readonly owner: Member;
  readonly developer: Member;
  readonly analyst: Member;
  readonly auditor: Member;
}

interface Harbour extends People {
  readonly account: string;
  /** Payments of the sandbox, by their reference. */
  readonly payments: ReadonlyMap<string, string>;
  /** Records of the sandbox. */
  readonly token: string;
  readonly capture: string;
  readonly webhook: string;
  /** Collected. */
  readonly productionPayment: string;
}

const DAYS = 14;
const BY_OPERATOR = { actor: { type: 'operator', name: 'Irene Castillo' } } as const;
const LOCAL = ['127.0.0.0/8', '::1'];

/** The last of the days ends at this time. */
export async function startSeededService(endsAt = Date.now()): Promise<SeededService> {
  // Receivers of webhooks in tests are on this machine.
  const service = await startTestService({ variables: { CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8' } });
  service.advance(endsAt - DAYS * DAY - service.now());
  const operator = await newMember(service, {
    account: '',
    role: 'operator',
    name: 'Irene Castillo',
    email: 'irene@cardvault.example',
  });
  await newMember(service, { account: '', role: 'operator', name: 'Tomas Berg', email: 'tomas@cardvault.example' });
  const account = await service.newAccount('Harbour Books');
  const people = await teamOf(service, account);
  await enablePayments(service, operator, { account, owner: people.owner });
  const senders = await keysOf(service, account);
  const { payments, productionPayment } = await fillDays(service, senders, endsAt);
  await Promise.all([
    seedUsageDays(service, account, 'sandbox', DAYS),
    seedUsageDays(service, account, 'production', DAYS),
  ]);
  service.advance(endsAt - service.now());
  const signIn = async (...others: Member[]): Promise<void> => {
    for (const person of [operator, ...Object.values(people), ...others]) await person.signIn();
  };
  await signIn();
  const northwind = await newcomer(service);
  const webhook = await workOfToday(service, operator, { account, ...people, payments, productionPayment });
  const [token = ''] = await storeCards(senders.sandbox, 0);
  const [capture = ''] = await storeCaptures(senders.sandbox);
  await openSession(senders.sandbox, 'Order HB-2042');
  const harbour = { account, ...people, payments, productionPayment, token, capture, webhook };
  return { service, harbour, northwind, operator, signIn: () => signIn(northwind.owner) };
}

async function teamOf(service: TestService, account: string): Promise<People> {
  const of = (role: keyof People, name: string, email: string) =>
    newMember(service, { account, role, name, email: `${email}@harbour.example` });
  const owner = await of('owner', 'Olga Duarte', 'olga');
  return {
    owner,
    developer: await of('developer', 'Dev Patel', 'dev'),
    analyst: await of('analyst', 'Aiko Tanaka', 'aiko'),
    auditor: await of('auditor', 'Ulrich Sander', 'ulrich'),
  };
}

/** Requests and enables payments. */
async function enablePayments(
  service: TestService,
  operator: Member,
  { account, owner }: { account: string; owner: Member },
): Promise<void> {
  const submitRequest = async (environment: string, processor: string, note: string): Promise<{ id: string }> => {
    const ids = await owner.call(requestActivation, { account }, { [environment]: processor, note });
    return { id: ids[environment] };
  };
  const sandbox = await submitRequest('sandbox', 'simulator', 'To try out the new shop.');
  // A short timeout, because some seeded payments never get a response.
  const settings = [{ name: 'timeout-ms', value: '1000' }];
  const yes = { processor: 'simulator', settings, decision_note: 'Enabled. Tell us when you want to go live.' };
  await operator.call(approveActivation, { id: account, request: sandbox.id }, yes);
  const early = await submitRequest('production', 'koin', 'Contract 4471.');
  await operator.call(
    declineActivation,
    { id: account, request: early.id },
    { decision_note: 'Please finish the tests in the sandbox first.' },
  );
  const request = { processor: 'simulator', settings: {}, force: true };
  await service.core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
    service.core.activations.enable(transaction, { account, environment: 'production' }, request),
  );
}

/** Keys in every state; answers what sends with those of the shop. */
async function keysOf(service: TestService, account: string): Promise<Record<'sandbox' | 'production', ApiClient>> {
  const { accounts } = service.core;
  const reads: Permission[] = ['tokens:inspect', 'payments:read', 'account:read'];
  const sandbox = await service.newKey(account, { name: 'Shop server' });
  const production = await service.newKey(account, { environment: 'production', name: 'Shop server, live' });
  await service.newKey(account, {
    environment: 'production',
    name: 'Reports',
    permissions: reads,
    allow: ['203.0.113.0/24'],
  });
  await service.newKey(account, { name: 'Reports', permissions: reads, allow: ['203.0.113.0/24', '2001:db8::/32'] });
  await service.newKey(account, {
    name: 'Load test',
    permissions: ['tokens:create'],
    expiresAt: service.now() + 3 * DAY,
  });
  const old = await service.newKey(account, { name: 'Phone orders', permissions: ['payments:write'], allow: LOCAL });
  await service.core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
    accounts.rotateKey(transaction, old.id, DAYS * 24 * 60 + 600),
  );
  const lost = await service.newKey(account, { name: 'Laptop of Dev' });
  await service.core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
    accounts.revokeKey(transaction, lost.id),
  );
  return {
    sandbox: newApiClient(service, sandbox.secret, 'sandbox'),
    production: newApiClient(service, production.secret, 'production'),
  };
}

async function fillDays(
  service: TestService,
  { sandbox, production }: Record<'sandbox' | 'production', ApiClient>,
  endsAt: number,
) {
  const payments = new Map<string, string>();
  const live = new Map<string, string>();
  for (let daysAgo = DAYS - 1; daysAgo >= 0; daysAgo--) {
    // Today's begin an hour ago.
    service.advance(endsAt - daysAgo * DAY - HOUR - service.now());
    await storeCards(sandbox, daysAgo);
    await createPayments(daysAgo, sandbox, payments);
    if (daysAgo === 7) await storeCards(production, daysAgo);
    if (daysAgo <= 1) await createPayments(daysAgo + 6, production, live);
  }
  return { payments, productionPayment: live.get('HB-1007') ?? '' };
}

async function newcomer(service: TestService) {
  const account = await service.newAccount('Northwind Travel');
  const owner = await newMember(service, {
    account,
    role: 'owner',
    name: 'Noor Visser',
    email: 'noor@northwind.example',
  });
  const note = 'We sell train journeys. Contract 88-1204 with the bank; first sales planned for March.';
  await owner.call(requestActivation, { account }, { sandbox: 'simulator', note });
  return { account, owner };
}

type Workers = People & Pick<Harbour, 'account' | 'payments' | 'productionPayment'>;

/** Changes of users in the console: the proxy, a webhook, the team, and changes in production under dual control. Returns the webhook. */
async function workOfToday(service: TestService, operator: Member, workers: Workers): Promise<string> {
  const { account, owner, developer, payments, productionPayment } = workers;
  const tenant = (environment: string, more: object = {}) => ({ account, environment, ...more });
  const keys = { processor_public_key: publicPem(newKeyPair()), merchant_private_key: privatePem(newKeyPair()) };
  await developer.call(configureProxy, tenant('sandbox'), {
    ...keys,
    settings: [
      { name: 'wssec.username', value: 'harbour' },
      { name: 'wssec.password', value: 'tide-and-lantern' },
    ],
  });
  await developer.call(configureProxy, tenant('sandbox'), {
    merchant_private_key: privatePem(newKeyPair()),
    overlap_minutes: 1440,
  });
  const { result } = await developer.call(createWebhook, tenant('sandbox'), {
    url: 'https://shop.harbour.example/cardvault',
    events: ['key.expiring', 'token.deleted'],
    description: 'Shop server',
  });
  await developer.call(capturePaymentManually, tenant('sandbox', { id: payments.get('HB-1018') }), {
    expected_operations: 1,
    amount: '61.30',
  });
  for (const [email, role] of [
    ['lena', 'analyst'],
    ['marc', 'developer'],
  ])
    await owner.call(inviteToTeam, { account }, { email: `${email}@harbour.example`, role });
  const { processors } = await owner.call(showOnboarding, { account });
  const processor = processors.find((each: { is_simulator: boolean }) => !each.is_simulator).name;
  await owner.call(requestActivation, { account }, { production: processor, note: 'Contract 4471 is signed.' });
  await service.core.transactions.run({ origin: BY_OPERATOR }, (transaction) =>
    service.core.accounts.setDualControl(transaction, account, true),
  );
  await changesByTwo({ account, owner, developer, productionPayment });
  await operator.stepUp();
  return result.webhook.id;
}

async function changesByTwo({
  account,
  owner,
  developer,
  productionPayment,
}: Pick<Workers, 'account' | 'owner' | 'developer' | 'productionPayment'>) {
  const tenant = { account, environment: 'production' };
  const traits = (name: string) => ({
    name,
    permissions: ['payments:write', 'payments:read'],
    allow_list: [{ cidr: '203.0.113.7', note: 'till' }],
  });
  const requestKey = async (person: Member, name: string): Promise<string> =>
    (await person.call(createKey, tenant, traits(name))).approval;
  const approval = await requestKey(developer, 'Till 3');
  await owner.call(approve, { account, id: approval });
  await developer.call(executeApproval, { account, id: approval });
  await owner.call(decline, { account, id: await requestKey(developer, 'Everything, to try') });
  await requestKey(developer, 'Till 4');
  await owner.call(
    refundPaymentManually,
    { ...tenant, id: productionPayment },
    { expected_operations: 1, amount: '7.90' },
  );
  await owner.call(listApprovals, { account });
}
