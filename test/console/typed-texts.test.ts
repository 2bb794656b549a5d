import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createKey, editKey } from '../../console/wire/keys.ts';
import { requestActivation, showOnboarding } from '../../console/wire/onboarding.ts';
import { approveActivation, createAccount, declineActivation } from '../../console/wire/operator.ts';
import { changeEmail, editProfile } from '../../console/wire/profile.ts';
import { inviteToTeam } from '../../console/wire/team.ts';
import { issueKey } from '../../src/accounts/issue-key.ts';
import { commitOrThrow } from '../../src/storage/database.ts';
import type { TestResponse, TestService } from '../fixtures/test-service.ts';
import { startTestService } from '../fixtures/test-service.ts';
import { assertRefused, executedResult, successData } from './account-user.ts';
import { newPerson, type UserClient } from './console-client.ts';

/**
 * Texts that users type for other users contain no card number and no invisible character, and none with one is ever
 * stored.
 */

const VISA = '4111111111111111';
const CARDS = [VISA, '4111 1111 1111 1111', '4111-1111-1111-1111', '3782-822463-10005', '4 1 1 1-1111 1111 1111'];
/** The Luhn check passes, but no issuer could have given it out. */
const MERCHANT = '101230045678001';
const UNSEEN = [
  ...['a\u200bb', 'a\u202eb', 'a\u2066b', 'a\u2028b', 'a\u00adb', 'a\ufeffb'],
  ...['ca\u034frla', 'a\u3164b', '\u3164', 'a\u2800b', 'a\ufe0fb', 'a\uffffb', 'a\ue000b', 'a\u{e0080}b'],
];

let service: TestService;
let account: string;
let owner: UserClient;
let operator: UserClient;
let key: string;
before(async () => {
  service = await startTestService();
  account = await service.newAccount('Shop');
  owner = await newPerson(service, account, 'owner');
  await newPerson(service, account, 'developer');
  operator = await newPerson(service, '', 'operator');
  key = (await service.newKey(account)).id;
});
after(() => service.stop());

const TRAITS = { name: 'till', permissions: ['account:read'], allow_list: [] };
const create = (traits: object, environment = 'sandbox'): Promise<TestResponse> =>
  owner.call(createKey, { params: { account, environment }, body: { ...TRAITS, ...traits } });
const edit = (traits: object): Promise<TestResponse> =>
  owner.call(editKey, {
    params: { account, environment: 'sandbox', id: key },
    body: { ...TRAITS, ...traits, revision: 1 },
  });
const noted = (note: string) => [{ cidr: '127.0.0.1' }, { cidr: '127.0.0.2', note }];

const FIELDS: readonly (readonly [what: string, field: string, send: (text: string) => Promise<TestResponse>])[] = [
  ['the name of a new key', 'name', (name) => create({ name })],
  ['its description', 'description', (description) => create({ description })],
  ['a note of its allow-list', 'allow_list[1].note', (note) => create({ allow_list: noted(note) })],
  ['the name of a key that is changed', 'name', (name) => edit({ name })],
  ['the description of one', 'description', (description) => edit({ description })],
  ['a note of one', 'allow_list[1].note', (note) => edit({ allow_list: noted(note) })],
  ['the name of a new account', 'name', (name) => operator.call(createAccount, { body: { name } })],
  ['the name of a person', 'name', (name) => owner.call(editProfile, { body: { name } })],
];

const emailOf = (text: string): string => `${text.replaceAll(' ', '-')}@example.com`;
const EMAILS: typeof FIELDS = [
  [
    'an invitation',
    'email',
    (email) => owner.call(inviteToTeam, { params: { account }, body: { email, role: 'owner' } }),
  ],
  [
    'the owner of a new account',
    'owner_email',
    (email) => operator.call(createAccount, { body: { name: 'x', owner_email: email } }),
  ],
  ['oneself', 'email', (email) => owner.call(changeEmail, { body: { email } })],
];

/** The text of the entire database, in particular the audit log. */
async function storedText(): Promise<string> {
  const tables = ['accounts', 'api_keys', 'journal', 'approvals', 'people', 'invitations', 'activation_requests'];
  const rows = await Promise.all(tables.map((table) => service.core.database.read(`select * from ${table}`)));
  return JSON.stringify(rows.flat());
}

async function assertNowhere(texts: readonly string[]): Promise<void> {
  const everywhere = `${await storedText()}\n${service.log.join('\n')}`;
  for (const text of texts) assert.ok(!everywhere.includes(JSON.stringify(text).slice(1, -1)), escape(text));
}

describe('a card number is rejected', () => {
  for (const [what, field, send] of FIELDS)
    test(`as ${what}`, async () => {
      for (const card of CARDS) assertRefused(await send(`till ${card}`), 'invalid_field', field, card);
    });

  for (const [what, field, send] of EMAILS)
    test(`as the email address of ${what}`, async () => {
      for (const card of CARDS) assertRefused(await send(emailOf(card)), 'invalid_field', field, card);
    });

  test('in a request for approval', async () => {
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.core.accounts.setDualControl(transaction, account, true),
    );
    assertRefused(await create({ name: VISA }, 'production'), 'invalid_field', 'name', VISA);
    const note = await create({ allow_list: noted(VISA) }, 'production');
    assertRefused(note, 'invalid_field', 'allow_list[1].note', VISA);
    assert.deepEqual(await service.core.database.read('select id from approvals'), []);
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.core.accounts.setDualControl(transaction, account, false),
    );
  });

  test('and is stored nowhere', () => assertNowhere(CARDS));

  test('but a merchant number is accepted', async () => {
    const named = FIELDS.filter(([what]) =>
      ['the name of a new key', 'the name of a new account', 'the name of a person'].includes(what),
    );
    assert.equal(named.length, 3);
    for (const [what, , send] of named) {
      const response = await send(`till ${MERCHANT}`);
      assert.equal(response.status, 200, `${what}: ${response.text}`);
    }
  });
});

describe('an invisible character is rejected', () => {
  for (const [what, field, send] of FIELDS)
    test(`as ${what}`, async () => {
      for (const text of UNSEEN) assertRefused(await send(text), 'invalid_field', field, text);
    });

  for (const [what, field, send] of EMAILS)
    test(`in the email address of ${what}`, async () => {
      for (const text of UNSEEN) assertRefused(await send(emailOf(text)), 'invalid_field', field, text);
    });

  test('in an email address that looks like another one', async () => {
    for (const email of ['ca\u034frla@example.com', 'ｃarla@example.com', 'carlaª@example.com', 'ﬁ@example.com'])
      for (const [, field, send] of EMAILS) assertRefused(await send(email), 'invalid_field', field, email);
  });

  test('but the one that selects a colored picture is accepted', async () => {
    const { id } = successData(await operator.call(createAccount, { body: { name: 'Shop ❤️' } }));
    assert.equal((await service.core.accounts.find(id))?.name, 'Shop ❤️');
  });
});

describe('messages between a merchant and an operator', () => {
  const submit = (note: string): Promise<TestResponse> =>
    owner.call(requestActivation, {
      params: { account },
      body: { sandbox: 'simulator', note },
    });

  test('contain neither', async () => {
    for (const text of [...UNSEEN, ...CARDS]) assertRefused(await submit(text), 'invalid_field', 'note', text);
    const { sandbox: request } = successData(await submit('soon'));
    const params = { id: account, request };
    for (const decision_note of [...UNSEEN, ...CARDS]) {
      const declined = await operator.call(declineActivation, { params, body: { decision_note } });
      assertRefused(declined, 'invalid_field', 'decision_note', decision_note);
      const approved = await operator.call(approveActivation, {
        params,
        body: { processor: 'simulator', decision_note },
      });
      assertRefused(approved, 'invalid_field', 'decision_note', decision_note);
    }
    successData(await operator.call(declineActivation, { params, body: { decision_note: 'no' } }));
    const [shown] = successData(await owner.call(showOnboarding, { params: { account } })).requests;
    assert.deepEqual([shown.note, shown.decision_note, shown.status], ['soon', 'no', 'declined']);
  });
});

describe('a name that was stored before this rule', () => {
  test('does not prevent other changes and rotation', async () => {
    const traits = { name: 'a\u200bb', description: '', permissions: [], allowList: [], expiresAt: undefined };
    const { key, insert } = await issueKey(service.core, { account, environment: 'sandbox' }, traits);
    await commitOrThrow(service.core.database, { writes: [insert] });
    const { id } = key;
    const params = { account, environment: 'sandbox', id };
    const body = { ...TRAITS, name: 'a\u200bb', description: 'more', revision: 1 };
    assert.equal(executedResult(await owner.call(editKey, { params, body })).key.description, 'more');
    const { key: rotated } = await service.core.transactions.run(
      { origin: { actor: { type: 'operator' } } },
      (transaction) => service.core.accounts.rotateKey(transaction, id, 0),
    );
    assert.equal(rotated.name, 'a\u200bb');
  });
});
