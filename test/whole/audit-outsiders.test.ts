import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DAY } from '../../src/kernel/clock.ts';
import { runAt, runCommand, runWithSettings } from '../fixtures/command.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { cards, TOKENIZE } from '../interface/vault-requests.ts';

const PAN = '4111111111111111';

describe('an audit log for outsiders', { timeout: 120_000 }, () => {
  let directory: string;
  let outside: string;
  let variables: Record<string, string>;
  let service: TestService | undefined;
  const run = (...args: string[]) => runWithSettings(variables, ...args);
  const away = (name: string): string => join(outside, name);
  before(async () => {
    [directory, outside] = [1, 2].map(() => mkdtempSync(join(tmpdir(), 'cardvault-test-'))) as [string, string];
    variables = {
      CARDVAULT_DATA_DIR: directory,
      CARDVAULT_DATABASE_URL: `sqlite:${join(directory, 'vault.db')}`,
      CARDVAULT_AUDIT_HEADS_FILE: 'heads.jsonl',
    };
    service = await startTestService({ directory, variables });
    const { secret: key } = await service.newKey(await service.newAccount());
    const body = cards([PAN], { type: 'persistent' });
    assert.equal((await service.call('POST', TOKENIZE, { key, body })).status, 200);
    assert.equal((await service.call('GET', '/v1/account', {})).status, 403);
  });
  after(async () => {
    await service?.stop();
    for (const each of [directory, outside]) rmSync(each, { recursive: true, force: true });
  });

  test('is verified in three commands, of which the last needs no vault and no configuration', async () => {
    writeFileSync(away('vault.pem'), (await run('audit', 'public-key')).out);
    const [key] = (await run('audit', 'public-key', '--json')).json;
    assert.match(key.pem, /^-----BEGIN PUBLIC KEY-----/);
    const exported = await run('audit', 'export', away('audit.jsonl'));
    assert.deepEqual([exported.code, exported.err], [0, '']);
    const before = readdirSync(outside);
    const invalid = { CARDVAULT_DATA_DIR: away('nothing'), CARDVAULT_HOST: 'no address', CARDVAULT_UNKNOWN: '1' };
    const checked = await runCommand(
      ['audit', 'check', away('audit.jsonl'), '--key', away('vault.pem'), '--json'],
      invalid,
    );
    assert.deepEqual([checked.code, checked.stderr], [0, '']);
    const { ok, records, keyId, digest, content } = checked.json();
    assert.deepEqual([ok, keyId, content], [true, key.key_id, 'log']);
    assert.deepEqual(readdirSync(outside), before);
    const verified = (await run('audit', 'verify', '--json')).json;
    assert.deepEqual([records, digest], [verified.records, verified.digest]);
    const text = readFileSync(away('audit.jsonl'), 'utf8');
    assert.ok(!text.includes(PAN) && text.includes('access.denied'));
    assert.ok(text.includes('audit.exported'));
  });

  test('is checked with exit code 1 when it was changed, and 2 when a file cannot be read', async () => {
    const check = (file: string, key = away('vault.pem'), ...more: string[]) =>
      run('audit', 'check', file, '--key', key, ...more);
    const lines = readFileSync(away('audit.jsonl'), 'utf8').split('\n');
    const denied = lines.findIndex((line) => line.includes('access.denied'));
    writeFileSync(away('changed.jsonl'), lines.toSpliced(denied, 1).join('\n'));
    const { code, out } = await check(away('changed.jsonl'));
    assert.equal(code, 1);
    assert.match(out, /^NOT as the vault signed it, line [0-9]+: .*record [0-9]+: missing\n$/);
    assert.equal((await check(away('none.jsonl'))).err, `cardvault: ${away('none.jsonl')} cannot be read: ENOENT\n`);
    for (const [file, key] of [
      [away('none.jsonl'), away('vault.pem')],
      [away('audit.jsonl'), away('none.pem')],
      [away('audit.jsonl'), away('audit.jsonl')],
    ])
      assert.equal((await check(file ?? '', key)).code, 2, key);
    assert.match((await check(away('audit.jsonl'))).out, /complete and in order\ncontent {2}the audit log\nvault/);
  });

  test('is limited by account and time, and written to a new file only', async () => {
    const existing = await run('audit', 'export', away('audit.jsonl'));
    assert.deepEqual([existing.code, existing.err.includes('exists already')], [2, true]);
    for (const args of [
      ['--from', 'yesterday'],
      ['--from', '2026-02-30'],
      ['--from', '2026-02-02', '--to', '2026-02-01'],
    ])
      assert.equal((await run('audit', 'export', away('no.jsonl'), ...args)).code, 2, args.join(' '));
    assert.equal((await run('audit', 'export', '--from', '2026-01-01')).code, 2);
    assert.equal((await run('audit', 'export', away('no.jsonl'), '--account', 'acct_none')).code, 1);
    const limited = await run(
      'audit',
      'export',
      away('service.jsonl'),
      '--account',
      '',
      '--from',
      '2020-01-01',
      '--json',
    );
    assert.equal(limited.code, 0);
    const { out } = await run('audit', 'check', away('service.jsonl'), '--key', away('vault.pem'));
    assert.match(out, /only account , from 2020-01-01T00:00:00\.000Z/);
  });

  test('has a signed checkpoint after each stop, which an older database lacks', async () => {
    await service?.stop();
    service = undefined;
    const heads = readFileSync(join(directory, 'heads.jsonl'), 'utf8').trim().split('\n');
    assert.ok(heads.some((line) => line.startsWith('{"type":"checkpoint"')));
    const { out } = await run('audit', 'checkpoint');
    assert.equal(
      out.trim(),
      heads.findLast((line) => line.startsWith('{"type":"checkpoint"')),
    );
    assert.match((await run('audit', 'verify')).out, /\n1 signed checkpoint found\n/);
    await run('account', 'create', '--name', 'Later');
    const next = (await run('audit', 'checkpoint', '--new')).out;
    assert.match(next, /\\"number\\":2,/);
    assert.equal((await run('audit', 'checkpoint', '--new')).out, next);
    writeFileSync(away('checkpoints.jsonl'), next);
    const { statement, signature } = JSON.parse(next);
    writeFileSync(away('signed.bin'), `cardvault audit-checkpoint v1\n${statement}`);
    writeFileSync(away('signature.bin'), Buffer.from(signature, 'base64'));
    const files = ['-inkey', away('vault.pem'), '-in', away('signed.bin'), '-sigfile', away('signature.bin')];
    const openssl = spawnSync('openssl', ['pkeyutl', '-verify', '-pubin', '-rawin', ...files], { encoding: 'utf8' });
    assert.match(openssl.stdout, /Signature Verified Successfully/, openssl.stderr);
    const noted = ['--checkpoints', away('checkpoints.jsonl')];
    await run('audit', 'export', away('later.jsonl'));
    const check = (file: string) => run('audit', 'check', away(file), '--key', away('vault.pem'), ...noted, '--json');
    assert.deepEqual((await check('later.jsonl')).json.noted, { found: 3, elsewhere: 0 });
    assert.equal((await run('audit', 'verify', '--heads', away('checkpoints.jsonl'))).code, 0);
  });

  test('is signed with another key after a rotation, and older statements verify with the older one', async () => {
    const rotated = await run('keyring', 'rotate', 'signing', '--json');
    assert.deepEqual([rotated.code, rotated.json], [0, { purpose: 'signing', version: 2 }]);
    const [older, newer] = (await run('audit', 'public-key', '--json')).json;
    assert.deepEqual([older.version, newer.version], [1, 2]);
    const text = (await run('audit', 'checkpoint', '--new')).out;
    assert.equal(JSON.parse(text).key_id, newer.key_id);
    assert.match((await run('audit', 'verify')).out, /\n3 signed checkpoints found\n/);
    await run('audit', 'export', away('rotated.jsonl'));
    const check = (key: string) => run('audit', 'check', away('rotated.jsonl'), '--key', key);
    const other = await check(away('vault.pem'));
    assert.equal(other.code, 1);
    assert.match(other.out, new RegExp(`signed with the key ${newer.key_id}, which is none of --key`));
    writeFileSync(away('vault.pem'), (await run('audit', 'public-key')).out);
    assert.equal((await check(away('vault.pem'))).code, 0);
    assert.equal((await run('audit', 'check', away('audit.jsonl'), '--key', away('vault.pem'))).code, 0);
  });

  test('is pruned, and refuses to lose what must remain', async () => {
    const prune = (before: string, ...more: string[]) =>
      run('audit', 'prune', '--before', before, '--to', away('removed.jsonl'), ...more);
    const day = (days: number): string => new Date(Date.now() - days * DAY).toISOString();
    assert.match((await prune(day(30))).err, /--before: the last 90 days/);
    assert.match((await prune(day(100))).err, /--before: CARDVAULT_AUDIT_RETENTION keeps the records since/);
    assert.match((await prune(day(400))).err, /--before: the database has no older records/);
    assert.equal((await prune('soon')).code, 2);
    variables = { ...variables, CARDVAULT_AUDIT_RETENTION: '90d' };
    const later = (): number => Date.now() + 200 * DAY;
    const options = ['--before', new Date().toISOString(), '--to', away('removed.jsonl'), '--json'];
    const early = await runAt(later, variables, 'audit', 'prune', ...options);
    assert.match(early.err, /--before: the last 90 days/, 'a clock that was set ahead');
    assert.equal((await runAt(later, variables, 'clock', 'confirm')).code, 0);
    const pruned = await runAt(later, variables, 'audit', 'prune', ...options);
    assert.deepEqual([pruned.code, pruned.err], [0, '']);
    assert.ok(pruned.json.records > 5);
    const { code, out } = await run('audit', 'check', away('removed.jsonl'), '--key', away('vault.pem'));
    assert.equal(code, 0);
    assert.match(out, /content {2}records that were removed from the audit log/);
    const verified = (await run('audit', 'verify', '--json')).json;
    assert.deepEqual([verified.ok, verified.records], [true, 2]);
    await run('audit', 'export', away('rest.jsonl'));
    assert.match(
      (await run('audit', 'check', away('rest.jsonl'), '--key', away('vault.pem'))).out,
      /begins {3}behind records before/,
    );
    assert.equal((await run('audit', 'verify', '--heads', join(directory, 'heads.jsonl'))).code, 0);
    service = await startTestService({ directory, variables });
    assert.equal((await service.call('GET', '/v1/account', {})).status, 403);
    assert.equal((await run('audit', 'verify')).code, 0);
  });
});
