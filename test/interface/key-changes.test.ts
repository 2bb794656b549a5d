import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { runCommand, runInProcess } from '../fixtures/command.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';

const LIMIT_MS = 5 * SECOND;

describe('changes by another process apply to the running service within 5 seconds', { concurrency: true }, () => {
  let service: TestService;
  let account: string;
  before(async () => {
    service = await startTestService();
    account = await service.newAccount();
  });
  after(() => service.stop());

  const statusOf = async (key: string, from?: string): Promise<number> =>
    (await service.call('GET', '/v1/account', { key, ...(from !== undefined && { from }) })).status;

  // biome-ignore lint/suspicious/noExplicitAny: documents of the command line
  const command = async (...args: string[]): Promise<any> => {
    const { code, err, json } = await runInProcess(service.directory, ...args, '--json');
    assert.equal(code, 0, err);
    return json;
  };

  /** Keeps the key in use all the time, so that nothing remembered lives on by being used. */
  const becomes = async (status: number, key: string, from?: string): Promise<void> => {
    const started = Date.now();
    while ((await statusOf(key, from)) !== status) {
      assert.ok(Date.now() - started < LIMIT_MS, `not ${status} within ${LIMIT_MS} ms`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };

  test('a revocation', async () => {
    const { id, secret } = await service.newKey(account);
    assert.equal(await statusOf(secret), 200);
    // A process indeed; the other changes come through a database and keys of their own in this one.
    const revoked = await runCommand(['key', 'revoke', id, '--json'], { CARDVAULT_DATA_DIR: service.directory });
    assert.equal(revoked.json().state, 'revoked');
    await becomes(403, secret);
  });

  test('another allow-list', async () => {
    const { id, secret } = await service.newKey(account, { allow: ['127.0.0.1'] });
    assert.equal(await statusOf(secret, '127.0.0.1'), 200);
    assert.equal(await statusOf(secret, '127.0.0.2'), 403);
    await command('key', 'edit', id, '--ip', '127.0.0.2=other', '--ip', '::1');
    await becomes(403, secret, '127.0.0.1');
    await becomes(200, secret, '127.0.0.2');
  });

  test('an allow-list entry written as mapped IPv6', async () => {
    const { id, secret } = await service.newKey(account, { allow: [] });
    assert.equal(await statusOf(secret), 403);
    const edited = await command('key', 'edit', id, '--ip', '::ffff:127.0.0.1');
    assert.deepEqual(edited.allow_list, [{ cidr: '127.0.0.1', note: '' }]);
    await becomes(200, secret);
  });

  test('other permissions', async () => {
    const { id, secret } = await service.newKey(account);
    assert.equal(await statusOf(secret), 200);
    await command('key', 'edit', id, '--permission', 'tokens:create', '--permission', 'tokens:inspect');
    await becomes(403, secret);
    await command('key', 'edit', id, '--permission', 'account:read');
    await becomes(200, secret);
  });

  test('a suspended account, and a reactivated one', async () => {
    const other = await service.newAccount('Other');
    const { secret } = await service.newKey(other);
    assert.equal(await statusOf(secret), 200);
    await command('account', 'suspend', other);
    await becomes(403, secret);
    await command('account', 'resume', other);
    await becomes(200, secret);
  });

  test('a new key, which is cached nowhere, works immediately', async () => {
    const created = await command(
      'key',
      'create',
      '--account',
      account,
      '--environment',
      'sandbox',
      '--name',
      'new',
      '--ip',
      '127.0.0.1',
    );
    assert.equal(await statusOf(created.key), 200);
  });

  test('a rotation without overlap revokes the old key', async () => {
    const { id, secret } = await service.newKey(account);
    assert.equal(await statusOf(secret), 200);
    const successor = await command('key', 'rotate', id, '--overlap', '0');
    assert.equal(await statusOf(successor.key), 200);
    await becomes(403, secret);
    assert.equal(await statusOf(successor.key), 200);
  });
});

describe('rotation', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  test('both keys work through the overlap, and only the new one after it', async () => {
    const account = await service.newAccount();
    const old = await service.newKey(account, {
      name: 'checkout',
      permissions: ['account:read'],
      allow: ['127.0.0.1'],
    });
    const { json: successor } = await runInProcess(service.directory, 'key', 'rotate', old.id, '--json');
    assert.notEqual(successor.id, old.id);
    assert.notEqual(successor.key, old.secret);
    assert.equal(successor.name, 'checkout');
    assert.deepEqual(successor.permissions, ['account:read']);
    assert.deepEqual(successor.allow_list, [{ cidr: '127.0.0.1', note: '' }]);
    assert.equal(successor.expires_at, null);
    const statuses = async (): Promise<number[]> =>
      Promise.all(
        [old.secret, successor.key].map(async (key) => (await service.call('GET', '/v1/account', { key })).status),
      );
    service.advance(5 * SECOND);
    assert.deepEqual(await statuses(), [200, 200]);
    service.advance(58 * MINUTE);
    assert.deepEqual(await statuses(), [200, 200]);
    service.advance(2 * MINUTE);
    assert.deepEqual(await statuses(), [403, 200]);
  });

  test('the old key can be revoked during the overlap', async () => {
    const old = await service.newKey(await service.newAccount());
    const origin = { actor: { type: 'operator' as const } };
    const { secret } = await service.core.transactions.run({ origin: origin }, (transaction) =>
      service.core.accounts.rotateKey(transaction, old.id, 600),
    );
    await service.core.transactions.run({ origin: origin }, (transaction) =>
      service.core.accounts.revokeKey(transaction, old.id),
    );
    service.advance(5 * SECOND);
    assert.equal((await service.call('GET', '/v1/account', { key: old.secret })).status, 403);
    assert.equal((await service.call('GET', '/v1/account', { key: secret })).status, 200);
  });
});
