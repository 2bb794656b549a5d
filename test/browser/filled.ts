import { approve, carryOut, decline, listApprovals } from '../../console/wire/approvals.ts';
import { createKey } from '../../console/wire/keys.ts';
import { requestActivation, showOnboarding } from '../../console/wire/onboarding.ts';
import { approveActivation, declineActivation } from '../../console/wire/operator.ts';
import { captureByHand, refundByHand } from '../../console/wire/payments.ts';
import { configureProxy } from '../../console/wire/proxy.ts';
import { inviteToTeam } from '../../console/wire/team.ts';
import type { Permission } from '../../src/accounts/permission.ts';
import { DAY, HOUR } from '../../src/kernel/clock.ts';
import { type House, startHouse } from '../house.ts';
import { newPair, privatePem, publicPem } from '../rsa-pairs.ts';
import { countDays, type Sender, sellOn, senderOf, storeCaptures, storeCards } from './filling.ts';
import { joined, type Member } from './member.ts';

/** A service in the middle of its work: two merchants, their people, and what gathers in two weeks. */
export interface FilledHouse {
  readonly house: House;
  readonly harbour: Harbour;
  /** It has just begun: it has no key yet, and has asked for payments. */
  readonly northwind: { readonly account: string; readonly owner: Member };
  readonly operator: Member;
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
  /** Of the sandbox. */
  readonly token: string;
  readonly capture: string;
  /** Collected. */
  readonly productionPayment: string;
}

const DAYS = 14;
const BY_OPERATOR = { actor: { type: 'operator', name: 'Irene Castillo' } } as const;
const LOCAL = ['127.0.0.0/8', '::1'];

/** The last of the days ends at this time. */
export async function startFilledHouse(endsAt = Date.now()): Promise<FilledHouse> {
  const house = await startHouse();
  house.advance(endsAt - DAYS * DAY - house.now());
  const operator = await joined(house, {
    account: '',
    role: 'operator',
    name: 'Irene Castillo',
    email: 'irene@cardvault.example',
  });
  await joined(house, { account: '', role: 'operator', name: 'Tomas Berg', email: 'tomas@cardvault.example' });
  const account = await house.newAccount('Harbour Books');
  const people = await teamOf(house, account);
  await begun(house, operator, { account, owner: people.owner });
  const senders = await keysOf(house, account);
  const { payments, productionPayment } = await fillDays(house, senders, endsAt);
  await Promise.all([countDays(house, account, 'sandbox', DAYS), countDays(house, account, 'production', DAYS)]);
  house.advance(endsAt - house.now());
  for (const person of [operator, ...Object.values(people)]) await person.signIn();
  const northwind = await newcomer(house);
  await workOfToday(house, operator, { account, ...people, payments, productionPayment });
  const [token = ''] = await storeCards(senders.sandbox, 0);
  const [capture = ''] = await storeCaptures(senders.sandbox);
  return { house, harbour: { account, ...people, payments, productionPayment, token, capture }, northwind, operator };
}

async function teamOf(house: House, account: string): Promise<People> {
  const of = (role: keyof People, name: string, email: string) =>
    joined(house, { account, role, name, email: `${email}@harbour.example` });
  const owner = await of('owner', 'Olga Duarte', 'olga');
  return {
    owner,
    developer: await of('developer', 'Dev Patel', 'dev'),
    analyst: await of('analyst', 'Aiko Tanaka', 'aiko'),
    auditor: await of('auditor', 'Ulrich Sander', 'ulrich'),
  };
}

/** Payments are asked for, and enabled. */
async function begun(
  house: House,
  operator: Member,
  { account, owner }: { account: string; owner: Member },
): Promise<void> {
  const ask = (environment: string, processor: string, note: string): Promise<{ id: string }> =>
    owner.call(requestActivation, { account }, { environment, processor, note });
  const sandbox = await ask('sandbox', 'simulator', 'To try out the new shop.');
  // A short wait, because what never answers is waited for.
  const settings = [{ name: 'timeout-ms', value: '1000' }];
  const yes = { processor: 'simulator', settings, answer: 'Enabled. Tell us when you want to go live.' };
  await operator.call(approveActivation, { id: account, request: sandbox.id }, yes);
  const early = await ask('production', 'koin', 'Contract 4471.');
  await operator.call(
    declineActivation,
    { id: account, request: early.id },
    { answer: 'Please finish the tests in the sandbox first.' },
  );
  const request = { processor: 'simulator', settings: {}, force: true };
  await house.core.activations.enable({ account, environment: 'production' }, request, BY_OPERATOR);
}

/** Keys in every state; answers what sends with those of the shop. */
async function keysOf(house: House, account: string): Promise<Record<'sandbox' | 'production', Sender>> {
  const { accounts } = house.core;
  const reads: Permission[] = ['tokens:inspect', 'payments:read', 'account:read'];
  const sandbox = await house.newKey(account, { name: 'Shop server' });
  const production = await house.newKey(account, { environment: 'production', name: 'Shop server, live' });
  await house.newKey(account, {
    environment: 'production',
    name: 'Reports',
    permissions: reads,
    allow: ['203.0.113.0/24'],
  });
  await house.newKey(account, { name: 'Reports', permissions: reads, allow: ['203.0.113.0/24', '2001:db8::/32'] });
  await house.newKey(account, { name: 'Load test', permissions: ['tokens:create'], expiresAt: house.now() + 3 * DAY });
  const old = await house.newKey(account, { name: 'Phone orders', permissions: ['payments:write'], allow: LOCAL });
  await accounts.rotateKey(old.id, DAYS * 24 * 60 + 600, BY_OPERATOR);
  const lost = await house.newKey(account, { name: 'Laptop of Dev' });
  await accounts.revokeKey(lost.id, BY_OPERATOR);
  return {
    sandbox: senderOf(house, sandbox.secret, 'sandbox'),
    production: senderOf(house, production.secret, 'production'),
  };
}

async function fillDays(
  house: House,
  { sandbox, production }: Record<'sandbox' | 'production', Sender>,
  endsAt: number,
) {
  const payments = new Map<string, string>();
  const live = new Map<string, string>();
  for (let daysAgo = DAYS - 1; daysAgo >= 0; daysAgo--) {
    // Today's begin an hour ago.
    house.advance(endsAt - daysAgo * DAY - HOUR - house.now());
    await storeCards(sandbox, daysAgo);
    await sellOn(daysAgo, sandbox, payments);
    if (daysAgo === 7) await storeCards(production, daysAgo);
    if (daysAgo <= 1) await sellOn(daysAgo + 6, production, live);
  }
  return { payments, productionPayment: live.get('HB-1007') ?? '' };
}

async function newcomer(house: House) {
  const account = await house.newAccount('Northwind Travel');
  const owner = await joined(house, { account, role: 'owner', name: 'Noor Visser', email: 'noor@northwind.example' });
  const note = 'We sell train journeys. Contract 88-1204 with the bank; first sales planned for March.';
  await owner.call(requestActivation, { account }, { environment: 'sandbox', processor: 'simulator', note });
  return { account, owner };
}

type Workers = People & Pick<Harbour, 'account' | 'payments' | 'productionPayment'>;

/** What people do in the console: the proxy, the team, and changes in production by two. */
async function workOfToday(house: House, operator: Member, workers: Workers): Promise<void> {
  const { account, owner, developer, payments, productionPayment } = workers;
  const tenant = (environment: string, more: object = {}) => ({ account, environment, ...more });
  const keys = { processor_public_key: publicPem(newPair()), merchant_private_key: privatePem(newPair()) };
  await developer.call(configureProxy, tenant('sandbox'), {
    ...keys,
    settings: [
      { name: 'wssec.username', value: 'harbour' },
      { name: 'wssec.password', value: 'tide-and-lantern' },
    ],
  });
  await developer.call(configureProxy, tenant('sandbox'), {
    merchant_private_key: privatePem(newPair()),
    overlap_minutes: 1440,
  });
  await developer.call(captureByHand, tenant('sandbox', { id: payments.get('HB-1018') }), { seen: 1, amount: '61.30' });
  for (const [email, role] of [
    ['lena', 'analyst'],
    ['marc', 'developer'],
  ])
    await owner.call(inviteToTeam, { account }, { email: `${email}@harbour.example`, role });
  const { processors } = await owner.call(showOnboarding, { account });
  const processor = processors.find((each: { is_simulator: boolean }) => !each.is_simulator).name;
  await owner.call(
    requestActivation,
    { account },
    { environment: 'production', processor, note: 'Contract 4471 is signed.' },
  );
  await house.core.accounts.setDualControl(account, true, BY_OPERATOR);
  await changesByTwo({ account, owner, developer, productionPayment });
  await operator.stepUp();
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
  const ask = async (person: Member, name: string): Promise<string> =>
    (await person.call(createKey, tenant, traits(name))).approval;
  const given = await ask(developer, 'Till 3');
  await owner.call(approve, { account, id: given });
  await developer.call(carryOut, { account, id: given });
  await owner.call(decline, { account, id: await ask(developer, 'Everything, to try') });
  await ask(developer, 'Till 4');
  await owner.call(refundByHand, { ...tenant, id: productionPayment }, { seen: 1, amount: '7.90' });
  await owner.call(listApprovals, { account });
}
