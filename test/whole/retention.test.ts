import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { approve } from '../../console/wire/approvals.ts';
import { DAY, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { blob, integer, write } from '../../src/storage/database.ts';
import { fromSlot } from '../../src/vault/slot.ts';
import { successData } from '../console/account-user.ts';
import { joinAccount, newPerson, type UserClient } from '../console/console-client.ts';
import { type CommandResult, Shell } from '../fixtures/command.ts';
import { eventually } from '../fixtures/eventually.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';

const WAIT_DAYS = 14;

describe('a retention rule', { timeout: 240_000 }, () => {
  let service: TestService;
  let shell: Shell;
  let account: string;
  let key: string;

  before(async () => {
    service = await startTestService();
    shell = new Shell(service.directory, service.core);
  });
  beforeEach(async () => {
    account = await service.newAccount();
    key = (await service.newKey(account)).secret;
  });
  after(() => service.stop());

  const run = (command: string, ...args: string[]): Promise<CommandResult> =>
    shell.run('retention', command, '--account', account, '--environment', 'sandbox', '--json', ...args);
  const set = async (days: number): Promise<void> => {
    const { code, err } = await run('set', '--unused-days', String(days));
    assert.equal(code, 0, err);
    // The node reads which accounts have a rule.
    service.advance(6 * SECOND);
    await written();
  };
  const tokenize = async (pan: string, type = 'permanent'): Promise<string> => {
    const body = {
      chd: [{ card: pan, name: 'Ana Lopez', exp: '12/29' }],
      tags: ['a tag'],
      scheme: 1,
      ...(type === 'persistent' && { type }),
    };
    const { json, text } = await service.call('POST', '/v1/tokenization/simple', { key, body });
    assert.equal(json?.status_code, 200, text);
    return json.data.tokens[0].token;
  };
  /** Without an inspection, which would be a use. */
  async function isThere(token: string): Promise<boolean> {
    const live = 'select slot from tokens where account = ?account and record is not null';
    const rows = await service.core.database.read(live, account);
    return rows.some((row) => fromSlot(blob(row, 'slot')) === token);
  }
  const inspect = async (token: string): Promise<void> => {
    assert.equal((await service.call('GET', `/v1/tokens/${token}/inspect`, { key })).status, 200);
  };
  const hash = async (token: string): Promise<void> => {
    const headers = { 'content-type': 'text/plain', 'ft-access-key': key };
    const body = `{{${token}:detokenize | extract:card}}`;
    const { status, text } = await service.call('POST', '/proxy/hash?type=SHA256', { body, headers });
    assert.equal(status, 200, text);
  };
  /** Lets days pass, in which the periodic work runs. */
  const pass = async (days: number): Promise<void> => {
    service.advance(days * DAY);
    await written();
  };
  /** Waits until the work that was due has run: a later round begins only then. */
  async function written(): Promise<void> {
    for (let round = 0; round < 3; round++) {
      service.advance(6 * SECOND);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
  const announced = async (): Promise<number | null> => (await run('show')).json.announced_tokens;
  const usesOf = (): Promise<readonly unknown[]> =>
    service.core.database.read('select used_on from token_uses where account = ?account', account);

  test('announces the deletion of unused tokens, waits, and deletes those that are still unused', async () => {
    await set(30);
    const pans = Array.from({ length: 5 }, () => luhnPan('455667'));
    const [unused = '', inspected = '', read = '', late = ''] = await Promise.all(
      pans.slice(0, 4).map((pan) => tokenize(pan)),
    );
    const again = await tokenize(pans[4] ?? '', 'persistent');
    await pass(20);
    await inspect(inspected);
    await hash(read);
    assert.equal(await tokenize(pans[4] ?? '', 'persistent'), again);
    await written();
    assert.equal((await usesOf()).length, 3);
    await pass(9);
    assert.equal(await announced(), null);

    await pass(2);
    await eventually(async () => (await announced()) === 2);
    const { json: rule } = await run('show');
    assert.equal(Date.parse(rule.deletes_from) - Date.parse(rule.announced_at), WAIT_DAYS * DAY);
    const file = join(service.directory, `report-${account}.csv`);
    const { json: report } = await run('report', '--to', file);
    assert.equal(report.tokens, 2);
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    assert.equal(lines[0], 'card,token,created,last_used');
    assert.deepEqual(
      lines
        .slice(1)
        .map((line) => line.split(',')[1])
        .sort(),
      [unused, late].sort(),
    );
    for (const pan of pans) assert.ok(!lines.join('\n').includes(pan));
    assert.ok(lines.join('\n').includes(`${pans[0]?.slice(0, 6)}******${pans[0]?.slice(-4)}`));
    assert.equal(existsSync(`${file}.new`), false);

    await pass(WAIT_DAYS - 1);
    assert.equal(await isThere(unused), true);
    await inspect(late);
    await written();
    await pass(1);
    await eventually(async () => !(await isThere(unused)));
    for (const token of [inspected, read, late, again]) assert.equal(await isThere(token), true, token);
    const records = await service.core.database.read('select record from journal where account = ?account', account);
    const deleted = records
      .map(({ record }) => JSON.parse(String(record)))
      .filter(({ action }) => action === 'token.deleted');
    assert.deepEqual(
      deleted.map(({ actor, targets, detail }) => ({ actor, targets, detail })),
      [{ actor: { type: 'service' }, targets: [`token:${unused}`], detail: { reason: 'retention', unused_days: 30 } }],
    );
    const receipt = ['receipt', 'create', '--account', account, '--environment', 'sandbox', '--token', unused];
    assert.equal((await shell.run(...receipt)).code, 0);
    await eventually(async () => (await announced()) === null || (await announced()) !== 2);
  });

  test('is an alert to the members of the account until it acts', async () => {
    await set(30);
    await tokenize(luhnPan('455667'));
    await pass(31);
    await eventually(async () => (await announced()) === 1);
    const { database } = service.core;
    const alerts = "select kind, severity, number from alerts where account = ?account and kind = 'tokens-end'";
    const listAlerts = async () => (await database.read(alerts, account)).map((row) => ({ ...row }));
    service.advance(2 * MINUTE);
    await eventually(async () => (await listAlerts()).length === 1);
    assert.deepEqual(await listAlerts(), [{ kind: 'tokens-end', severity: 'high', number: 1 }]);
    assert.equal((await run('remove')).code, 0);
    service.advance(2 * MINUTE);
    await eventually(async () => (await listAlerts()).length === 0);
  });

  test('deletes many tokens in batches, each with its record', async () => {
    await set(30);
    const chd = Array.from({ length: 250 }, () => ({ card: luhnPan('455667'), name: 'Ana Lopez', exp: '12/29' }));
    const body = { chd, tags: ['a tag'], scheme: 1 };
    assert.equal((await service.call('POST', '/v1/tokenization/simple', { key, body })).status, 200);
    const remaining = async (): Promise<number> => {
      const live = 'select count(*) as number from tokens where account = ?account and record is not null';
      const [row = {}] = await service.core.database.read(live, account);
      return integer(row, 'number');
    };
    await pass(31);
    await eventually(async () => (await announced()) === 250);
    assert.equal(await remaining(), 250);
    await pass(WAIT_DAYS);
    await eventually(async () => (await remaining()) === 0 && (await announced()) === null);
    const records = await service.core.database.read('select record from journal where account = ?account', account);
    const deleted = records
      .map(({ record }) => JSON.parse(String(record)))
      .filter(({ action }) => action === 'token.deleted')
      .map(({ targets }) => targets.length);
    assert.deepEqual(deleted, [100, 100, 50]);
    const tags = 'select count(*) as number from token_tags where account = ?account';
    assert.equal(integer((await service.core.database.read(tags, account))[0] ?? {}, 'number'), 0);
  });

  test('concerns no token before uses were recorded for that long', async () => {
    const old = await tokenize(luhnPan('455667'));
    await pass(400);
    await set(365);
    await pass(300);
    assert.equal(await announced(), null);
    assert.equal((await run('report')).json.tokens, 0);
    await pass(66);
    await eventually(async () => (await announced()) === 1);
    assert.equal(await isThere(old), true);
  });

  test('that is changed or removed withdraws the announcement', async () => {
    await set(30);
    const token = await tokenize(luhnPan('455667'));
    await pass(31);
    await eventually(async () => (await announced()) === 1);
    assert.equal((await run('set', '--unused-days', '100')).code, 0);
    await pass(WAIT_DAYS + 1);
    assert.equal(await announced(), null);
    assert.equal(await isThere(token), true);
    assert.equal((await run('remove')).code, 0);
    assert.equal((await run('show')).json.unused_days, null);
    await inspect(token);
    await written();
    await pass(200);
    assert.equal(await isThere(token), true);
    assert.deepEqual(await usesOf(), []);
  });

  test('that was changed in the database deletes nothing, and can be set again', async () => {
    await set(30);
    const token = await tokenize(luhnPan('455667'));
    await pass(31);
    await eventually(async () => (await announced()) === 1);
    const past = service.now() - DAY;
    const changed = write('update retention_rules set acts_at = ? where account = ?account', [past, account], 1);
    await service.core.database.commit({ writes: [changed] });
    await written();
    assert.equal((await run('show')).json.altered, true);
    assert.equal(await isThere(token), true);
    assert.equal((await run('set', '--unused-days', '30')).code, 0);
    assert.deepEqual([(await run('show')).json.altered, (await run('show')).json.unused_days], [false, 30]);
    assert.equal(await isThere(token), true);
  });

  test('of one account and environment concerns no other, and without it no use is recorded', async () => {
    await set(30);
    const first = account;
    account = await service.newAccount();
    key = (await service.newKey(account)).secret;
    const token = await tokenize(luhnPan('455667'));
    await inspect(token);
    await pass(31 + WAIT_DAYS + 1);
    assert.deepEqual(await usesOf(), []);
    assert.equal(await isThere(token), true);
    account = first;
    assert.equal((await run('show')).json.unused_days, 30);
  });

  test('has valid numbers of days, and is changed only by another value', async () => {
    for (const days of ['29', '3651', '0', '-1', '1.5', 'many', ''])
      assert.equal((await run('set', '--unused-days', days)).code, 2);
    assert.equal((await run('remove')).code, 1);
    await set(30);
    const { code, err } = await run('set', '--unused-days', '30');
    assert.equal(code, 1);
    assert.match(err, /already set/);
  });

  test('in production under dual control needs the approval of a member', async () => {
    const member: UserClient = await newPerson(service, account, 'owner', 'Ana');
    await joinAccount(await newPerson(service, await service.newAccount(), 'developer', 'Ben'), account, 'developer');
    await service.core.transactions.run({ origin: { actor: { type: 'operator', name: 'test' } } }, (transaction) =>
      service.core.accounts.setDualControl(transaction, account, true),
    );
    const production = ['--account', account, '--environment', 'production', '--json'];
    const { code, err } = await shell.run('retention', 'set', '--unused-days', '90', ...production);
    assert.equal(code, 1);
    const { error, approval_id: id } = JSON.parse(err);
    assert.equal(error, 'approval required');
    const show = async () => (await shell.run('retention', 'show', ...production)).json.unused_days;
    assert.equal(await show(), null);
    await member.stepUp();
    assert.deepEqual(successData(await member.call(approve, { params: { account, id } })), { executed: true });
    assert.equal(await show(), 90);
  });
});
