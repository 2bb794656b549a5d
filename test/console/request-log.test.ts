import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { listAudit, listServiceAudit } from '../../console/wire/audit.ts';
import { listAllRequests, listRequests } from '../../console/wire/request-log.ts';
import { ENDPOINTS } from '../../src/http/endpoints.ts';
import { MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { type AccountUser, assertRefused, assertUnknown, newAccountUser, successData } from './account-user.ts';
import { newPerson, type UserClient } from './console-client.ts';

interface Shown {
  readonly request_id: string;
  readonly account: string | null;
}

describe('the request log in the console', { timeout: 120_000 }, () => {
  let service: TestService;
  let account: string;
  let other: string;
  let keyId: string;
  let desk: AccountUser;
  let operator: UserClient;
  const sent: Record<string, string> = {};

  before(async () => {
    service = await startTestService();
    account = await service.newAccount('Harbour');
    other = await service.newAccount('Other');
    desk = await newAccountUser(service, account);
    operator = await newPerson(service, '', 'operator');
    const key = await service.newKey(account, { name: 'checkout' });
    keyId = key.id;
    const live = await service.newKey(account, { environment: 'production' });
    const foreign = await service.newKey(other);
    const call = async (name: string, method: string, path: string, options: object): Promise<void> => {
      sent[name] = `request-${name}`;
      await service.call(method, path, { ...options, headers: { 'x-request-id': sent[name] } });
      service.advance(SECOND);
    };
    await call('success', 'GET', '/v1/account', { key: key.secret });
    const body = { chd: [{ card: 'x', exp: '12/29' }], tags: [], scheme: 1 };
    await call('invalid', 'POST', '/v1/tokenization/simple', { key: key.secret, body });
    await call('unknown', 'GET', '/v1/tokens/nothing/inspect', { key: key.secret });
    await call('live', 'GET', '/v1/tokens/nothing/inspect', { key: live.secret, environment: 'production' });
    await call('foreign', 'GET', '/v1/tokens/nothing/inspect', { key: foreign.secret });
    await call('anonymous', 'GET', '/v1/account', { key: 'wrong' });
    await eventually(async () => {
      service.advance(6 * SECOND);
      return (await ofAll()).length >= Object.keys(sent).length;
    });
  });
  after(() => service.stop());

  const idsOf = (shown: readonly Shown[]): string[] =>
    shown.map(({ request_id }) => request_id.slice('request-'.length));
  const ofAccount = async (body: object = {}): Promise<string[]> =>
    idsOf(successData(await desk.call(listRequests, { body })).requests);
  const ofAll = async (body: object = {}): Promise<string[]> =>
    idsOf(successData(await operator.call(listAllRequests, { body })).requests);

  test('shows members the requests of their account and environment, newest first', async () => {
    assert.deepEqual(await ofAccount(), ['unknown', 'invalid', 'success']);
    const production = await newAccountUser(service, account, { role: 'auditor', environment: 'production' });
    assert.deepEqual(idsOf(successData(await production.call(listRequests, { body: {} })).requests), ['live']);
    assertUnknown(
      await desk.person.call(listRequests, { params: { account: other, environment: 'sandbox' }, body: {} }),
    );
  });

  test('shows a request with the present name of its key, and no value of it', async () => {
    const [shown] = successData(await desk.call(listRequests, { body: { request_id: sent['invalid'] } })).requests;
    const { id, at, duration_us, reason, ...rest } = shown;
    assert.match(id, /^\d+-\d+$/);
    assert.ok(Date.parse(at) > 0 && duration_us > 0 && reason !== null);
    assert.deepEqual(rest, {
      account,
      environment: 'sandbox',
      method: 'POST',
      route: '/v1/tokenization/simple',
      status: 400,
      error: 'invalid_field',
      field: 'chd[0].card',
      request_id: sent['invalid'],
      api_key: { id: keyId, name: 'checkout' },
      address: '127.0.0.1',
      repeats: 0,
    });
  });

  test('finds by each filter', async () => {
    assert.deepEqual(await ofAccount({ status: 'errors' }), ['unknown', 'invalid']);
    assert.deepEqual(await ofAccount({ status: '2xx' }), ['success']);
    assert.deepEqual(await ofAccount({ error: 'unknown_token' }), ['unknown']);
    assert.deepEqual(await ofAccount({ route: '/v1/account' }), ['success']);
    assert.deepEqual(await ofAccount({ key: keyId, status: '4xx' }), ['unknown', 'invalid']);
    assert.deepEqual(await ofAccount({ key: 'other' }), []);
    assert.deepEqual(await ofAccount({ address: '127.0.0.0/8', status: '2xx' }), ['success']);
    assert.deepEqual(await ofAccount({ address: '203.0.113.7' }), []);
    assert.deepEqual(await ofAccount({ from: '2200-01-01' }), []);
    assert.deepEqual(await ofAccount({ to: '2000-01-01' }), []);
    for (const [field, value] of Object.entries({ address: 'nonsense', from: 'yesterday', status: '3xx' }))
      assertRefused(await desk.call(listRequests, { body: { [field]: value } }), 'invalid_field', field, value);
  });

  test('shows operators all accounts, and requests of no known account', async () => {
    assert.deepEqual(await ofAll(), ['anonymous', 'foreign', 'live', 'unknown', 'invalid', 'success']);
    assert.deepEqual(await ofAll({ account: 'none' }), ['anonymous']);
    assert.deepEqual(await ofAll({ account }), ['live', 'unknown', 'invalid', 'success']);
    assert.deepEqual(await ofAll({ account, environment: 'production' }), ['live']);
    assert.deepEqual(await ofAll({ environment: 'production' }), ['live']);
    assertUnknown(await operator.call(listAllRequests, { body: { account: 'acct_none' } }));
  });

  test('lists the routes to filter by', async () => {
    const { routes } = successData(await desk.call(listRequests, { body: {} }));
    assert.deepEqual(routes, [...new Set(ENDPOINTS.map(({ path }) => path))].sort().concat('(none)'));
  });

  test('is not for analysts', async () => {
    const analyst = await newAccountUser(service, account, { role: 'analyst' });
    assertRefused(await analyst.call(listRequests, { body: {} }), 'not_allowed');
  });

  test('is read on record: once in 5 minutes for a reader and filters, with their names', async () => {
    service.advance(5 * MINUTE);
    const readings = async (): Promise<{ name: string; value: string }[][]> =>
      successData(await desk.call(listAudit, { body: { action: 'requests.read' } })).records.map(
        ({ detail }: { detail: { name: string; value: string }[] }) => detail,
      );
    const before = (await readings()).length;
    for (let page = 0; page < 3; page++) await ofAccount({ status: 'errors', request_id: 'secret' });
    const after = await readings();
    assert.equal(after.length, before + 1);
    assert.deepEqual(after[0], [
      { name: 'of', value: account },
      { name: 'filters', value: 'request_id status' },
    ]);
    await ofAll({ account });
    assert.equal((await readings()).length, before + 2);
    const { records } = successData(await operator.call(listServiceAudit, { body: { action: 'requests.read' } }));
    assert.ok(records.length > 0);
  });
});
