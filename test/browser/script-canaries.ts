import assert from 'node:assert/strict';
import { createKey } from '../../console/wire/keys.ts';
import { requestActivation } from '../../console/wire/onboarding.ts';
import { declineActivation } from '../../console/wire/operator.ts';
import { inviteToTeam } from '../../console/wire/team.ts';
import { PERMISSIONS } from '../../src/accounts/permission.ts';
import { buildAuditEntry } from '../../src/audit/audit.ts';
import { newClient } from '../console/console-client.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { CAPTURES, capture, card, cards, TOKENIZE, VISA } from '../interface/vault-requests.ts';
import { type Member, newMember } from './member.ts';
import { openSession } from './seed-data.ts';

/** Texts that would call `canary` if a page took them for markup; the argument names their origin. */
const typed = (name: string): string =>
  `"'><img src=x onerror=canary('${name}')></script><script>canary('${name}')</script>` +
  `{{constructor.constructor('canary(0)')()}}$t(title) javascript:canary(0) dne`;
/** From where signs that turn the text around are taken, too. */
export const scriptCanary = (name: string): string => `${typed(name)} \u202Edne`;
/** For texts of 100 characters. */
const shortly = (name: string): string => `"><img src=x onerror=canary('${name}')>{{x}}$t(title)dne`;
/** For email addresses, which may not contain angle brackets. */
const asEmail = (name: string): string =>
  `javascript:canary('${name}')&lt;img/onerror=canary(0)&gt;{{x}}$t(t)@x.example`;

/** Returns the form in which a page shows a text that is only text. */
export const displayedCanary = (name: string): string => `canary('${name}')`;

/** An account in which every text that others can write holds a script, and an operator of that kind. */
export interface AccountWithScripts {
  readonly account: string;
  readonly owner: Member;
  readonly operator: Member;
  readonly key: string;
  readonly token: string;
  readonly capture: string;
  readonly session: string;
  readonly payment: string;
}

const BY_TEST = { actor: { type: 'operator', name: 'test' } } as const;
const LOCAL = '127.0.0.0/8';

export async function newAccountWithScripts(service: TestService): Promise<AccountWithScripts> {
  const account = await service.newAccount(typed('account'));
  const operator = await newMember(service, {
    account: '',
    role: 'operator',
    name: shortly('operator'),
    email: asEmail('operator-mail'),
  });
  const owner = await newMember(service, {
    account,
    role: 'owner',
    name: shortly('owner'),
    email: asEmail('owner-mail'),
  });
  await newMember(service, { account, role: 'developer', name: 'Dev', email: 'dev@shop.example' });
  const { id, secret } = await newKey(service, account);
  const records = await newRecords(service, account, secret);
  await letters(service, account, { owner, operator });
  await visitBefore(service, owner);
  await note(service, account);
  return { account, owner, operator, key: id, ...records };
}

async function newKey(service: TestService, account: string): Promise<{ id: string; secret: string }> {
  const traits = {
    name: typed('key'),
    description: typed('description'),
    permissions: [...PERMISSIONS],
    allowList: [{ cidr: LOCAL, note: typed('note') }],
    expiresAt: undefined,
  };
  const { key, secret } = await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
    service.core.accounts.createKey(transaction, account, 'sandbox', traits),
  );
  return { id: key.id, secret };
}

async function newRecords(service: TestService, account: string, key: string) {
  await service.enablePayments(account);
  const good = ({ status, text, json }: TestResponse) => {
    assert.equal(status, 200, text);
    return json.data;
  };
  const send = async (path: string, body: object) => good(await service.call('POST', path, { key, body }));
  const chd = [card(VISA, { name: scriptCanary('holder') })];
  const tags = [scriptCanary('tag'), "javascript:canary('tag-link')"];
  const { tokens } = await send(TOKENIZE, cards([], { chd, tags }));
  const info = { [scriptCanary('info-name')]: scriptCanary('info'), list: [scriptCanary('info-list')] };
  const created = await send(CAPTURES, capture({ additional_info: info }));
  const sendTo = (path: string, body: object) => service.call('POST', path, { key, body });
  const session = await openSession(sendTo, shortly('order'));
  const paid = await send(PAYMENTS, order('payment', { reference: scriptCanary('reference') }));
  return {
    token: String(tokens[0].token),
    capture: String(created.id),
    session,
    payment: String(paid.transaction_info.transaction_id),
  };
}

type Writers = Pick<AccountWithScripts, 'owner' | 'operator'>;

/** Texts that users write to each other. */
async function letters(service: TestService, account: string, { owner, operator }: Writers): Promise<void> {
  const submitRequest = (note: string): Promise<{ production: string }> =>
    owner.call(requestActivation, { account }, { production: 'simulator', note });
  const first = await submitRequest(typed('asked'));
  await operator.call(
    declineActivation,
    { id: account, request: first.production },
    { decision_note: typed('answer') },
  );
  await submitRequest(typed('asked-again'));
  await owner.call(inviteToTeam, { account }, { email: asEmail('invited'), role: 'analyst' });
  await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
    service.core.accounts.setDualControl(transaction, account, true),
  );
  const traits = { name: typed('wanted'), permissions: ['account:read'], allow_list: [] };
  await owner.call(createKey, { account, environment: 'production' }, traits);
}

/** With a browser that calls itself something else. */
async function visitBefore(service: TestService, owner: Member): Promise<void> {
  const client = newClient(service);
  const agent = { 'user-agent': scriptCanary('agent').replace(/[^ -~]/g, '') };
  const { email, password } = owner;
  const signedIn = await client.send('POST', '/api/sign-in', { email, password }, agent);
  client.csrf = signedIn.json.csrf_token;
  const response = await client.send('POST', '/api/sign-in/code', { code: owner.code() }, agent);
  assert.equal(response.status, 200, response.text);
}

async function note(service: TestService, account: string): Promise<void> {
  const origin = { actor: { type: 'key', name: scriptCanary('actor') }, address: shortly('address') } as const;
  const event = {
    action: 'token.deleted',
    outcome: scriptCanary('outcome'),
    account,
    environment: 'sandbox',
    targets: [scriptCanary('target')],
    detail: { [scriptCanary('detail-name')]: scriptCanary('detail') },
  } as const;
  await service.core.database.commit({ writes: [], journal: [buildAuditEntry(service.now, origin, event)] });
}
