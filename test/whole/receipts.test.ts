import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { issueReceipt } from '../../console/wire/receipts.ts';
import { SERVICE_ORIGIN } from '../../src/audit/audit.ts';
import { CheckpointWriter } from '../../src/audit/checkpoints.ts';
import { pruneLog } from '../../src/audit/pruning.ts';
import { endBackup, insertBackup } from '../../src/backup/backup-store.ts';
import { HOUR } from '../../src/kernel/clock.ts';
import { blob, commitOrThrow, integer, text, type Value, type Write, write } from '../../src/storage/database.ts';
import { assertRefused, successData } from '../console/account-user.ts';
import { newPerson } from '../console/console-client.ts';
import { type CommandResult, Shell } from '../fixtures/command.ts';
import { isPostgres } from '../fixtures/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { containsPart, countOpened, readNewestToken } from '../fixtures/sealed-remains.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';

describe('a deletion', { timeout: 120_000 }, () => {
  let service: TestService;
  let shell: Shell;
  let account: string;
  let key: string;
  let publicKeys: string;
  let receipts = 0;

  before(async () => {
    service = await startTestService();
    shell = new Shell(service.directory, service.core);
    account = await service.newAccount();
    key = (await service.newKey(account)).secret;
    publicKeys = join(service.directory, 'keys.pem');
    writeFileSync(publicKeys, (await shell.run('audit', 'public-key')).out);
  });
  after(async () => {
    await service.stop();
  });

  const newToken = async (): Promise<string> => {
    const body = { chd: [{ card: luhnPan('411111'), name: 'Ana Lopez', exp: '12/29' }], tags: ['a tag'], scheme: 1 };
    const { json } = await service.call('POST', '/v1/tokenization/simple', { key, body });
    return json.data.tokens[0].token;
  };
  const newCapture = async (ttl = 60): Promise<string> => {
    const chd = { card: luhnPan('411111'), cvv: '737' };
    const body = { chd, amount: 1, currency: 'USD', additional_info: {}, ttl };
    return (await service.call('POST', '/transactions/requests', { key, body })).json.data.id;
  };
  const deleteToken = (token: string) => service.call('DELETE', '/v1/tokens', { key, body: { tokens: [token] } });
  const deleteCapture = (id: string) => service.call('DELETE', `/transactions/requests/${id}`, { key });

  const create = (...args: string[]): Promise<CommandResult> =>
    shell.run('receipt', 'create', '--environment', 'sandbox', ...args);
  const createIn = async (...args: string[]): Promise<string> => {
    const file = join(service.directory, `receipt-${++receipts}.json`);
    const { code, err } = await create(...args, '--to', file);
    assert.equal(code, 0, err);
    return file;
  };
  const check = (file: string, ...args: string[]): Promise<CommandResult> =>
    shell.run('receipt', 'check', file, '--key', publicKeys, '--json', ...args);

  test('of a token has a receipt that an outsider checks, with the position of its audit record', async () => {
    const token = await newToken();
    await deleteToken(token);
    const file = await createIn('--account', account, '--token', token, '--backup-days', '30');
    const { code, json } = await check(file, '--record', `token:${token}`);
    assert.equal(code, 0);
    const [row] = await service.core.database.read(
      'select lane, sequence, at, hash from journal where record like ? order by sequence desc limit 1',
      `{"action":"token.deleted"%${token}%`,
    );
    assert.ok(row !== undefined);
    const deleted = integer(row, 'at');
    assert.deepEqual(
      { kind: json.kind, account: json.account, environment: json.environment, audit: json.audit },
      {
        kind: 'token',
        account,
        environment: 'sandbox',
        audit: { account, lane: integer(row, 'lane'), sequence: integer(row, 'sequence'), hash: text(row, 'hash') },
      },
    );
    assert.equal(Date.parse(json.deleted_at), deleted);
    assert.equal(json.backups_before, json.deleted_at);
    assert.equal(Date.parse(json.backups_end) - deleted, 30 * 24 * HOUR);
    const content = readFileSync(file, 'utf8');
    assert.ok(!content.includes(token) && !content.includes(token.slice(0, 6)) && !content.includes(token.slice(-4)));
    const [issued] = await service.core.database.read(
      'select record from journal where record like \'{"action":"receipt.issued"%\' order by sequence desc limit 1',
    );
    assert.ok(issued !== undefined && text(issued, 'record').includes(`"token:${token}"`));
  });

  test('names the backups from before it that have not ended', async () => {
    const token = await newToken();
    const { database } = service.core;
    const at = (id: string, createdAt: number): Write =>
      insertBackup({
        id,
        createdAt,
        file: `/backups/${id}`,
        bytes: 1,
        sha256: 'ab'.repeat(32),
        recipients: [],
        rootKey: 'root',
        drilledAt: undefined,
        drillFault: undefined,
        endedAt: undefined,
      });
    await commitOrThrow(database, {
      writes: [at('ended', 1), at('before', 2), at('after', Date.now() + HOUR), endBackup('ended', 3)],
    });
    await deleteToken(token);
    const { json } = await check(await createIn('--account', account, '--token', token));
    assert.deepEqual(json.backups_known, ['before']);
  });

  test('of a capture has a receipt, also after another attempt to delete it', async () => {
    const id = await newCapture();
    assert.equal((await deleteCapture(id)).status, 200);
    assert.equal((await deleteCapture(id)).status, 400);
    const file = await createIn('--account', account, '--capture', id);
    const { code, json } = await check(file, '--record', `capture:${id}`);
    assert.equal(code, 0);
    assert.equal(json.kind, 'capture');
    assert.equal(json.backups_end, null);
  });

  test('of security codes has a receipt for the hour in which their captures expired', async () => {
    const expiresAt = service.now() + 60_000;
    await newCapture(1);
    const time = new Date(expiresAt).toISOString();
    const early = await create('--sad-expired-at', time);
    assert.equal(early.code, 1);
    assert.match(early.err, /no deletion of this record/);
    service.advance(2 * HOUR);
    await eventually(async () => (await create('--sad-expired-at', time)).code === 0);
    const file = await createIn('--sad-expired-at', time);
    const { code, json } = await check(file);
    assert.equal(code, 0);
    assert.deepEqual([json.kind, json.account, json.backups_before], ['sad', '', null]);
    assert.ok(Date.parse(json.expired_from) <= expiresAt && expiresAt < Date.parse(json.expired_to));
  });

  test('that did not happen has no receipt', async () => {
    const token = await newToken();
    const id = await newCapture();
    for (const subject of [
      ['--token', token],
      ['--capture', id],
      ['--token', '4111110000001111'],
    ] as const) {
      const { code, out, err } = await create('--account', account, ...subject);
      assert.deepEqual([code, out], [1, '']);
      assert.match(err, /the audit log has no deletion of this record/);
    }
    const other = await service.newAccount();
    await deleteToken(token);
    assert.equal((await create('--account', other, '--token', token)).code, 1);
    const production = ['receipt', 'create', '--environment', 'production', '--account', account, '--token', token];
    assert.equal((await shell.run(...production)).code, 1);
    assert.equal((await create('--account', account, '--token', token)).code, 0);
  });

  test('of a record that exists again has no receipt', async () => {
    const token = await newToken();
    const { database } = service.core;
    const [row] = await database.read('select * from tokens where record is not null order by created_at desc limit 1');
    assert.ok(row !== undefined);
    await deleteToken(token);
    const restored = 'update tokens set record = ?, deleted_at = null where slot = ?';
    await database.commit({ writes: [write(restored, [blob(row, 'record'), blob(row, 'slot')], 1)] });
    const { code, err } = await create('--account', account, '--token', token);
    assert.equal(code, 1);
    assert.match(err, /the record exists/);
    await deleteToken(token);
    assert.equal((await create('--account', account, '--token', token)).code, 0);
  });

  test('has the same receipt in the console, for members who read the audit log', async () => {
    const token = await newToken();
    const auditor = await newPerson(service, account, 'auditor');
    const issue = (client: typeof auditor, target: string) =>
      client.call(issueReceipt, { params: { account, environment: 'sandbox' }, body: { target } });
    assertRefused(await issue(auditor, `token:${token}`), 'not_possible');
    assertRefused(await issue(auditor, `key:${token}`), 'unknown_record');
    await deleteToken(token);
    const file = join(service.directory, 'console.json');
    writeFileSync(file, successData(await issue(auditor, `token:${token}`)).receipt);
    assert.equal((await check(file, '--record', `token:${token}`)).code, 0);
    assertRefused(await issue(await newPerson(service, account, 'analyst'), `token:${token}`), 'not_allowed');
    assertRefused(
      await issue(await newPerson(service, await service.newAccount(), 'owner'), `token:${token}`),
      'unknown_record',
    );
  });

  test('a receipt that was changed, of another record or of another vault is rejected with exit code 1', async () => {
    const token = await newToken();
    await deleteToken(token);
    const file = await createIn('--account', account, '--token', token);
    const other = await check(file, '--record', 'token:4111110000001111');
    assert.deepEqual([other.code, other.json.ok, other.json.fault], [1, false, 'the receipt is about another record']);
    const receipt = JSON.parse(readFileSync(file, 'utf8'));
    const changed = join(service.directory, 'changed.json');
    writeFileSync(changed, JSON.stringify({ ...receipt, statement: receipt.statement.replace('sandbox', 'sandbax') }));
    assert.deepEqual([(await check(changed)).code, (await check(changed)).json.ok], [1, false]);
    const foreign = join(service.directory, 'foreign.pem');
    writeFileSync(foreign, generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }));
    const unknown = await shell.run('receipt', 'check', file, '--key', foreign);
    assert.equal(unknown.code, 1);
    assert.match(unknown.out, /does not contain the key/);
  });

  test('invalid arguments change nothing, and are exit code 2', async () => {
    const token = await newToken();
    await deleteToken(token);
    const existing = await createIn('--account', account, '--token', token);
    const before = readFileSync(existing, 'utf8');
    for (const args of [
      ['--account', account],
      ['--account', account, '--token', token, '--capture', token],
      ['--token', token],
      ['--account', account, '--token', token, '--backup-days', '-1'],
      ['--account', account, '--token', token, '--backup-days', '99999'],
      ['--account', account, '--token', token, '--to', existing],
      ['--sad-expired-at', 'yesterday'],
    ])
      assert.equal((await create(...args)).code, 2, args.join(' '));
    assert.equal(readFileSync(existing, 'utf8'), before);
    for (const [file, keys] of [
      [existing, existing],
      [publicKeys, publicKeys],
      [join(service.directory, 'none'), publicKeys],
    ] as const)
      assert.equal((await shell.run('receipt', 'check', file, '--key', keys)).code, 2);
  });

  test('has a receipt after older records of the log were pruned, and none when a checkpoint was changed', async () => {
    const token = await newToken();
    const pruning = { before: service.now(), file: join(service.directory, 'removed.jsonl') };
    const { database } = service.core;
    const [newest] = await database.read(
      'select lane, sequence, hash from journal where account = ?account order by sequence desc limit 1',
      account,
    );
    await pruneLog({ ...service.core, origin: SERVICE_ORIGIN, receivers: [] }, pruning);
    // A record of an attacker in the place of the last one that was removed, with its hash.
    const record = JSON.stringify({
      action: 'token.deleted',
      outcome: 'success',
      actor: { type: 'service' },
      targets: ['token:forged'],
    });
    const values = [
      account,
      newest?.['lane'],
      newest?.['sequence'],
      'sandbox',
      service.now(),
      record,
      newest?.['hash'],
    ];
    await commitOrThrow(database, {
      account,
      writes: [
        write(
          'insert into journal (account, lane, sequence, environment, at, record, hash) values (?account, ?, ?, ?environment, ?, ?, ?)',
          values as Value[],
        ),
      ],
    });
    const forged = await create('--account', account, '--token', 'forged');
    assert.ok(forged.code === 1 && /the audit log has no deletion of this record/.test(forged.err), forged.err);
    const remove = 'delete from journal where account = ?account and record = ?';
    await commitOrThrow(database, { account, writes: [write(remove, [account, record], 1)] });
    await deleteToken(token);
    const file = await createIn('--account', account, '--token', token);
    assert.equal((await check(file, '--record', `token:${token}`)).code, 0);
    await new CheckpointWriter(service.core, () => undefined).write();
    const change = (from: string, to: string): Promise<void> =>
      commitOrThrow(service.core.database, {
        writes: [write('update audit_checkpoints set statement = replace(statement, ?, ?)', [from, to])],
      });
    await change('"records":', '"Records":');
    const { code, err } = await create('--account', account, '--token', token);
    assert.equal(code, 1);
    assert.match(err, /checkpoint [0-9]+: changed/);
    await change('"Records":', '"records":');
    assert.equal((await create('--account', account, '--token', token)).code, 0);
  });

  const skip =
    isPostgres && 'the files are those of SQLite; test/storage/postgres-deletion.test.ts reads those of PostgreSQL';
  test('leaves nothing that any live key opens, in database, write-ahead log and later backups', { skip }, async () => {
    const { database } = service.core;
    const token = await newToken();
    const record = await readNewestToken(database, account, token);
    const count = (bytes: Buffer): Promise<number> => countOpened(service.core, record, bytes);
    const backup = async (name: string): Promise<Buffer> => {
      const path = join(service.directory, name);
      await database.backup(path);
      return readFileSync(path);
    };
    const files = (): Buffer =>
      Buffer.concat(
        ['cardvault.db', 'cardvault.db-wal']
          .map((name) => join(service.directory, name))
          .filter((path) => existsSync(path))
          .map((path) => readFileSync(path)),
      );

    const older = await backup('before.db');
    assert.ok((await count(files())) > 0);
    assert.equal(await count(older), 1);

    await deleteToken(token);
    await database.scrub();
    const newer = await backup('after.db');
    for (const bytes of [files(), newer]) {
      assert.equal(await count(bytes), 0);
      assert.equal(containsPart(record, bytes), false);
    }
    // The receipt says which backups still contain the record.
    const { json } = await check(await createIn('--account', account, '--token', token));
    assert.equal(json.backups_before, json.deleted_at);
    assert.equal(await count(older), 1);
  });
});
