import assert from 'node:assert/strict';
import { createKey } from '../../console/wire/keys.ts';
import { requestActivation } from '../../console/wire/onboarding.ts';
import { declineActivation } from '../../console/wire/operator.ts';
import { inviteToTeam } from '../../console/wire/team.ts';
import { PERMISSIONS } from '../../src/accounts/permission.ts';
import { auditEntry } from '../../src/audit/audit.ts';
import { newClient } from '../console/client.ts';
import { type Answer, type House, startHouse } from '../house.ts';
import { order, PAYMENTS } from '../interface/payments.ts';
import { CAPTURES, capture, card, cards, TOKENIZE, VISA } from '../interface/vault.ts';
import { joined, type Member } from './member.ts';

/** What would call `canary` if a page took it for more than text; its name tells where it was planted. */
const typed = (name: string): string =>
  `"'><img src=x onerror=canary('${name}')></script><script>canary('${name}')</script>` +
  `{{constructor.constructor('canary(0)')()}}$t(title) javascript:canary(0) dne`;
/** From where signs that turn the text around are taken, too. */
export const planted = (name: string): string => `${typed(name)} \u202Edne`;
/** For texts of 100 characters. */
const shortly = (name: string): string => `"><img src=x onerror=canary('${name}')>{{x}}$t(title)dne`;
/** For e-mail addresses, which take no angle brackets. */
const asEmail = (name: string): string =>
  `javascript:canary('${name}')&lt;img/onerror=canary(0)&gt;{{x}}$t(t)@x.example`;

/** As a page shows it when it is nothing but text. */
export const shownOf = (name: string): string => `canary('${name}')`;

/** A service in which every text that others can write holds a script. */
export interface PlantedHouse {
  readonly house: House;
  readonly account: string;
  readonly owner: Member;
  readonly operator: Member;
  readonly key: string;
  readonly token: string;
  readonly capture: string;
  readonly payment: string;
}

const BY_TEST = { actor: { type: 'operator', name: 'test' } } as const;
const LOCAL = '127.0.0.0/8';

export async function startPlantedHouse(): Promise<PlantedHouse> {
  const house = await startHouse();
  const account = await house.newAccount(typed('account'));
  const operator = await joined(house, {
    account: '',
    role: 'operator',
    name: shortly('operator'),
    email: asEmail('operator-mail'),
  });
  const owner = await joined(house, { account, role: 'owner', name: shortly('owner'), email: asEmail('owner-mail') });
  await joined(house, { account, role: 'developer', name: 'Dev', email: 'dev@shop.example' });
  const { id, secret } = await newKey(house, account);
  const records = await newRecords(house, account, secret);
  await letters(house, account, { owner, operator });
  await visitBefore(house, owner);
  await note(house, account);
  return { house, account, owner, operator, key: id, ...records };
}

async function newKey(house: House, account: string): Promise<{ id: string; secret: string }> {
  const traits = {
    name: typed('key'),
    description: typed('description'),
    permissions: [...PERMISSIONS],
    allowList: [{ cidr: LOCAL, note: typed('note') }],
    expiresAt: undefined,
  };
  const { key, secret } = await house.core.accounts.createKey(account, 'sandbox', traits, BY_TEST);
  return { id: key.id, secret };
}

async function newRecords(house: House, account: string, key: string) {
  await house.enablePayments(account);
  const good = ({ status, text, json }: Answer) => {
    assert.equal(status, 200, text);
    return json.data;
  };
  const send = async (path: string, body: object) => good(await house.call('POST', path, { key, body }));
  const chd = [card(VISA, { name: planted('holder') })];
  const tags = [planted('tag'), "javascript:canary('tag-link')"];
  const { tokens } = await send(TOKENIZE, cards([], { chd, tags }));
  const info = { [planted('info-name')]: planted('info'), list: [planted('info-list')] };
  const made = await send(CAPTURES, capture({ additional_info: info }));
  const paid = await send(PAYMENTS, order('payment', { reference: planted('reference') }));
  return {
    token: String(tokens[0].token),
    capture: String(made.id),
    payment: String(paid.transaction_info.transaction_id),
  };
}

type Writers = Pick<PlantedHouse, 'owner' | 'operator'>;

/** What people write to each other. */
async function letters(house: House, account: string, { owner, operator }: Writers): Promise<void> {
  const ask = (note: string): Promise<{ id: string }> =>
    owner.call(requestActivation, { account }, { environment: 'production', processor: 'simulator', note });
  const first = await ask(typed('asked'));
  await operator.call(declineActivation, { id: account, request: first.id }, { answer: typed('answer') });
  await ask(typed('asked-again'));
  await owner.call(inviteToTeam, { account }, { email: asEmail('invited'), role: 'analyst' });
  await house.core.accounts.setDualControl(account, true, BY_TEST);
  const traits = { name: typed('wanted'), permissions: ['account:read'], allow_list: [] };
  await owner.call(createKey, { account, environment: 'production' }, traits);
}

/** With a browser that calls itself something else. */
async function visitBefore(house: House, owner: Member): Promise<void> {
  const client = newClient(house);
  const agent = { 'user-agent': planted('agent').replace(/[^ -~]/g, '') };
  const { email, password } = owner;
  const given = await client.send('POST', '/api/sign-in', { email, password }, agent);
  client.csrf = given.json.csrf_token;
  const answer = await client.send('POST', '/api/sign-in/code', { code: owner.code() }, agent);
  assert.equal(answer.status, 200, answer.text);
}

async function note(house: House, account: string): Promise<void> {
  const origin = { actor: { type: 'key', name: planted('actor') }, address: shortly('address') } as const;
  const event = {
    action: 'token.deleted',
    outcome: planted('outcome'),
    account,
    environment: 'sandbox',
    targets: [planted('target')],
    detail: { [planted('detail-name')]: planted('detail') },
  } as const;
  await house.core.database.commit({ writes: [], journal: [auditEntry(house.now, origin, event)] });
}
