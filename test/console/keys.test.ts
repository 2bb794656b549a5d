import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createKey, editKey, listKeys, revokeKey, rotateKey, searchKeys, showKey } from '../../console/wire/keys.ts';
import { commitOrThrow, write } from '../../src/storage/database.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { newPerson, type UserClient } from './console-client.ts';

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
const TRAITS = {
  name: 'till',
  description: 'Sells shoes',
  permissions: ['tokens:create', 'account:read'],
  allow_list: [{ cidr: '127.0.0.1', note: 'here' }],
};

async function created(traits: object = {}) {
  await owner.stepUp();
  const response = await owner.call(createKey, { params: sandbox(), body: { ...TRAITS, ...traits } });
  assert.equal(response.status, 200, response.text);
  assert.equal(response.json.approval, null);
  return response.json.result;
}

const events = async (action: string) =>
  (await service.core.database.read('select record from journal where account = ?account order by sequence', account))
    .map((row) => JSON.parse(String(row['record'])))
    .filter((record) => record.action === action);

describe('a key', () => {
  test('is created as requested, works, and is shown only once', async () => {
    const { key, secret } = await created({ expires_at: '2099-01-01T00:00:00Z' });
    assert.deepEqual(
      [key.name, key.description, key.permissions, key.allow_list, key.state, key.expires_at, key.revision],
      [
        'till',
        'Sells shoes',
        ['tokens:create', 'account:read'],
        [{ cidr: '127.0.0.1', note: 'here' }],
        'active',
        '2099-01-01T00:00:00.000Z',
        1,
      ],
    );
    assert.equal((await service.call('GET', '/v1/account', { key: secret })).status, 200);
    const list = await owner.call(listKeys, { params: sandbox() });
    assert.ok(list.json.keys.some(({ id }: { id: string }) => id === key.id));
    assert.ok(!list.text.includes(secret));
    assert.equal(list.json.your_address, '127.0.0.1');
    const [event] = (await events('key.created')).slice(-1);
    assert.deepEqual([event.actor.type, event.actor.id, event.address], ['person', owner.id, '127.0.0.1']);
  });

  test('is listed in its environment only, the newest first', async () => {
    const { key } = await created();
    const list = await owner.call(listKeys, { params: sandbox() });
    assert.equal(list.json.keys[0].id, key.id);
    const production = await owner.call(listKeys, { params: { account, environment: 'production' } });
    assert.deepEqual(production.json.keys, []);
  });

  test('is found by its name, prefix, description, address and note', async () => {
    const { key } = await created({
      name: 'Ñandú store',
      description: 'Sells unusual hats',
      allow_list: [{ cidr: '203.0.113.7', note: 'harbor office' }],
    });
    const found = async (text: string): Promise<string[]> =>
      (await owner.call(searchKeys, { params: sandbox(), body: { text } })).json.keys.map(
        (each: { id: string }) => each.id,
      );
    for (const text of ['ñandú', key.prefix, 'UNUSUAL', '203.0.113', 'harbor o'])
      assert.deepEqual(await found(text), [key.id], text);
    assert.deepEqual(await found('no such text'), []);
    const elsewhere = await owner.call(searchKeys, {
      params: { account, environment: 'production' },
      body: { text: 'harbor' },
    });
    assert.deepEqual(elsewhere.json.keys, []);
  });

  test('is changed from its current revision only; the audit log has the changed members', async () => {
    const { key } = await created();
    const params = { ...sandbox(), id: key.id };
    const body = { ...TRAITS, name: 'till 2', allow_list: [{ cidr: '10.0.0.0/8' }], revision: 1 };
    const edited = await owner.call(editKey, { params, body });
    assert.equal(edited.status, 200, edited.text);
    assert.deepEqual(
      [edited.json.result.key.name, edited.json.result.key.revision, edited.json.result.key.allow_list],
      ['till 2', 2, [{ cidr: '10.0.0.0/8', note: '' }]],
    );
    const [event] = (await events('key.edited')).slice(-1);
    assert.deepEqual([...event.detail.changed].sort(), ['allowList', 'name']);
    const late = await owner.call(editKey, { params, body: { ...body, name: 'till 3' } });
    assert.deepEqual([late.status, late.json.code], [409, 'changed_meanwhile']);
  });

  test('that a change leaves equal is not audited', async () => {
    const { key } = await created();
    const before = (await events('key.edited')).length;
    const body = { ...TRAITS, permissions: ['account:read', 'tokens:create'], revision: 1 };
    const response = await owner.call(editKey, { params: { ...sandbox(), id: key.id }, body });
    assert.equal(response.json.result.key.revision, 1);
    assert.equal((await events('key.edited')).length, before);
  });

  test('gets a successor, and expires after the overlap', async () => {
    const { key } = await created();
    const params = { ...sandbox(), id: key.id };
    const rotated = await owner.call(rotateKey, { params, body: { overlap_minutes: 60 } });
    assert.equal(rotated.status, 200, rotated.text);
    assert.equal((await service.call('GET', '/v1/account', { key: rotated.json.result.secret })).status, 200);
    const list = await owner.call(listKeys, { params: sandbox() });
    const old = list.json.keys.find(({ id }: { id: string }) => id === key.id);
    assert.deepEqual([old.state, old.successor], ['ending', rotated.json.result.key.id]);
    const again = await owner.call(rotateKey, { params, body: { overlap_minutes: 60 } });
    assert.deepEqual([again.status, again.json.code], [400, 'not_possible']);
  });

  test('is revoked, once', async () => {
    const { key, secret } = await created();
    const params = { ...sandbox(), id: key.id };
    const response = await owner.call(revokeKey, { params });
    assert.equal(response.json.key.state, 'revoked');
    service.advance(5000);
    assert.equal((await service.call('GET', '/v1/account', { key: secret })).status, 403);
    assert.equal((await owner.call(revokeKey, { params })).json.code, 'not_possible');
  });
});

describe('an invalid key', () => {
  for (const [field, wrong] of [
    ['name', { name: undefined }],
    ['permissions', { permissions: [] }],
    ['permissions[1]', { permissions: ['account:read', 'everything:do'] }],
    ['allow_list[1].cidr', { allow_list: [{ cidr: '10.0.0.1' }, { cidr: '10.0.0.999' }] }],
    ['expires_at', { expires_at: 'tomorrow-ish' }],
    ['expires_at', { expires_at: '1999-01-01T00:00:00Z' }],
  ] as const)
    test(`is rejected with the name of the field: ${field} of ${Object.keys(wrong)[0]}`, async () => {
      await owner.stepUp();
      const response = await owner.call(createKey, { params: sandbox(), body: { ...TRAITS, ...wrong } });
      assert.deepEqual([response.status, response.json.code, response.json.field], [400, 'invalid_field', field]);
      assert.ok(!/everything:do|10\.0\.0\.999|tomorrow-ish|1999/.test(response.text), response.text);
    });
});

describe('keys of other tenants', () => {
  test('are unknown in another account, or in the other environment', async () => {
    const { key } = await created();
    const stranger = await newPerson(service, await service.newAccount('Other'), 'owner');
    const [theirs] = await stranger.service.console.people.team.listMembershipsOf(stranger.id);
    const elsewhere = { account: theirs?.account ?? '', environment: 'sandbox', id: key.id };
    const wrongPlace = { account, environment: 'production', id: key.id };
    const body = { ...TRAITS, revision: 1, overlap_minutes: 5 };
    for (const definition of [editKey, rotateKey, revokeKey])
      for (const [client, params] of [
        [stranger, elsewhere],
        [owner, wrongPlace],
      ] as const) {
        const sent = await client.call(definition, { params, ...(definition.body && { body }) });
        const none = await client.call(definition, {
          params: { ...params, id: 'key_00000000000000' },
          ...(definition.body && { body }),
        });
        assert.deepEqual([sent.status, sent.json.code], [404, 'unknown_record']);
        assert.equal(sent.text, none.text);
      }
    assert.equal((await service.core.accounts.getKey(key.id)).revision, 1);
  });
});

describe('a key that was altered in the database', () => {
  const altered = async () => {
    const { key, secret } = await created();
    const sql = 'update api_keys set permissions = ? where id = ?';
    await commitOrThrow(service.core.database, { writes: [write(sql, ['["captures:retrieve"]', key.id], 1)] });
    return { params: { ...sandbox(), id: key.id }, secret };
  };

  test('is reported as altered in the list and in its details', async () => {
    const { params } = await altered();
    const { keys } = (await owner.call(listKeys, { params: sandbox() })).json;
    assert.equal(keys.find(({ id }: { id: string }) => id === params.id)?.state, 'altered');
    assert.equal((await owner.call(showKey, { params })).json.key.state, 'altered');
    const [record] = (await events('record.altered')).slice(-1);
    assert.deepEqual([record.targets, record.actor], [[`key:${params.id}`], { type: 'service' }]);
  });

  test('does not become authentic when it is edited or rotated, and can be revoked permanently', async () => {
    const { params, secret } = await altered();
    const body = {
      ...TRAITS,
      permissions: ['captures:retrieve'],
      description: 'more',
      revision: 1,
      overlap_minutes: 5,
    };
    for (const definition of [editKey, rotateKey]) {
      const refused = await owner.call(definition, { params, body });
      assert.deepEqual([refused.status, refused.json.code], [400, 'not_possible']);
      assert.match(refused.json.message, /^the key was altered in the database: it can only be revoked/);
    }
    assert.equal((await owner.call(showKey, { params })).json.key.state, 'altered');
    assert.equal((await service.call('GET', '/v1/account', { key: secret })).status, 403);
    const { key } = (await owner.call(revokeKey, { params })).json;
    assert.deepEqual([key.state, key.permissions, key.allow_list], ['revoked', [], []]);
    assert.equal((await owner.call(editKey, { params, body })).json.code, 'not_possible');
    assert.equal((await service.call('GET', '/v1/account', { key: secret })).status, 403);
  });
});
