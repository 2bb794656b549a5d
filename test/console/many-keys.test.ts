import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createKey, editKey, listKeys, rotateKey, showKey } from '../../console/wire/keys.ts';
import { HOUR, MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { assertRefused, successData } from './account-user.ts';
import { newPerson, type UserClient } from './console-client.ts';

/** The maximum number of keys, each with an allow-list of the maximum length. */

const MAX = LIMITS.keysPerEnvironment;
const BY_TEST = { actor: { type: 'operator', name: 'test' } } as const;
const FULL = Array.from({ length: LIMITS.allowListEntries }, (_, index) => ({
  cidr: `10.0.${index >> 8}.${index & 255}`,
  note: 'till',
}));
const TRAITS = { name: 'till', description: '', permissions: [], allowList: [], expiresAt: undefined };
const BODY = { name: 'one more', permissions: ['account:read'], allow_list: [] };

let service: TestService;
let account: string;
let owner: UserClient;

before(async () => {
  service = await startTestService();
  account = await service.newAccount();
  owner = await newPerson(service, account, 'owner');
});
after(() => service.stop());

const sandbox = () => ({ account, environment: 'sandbox' });
const make = (traits: object = {}, whose = account) =>
  service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
    service.core.accounts.createKey(transaction, whose, 'sandbox', { ...TRAITS, ...traits }),
  );
const makeMany = (count: number, traits: object = {}, whose = account) =>
  Promise.all(Array.from({ length: count }, () => make(traits, whose)));
const TOO_MANY = /an environment has at most 100 valid keys, and at most 200 are created in 24 hours/;

describe('the maximum number of keys', () => {
  let first: string;

  before(async () => {
    for (let created = 0; created < MAX; created += 20) await makeMany(20, { allowList: FULL });
    first = successData(await owner.call(listKeys, { params: sandbox() })).keys.at(-1).id;
  });

  test('are listed with the length of their allow-lists, and without the entries', async () => {
    const list = await owner.call(listKeys, { params: sandbox() });
    const { keys } = successData(list);
    assert.equal(keys.length, MAX);
    assert.deepEqual([...new Set(keys.map(({ networks }: { networks: number }) => networks))], [FULL.length]);
    assert.ok(!list.text.includes('10.0.'), 'entries');
    assert.ok(list.text.length < 1000 * MAX, `${list.text.length}`);
  });

  test('show their entries one by one', async () => {
    const { key } = successData(await owner.call(showKey, { params: { ...sandbox(), id: first } }));
    assert.deepEqual(key.allow_list, FULL);
    assert.equal(key.networks, undefined);
  });

  test('prevent another one, by any user, until one is revoked', async () => {
    const refused = await owner.call(createKey, { params: sandbox(), body: BODY });
    assertRefused(refused, 'not_possible');
    assert.match(refused.json.message, TOO_MANY);
    await assert.rejects(make(), TOO_MANY);
    const production = await owner.call(createKey, { params: { account, environment: 'production' }, body: BODY });
    assert.equal(production.status, 200, production.text);
    await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      service.core.accounts.revokeKey(transaction, first),
    );
    assert.equal((await owner.call(createKey, { params: sandbox(), body: BODY })).status, 200);
    await assert.rejects(make(), TOO_MANY);
    const states = successData(await owner.call(listKeys, { params: sandbox() })).keys.map(
      ({ state }: { state: string }) => state,
    );
    assert.deepEqual([states.length, states.filter((state: string) => state === 'revoked').length], [MAX + 1, 1]);
  });

  test('can be rotated when the old one expires immediately', async () => {
    const [{ id }] = successData(await owner.call(listKeys, { params: sandbox() })).keys;
    const params = { ...sandbox(), id };
    await owner.stepUp();
    assertRefused(await owner.call(rotateKey, { params, body: { overlap_minutes: 5 } }), 'not_possible');
    assert.equal((await owner.call(rotateKey, { params, body: { overlap_minutes: 0 } })).status, 200);
  });
});

describe('an expired key', () => {
  test('does not count toward the limit, and does not become valid again', async () => {
    const whose = await service.newAccount();
    const other = await newPerson(service, whose, 'owner');
    const { key: short } = await make({ expiresAt: service.now() + MINUTE }, whose);
    await makeMany(MAX - 1, {}, whose);
    await assert.rejects(make({}, whose), TOO_MANY);
    service.advance(MINUTE);
    await make({}, whose);
    const body = { ...BODY, revision: 1, expires_at: '2099-01-01T00:00:00Z' };
    const params = { account: whose, environment: 'sandbox', id: short.id };
    const refused = await other.call(editKey, { params, body });
    assertRefused(refused, 'not_possible');
    assert.equal((await service.core.accounts.getKey(short.id)).revision, 1);
    const { expires_at: _, ...ended } = body;
    const expected = { ...ended, expires_at: new Date(short.expiresAt ?? 0).toISOString() };
    assert.equal((await other.call(editKey, { params, body: expected })).status, 200);
  });
});

describe('keys that are created and revoked repeatedly', () => {
  test('are limited in 24 hours, and the newest of them are listed', async () => {
    const whose = await service.newAccount();
    const other = await newPerson(service, whose, 'owner');
    for (let created = 0; created < LIMITS.keysCreatedPerDay; created += MAX)
      await Promise.all(
        (await makeMany(MAX, {}, whose)).map(({ key }) =>
          service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
            service.core.accounts.revokeKey(transaction, key.id),
          ),
        ),
      );
    await assert.rejects(make({}, whose), TOO_MANY);
    const { keys } = successData(await other.call(listKeys, { params: { account: whose, environment: 'sandbox' } }));
    assert.equal(keys.length, LIMITS.endedKeysListed);
    service.advance(24 * HOUR);
    await make({}, whose);
  });

  test('do not exceed the limit when they are created concurrently', async () => {
    const whose = await service.newAccount();
    const results = await Promise.allSettled(Array.from({ length: MAX + 5 }, () => make({}, whose)));
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, MAX);
    assert.equal((await service.core.accounts.listKeys(whose)).length, MAX);
  });
});
