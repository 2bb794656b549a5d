import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type OpenedConsole, openConsole } from '../../console/open.ts';
import { parseConfig } from '../../src/config.ts';
import { type OpenCore, openCore } from '../../src/core.ts';
import { HOUR } from '../../src/kernel/clock.ts';
import { steadyClocks } from '../fixtures/clock.ts';
import { runInProcess, runWithSettings } from '../fixtures/command.ts';
import { databaseSettings, dropDatabase } from '../fixtures/database.ts';
import { deriveQuickly } from '../fixtures/derive-quickly.ts';
import { BY_TEST, codeAt, PASSWORD, VISITOR } from '../fixtures/people-fixture.ts';

const now = (): number => Date.now();

describe('cardvault operator', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  });
  after(async () => {
    rmSync(directory, { recursive: true, force: true });
    await dropDatabase(directory);
  });

  const run = (...args: string[]) => runInProcess(directory, 'operator', ...args);
  const withVault = async <T>(act: (webConsole: OpenedConsole, core: OpenCore) => Promise<T>): Promise<T> => {
    const settings = await databaseSettings(directory);
    const core = await openCore(parseConfig({ CARDVAULT_DATA_DIR: directory, ...settings }), steadyClocks(now));
    try {
      return await act(await openConsole(core, { derive: deriveQuickly }), core);
    } finally {
      await core.close();
    }
  };
  const secretOf = (url: string): string => {
    assert.match(url, /^https:\/\/localhost:8445\/join#[A-Za-z0-9_-]{43}$/);
    return url.split('#')[1] ?? '';
  };
  /** Does the same as opening a link in a browser. */
  const joinBy = (url: string, more: { email?: string; name?: string } = {}) =>
    withVault(async ({ people }, core) => {
      const enrollment = { secret: secretOf(url), name: 'Olga', language: 'en', password: PASSWORD, ...more };
      const { session } = await core.transactions.run({ origin: BY_TEST }, (transaction) =>
        people.enrollment.begin(transaction, enrollment, VISITOR),
      );
      const { secret } = people.enrollment.totp(session);
      return core.transactions.run({ origin: BY_TEST }, (transaction) =>
        people.enrollment.confirmTotp(transaction, session, codeAt(secret, now()), VISITOR),
      );
    });

  test('invites before the first start of the service, and the user who opens the link enters a name', async () => {
    const fresh = await run('list', '--json');
    assert.notEqual(fresh.code, 0, 'nothing is made by looking');
    const created = await run('invite', '--json');
    assert.equal(created.code, 0, created.err);
    assert.ok(existsSync(join(directory, 'root.key')));
    assert.deepEqual(Object.keys(created.json), ['invitation', 'expires_at']);
    const lasts = Date.parse(created.json.expires_at) - now();
    assert.ok(lasts > 71 * HOUR && lasts <= 72 * HOUR);
    await joinBy(created.json.invitation, { email: 'olga@example.com' });
    const listed = await run('list', '--json');
    assert.equal(listed.json.length, 1);
    const [{ id, created_at, ...rest }] = listed.json;
    assert.match(id, /^person_/);
    assert.ok(Date.parse(created_at) <= now());
    assert.deepEqual(rest, { name: 'Olga', email: 'olga@example.com', locked: false, status: 'active' });
    assert.match(
      (await run('list')).out,
      /^ID +STATUS +SINCE +EMAIL +NAME\nperson_\w+ +active .* olga@example.com +Olga\n$/,
    );
  });

  test('prints a link without port when only the running service knows the port', async () => {
    const variables = {
      ...(await databaseSettings(directory)),
      CARDVAULT_DATA_DIR: directory,
      CARDVAULT_CONSOLE_PORT: '0',
      CARDVAULT_CAPTURE_PORT: '0',
    };
    const { out } = await runWithSettings(variables, ...['operator', 'invite', '--email', 'port@example.com']);
    assert.match(out, /^invitation +\/join#[A-Za-z0-9_-]{43}$/m);
    assert.match(out, /after the address of the console/);
    const named = await runWithSettings(
      { ...variables, CARDVAULT_CONSOLE_URL: 'https://vault.example.com' },
      ...['operator', 'invite', '--email', 'port@example.com', '--json'],
    );
    assert.match(named.json.invitation, /^https:\/\/vault\.example\.com\/join#/);
  });

  test('creates a credential reset link for an existing address, and an invitation for any other', async () => {
    const again = await run('invite', '--email', 'Olga@example.com', '--json');
    const lasts = Date.parse(again.json.expires_at) - now();
    assert.ok(lasts > 23 * HOUR && lasts <= 24 * HOUR);
    const kinds = await withVault(
      async ({ people }) => (await people.enrollment.showInvitation(secretOf(again.json.invitation))).kind,
    );
    assert.equal(kinds, 'reset');
    const other = await run('invite', '--email', 'otto@example.com');
    assert.match(other.out, /https:\/\/localhost:8445\/join#/);
    const [, url = ''] = /(https:\S+)/.exec(other.out) ?? [];
    await joinBy(url, { name: 'Otto' });
    assert.equal((await run('list', '--json')).json.length, 2);
  });

  test('unlocks a locked user', async () => {
    await withVault(async ({ people }) => {
      for (let index = 0; index < 10; index++)
        await people.signIn
          .submitPassword({ email: 'otto@example.com', password: 'no' }, VISITOR)
          .catch(() => undefined);
    });
    assert.match((await run('list')).out, / locked .*otto@/);
    assert.equal((await run('unlock', 'otto@example.com')).code, 0);
    assert.doesNotMatch((await run('list')).out, / locked /);
  });

  test('removes an operator, but not the last one', async () => {
    const removed = await run('remove', 'otto@example.com', '--json');
    assert.equal(removed.json.name, 'Otto');
    const again = await run('remove', 'otto@example.com', '--json');
    assert.deepEqual([again.code, JSON.parse(again.err).error], [1, 'No user has this email address.']);
    const last = await run('remove', 'olga@example.com', '--json');
    assert.equal(last.code, 1);
    assert.match(JSON.parse(last.err).error, /last operator/);
    const unknown = await run('remove', 'unknown@example.com');
    assert.equal(unknown.code, 1);
    assert.match(unknown.err, /No user has this email address/);
    assert.equal(unknown.err.includes('unknown@'), false);
  });

  test('reports an invalid address, without repeating it', async () => {
    const wrong = await run('invite', '--email', 'not an address', '--json');
    assert.equal(wrong.code, 1);
    assert.equal(JSON.parse(wrong.err).error, 'email: expected an email address');
  });

  test('is recorded in the audit log, with the system user', async () => {
    const { out } = await runInProcess(directory, 'audit', 'export', '--account', '');
    const records = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const by = (action: string) => records.find((record) => record.action === action)?.actor.type;
    for (const action of ['person.invited', 'person.unlocked', 'membership.removed'])
      assert.equal(by(action), 'operator');
    assert.equal(by('person.joined'), 'person');
    assert.equal(out.includes('@example.com'), false);
  });
});
