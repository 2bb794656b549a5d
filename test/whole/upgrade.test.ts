import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { verifyJournal } from '../../src/audit/verify-journal.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import { readMigrations, schemaVersion } from '../../src/storage/migrate.ts';
import { applyMigrations } from '../../src/storage/sqlite/apply-migrations.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { order, PAYMENTS } from '../interface/payment-requests.ts';
import { newSender, openJose, proxied } from '../interface/proxy-requests.ts';
import { CAPTURES, capture, cards, dataOf, TOKENIZE } from '../interface/vault-requests.ts';

const PERSISTENT = { type: 'persistent' };
const BY_OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };
const MIGRATED_AT = Date.UTC(2026, 0, 15);

/** Tables that are made in another way than by copying what the first version knew of them. */
const JOURNAL = ['journal', 'journal_heads', 'lane_register'];

/** Makes of a database one that the first version of the schema made, with everything that version knew. */
function takeBack(file: string): number {
  const older = `${file}.older`;
  const database = new DatabaseSync(older);
  applyMigrations(database, readMigrations().slice(0, 1), MIGRATED_AT);
  database.prepare('attach database ? as newer').run(file);
  const tables = database
    .prepare("select name from main.sqlite_schema where type = 'table' and name <> 'schema_migrations'")
    .all() as { name: string }[];
  let rows = 0;
  for (const { name } of tables.filter((table) => !JOURNAL.includes(table.name))) {
    database.exec(`delete from main.${name}`);
    const namesIn = (schema: string): string[] =>
      (database.prepare(`pragma ${schema}.table_info(${name})`).all() as { name: string }[]).map(
        (column) => column.name,
      );
    const known = namesIn('newer');
    const columns = namesIn('main')
      .filter((column) => known.includes(column))
      .join(', ');
    const sql = `insert into main.${name} (${columns}) select ${columns} from newer.${name}`;
    rows += Number(database.prepare(sql).run().changes);
  }
  database.exec('detach database newer');
  database.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  renameSync(older, file);
  return rows;
}

const schemaOf = (file: string): unknown[] => {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const sql =
      "select type, name, tbl_name, sql from sqlite_schema where name not like 'sqlite_%' order by type, name";
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
};

describe('a database of the first version', () => {
  let directory: string;
  let file: string;
  let service: TestService;
  let key: string;
  let account: string;
  let tokens: unknown;
  let captureId: string;
  let kept: string;
  let freshSchema: unknown[];
  const once = { 'idempotency-key': 'before-the-upgrade' };

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    file = join(directory, 'cardvault.db');
    service = await startTestService({ directory });
    account = await service.newAccount('Store of the first version');
    key = (await service.newKey(account)).secret;
    tokens = dataOf(
      await service.call('POST', TOKENIZE, { key, body: cards(['4111111111111111', '5200828282828210'], PERSISTENT) }),
    ).tokens;
    captureId = dataOf(await service.call('POST', CAPTURES, { key, body: capture() })).id;
    kept = (await service.call('POST', CAPTURES, { key, body: capture(), headers: once })).text;
    await service.stop();
    freshSchema = schemaOf(file);
    assert.ok(takeBack(file) > 10);
    const older = new DatabaseSync(file, { readOnly: true });
    for (const table of ['proxy_configurations', 'payments', 'payment_operations'])
      assert.throws(() => older.prepare(`select * from ${table}`), /no such table/);
    assert.deepEqual(
      older
        .prepare('select version from schema_migrations')
        .all()
        .map((row) => row['version']),
      [1],
    );
    older.close();
    service = await startTestService({ directory });
  });
  after(async () => {
    await service.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  test('is brought to the version of a new one, and the first step is not done again', async () => {
    const { database } = service.core;
    assert.equal(await schemaVersion(database), readMigrations().at(-1)?.version);
    assert.deepEqual(schemaOf(file), freshSchema);
    const applied = await database.read('select version, name, applied_at from schema_migrations order by version');
    assert.deepEqual(
      applied.map(({ version, name }) => [version, name]),
      readMigrations().map(({ version, name }) => [version, name]),
    );
    assert.equal(applied[0]?.['applied_at'], MIGRATED_AT);
    assert.ok(Number(applied[1]?.['applied_at']) > MIGRATED_AT);
  });

  test('keeps its accounts and keys, once the operator has sealed the accounts', async () => {
    const { accounts } = service.core;
    const name = 'Store of the first version';
    assert.deepEqual(
      (await accounts.list()).map((each) => [each.id, each.name, each.isTampered]),
      [[account, name, true]],
    );
    assert.equal((await service.call('GET', '/v1/account', { key })).status, 403);
    await accounts.suspend(account, BY_OPERATOR, name);
    await accounts.resume(account, BY_OPERATOR);
    service.advance(5 * SECOND);
    assert.equal((await service.call('GET', '/v1/account', { key })).status, 200);
  });

  test('keeps its tokens, and makes no second of a card', async () => {
    for (const { token } of tokens as { token: string }[])
      assert.equal((await service.call('GET', `/v1/tokens/${token}/inspect`, { key })).status, 200);
    const again = await service.call('POST', TOKENIZE, { key, body: cards(['4111111111111111'], PERSISTENT) });
    assert.equal(dataOf(again).tokens[0].token, (tokens as { token: string }[])[0]?.token);
  });

  test('keeps its captures and kept answers, but no security code that a backup could open', async () => {
    const { pan, cvv } = dataOf(await service.call('GET', `${CAPTURES}/${captureId}`, { key }));
    assert.deepEqual([pan, cvv], ['4111111111111111', undefined]);
    const replayed = await service.call('POST', CAPTURES, { key, body: capture(), headers: once });
    assert.equal(replayed.headers['idempotent-replayed'], 'true');
    assert.equal(replayed.text, kept);
  });

  test('is not taken for one whose audit log is in order: that began before lanes were registered', async () => {
    assert.equal((await service.call('GET', `${CAPTURES}/${captureId}`, { key })).status, 200);
    const { fault } = await verifyJournal(service.core.database, service.core.journalKey);
    assert.equal(fault, 'the register of lanes is missing');
  });

  test('takes configurations of the proxy, which then reads what was there before', async () => {
    const me = await newSender(service, { account });
    const [{ token = '' } = {}] = tokens as { token: string }[];
    const body = { a: `{{${token}:detokenize}}`, b: `{{${captureId}:transaction | extract:name}}` };
    const payload = await openJose(proxied(await me.jose(body)));
    assert.deepEqual(JSON.parse(payload), { a: '4111111111111111', b: 'Ana Lopez' });
  });

  test('takes payments, also with the token and the capture that were there before', async () => {
    await service.enablePayments(account);
    const [{ token = '' } = {}] = tokens as { token: string }[];
    const card = {
      number: `{{${token}:detokenize}}`,
      expiration_date: `{{${token}:detokenize}}`,
      holder: `{{${captureId}:transaction}}`,
    };
    const paid = await service.call('POST', PAYMENTS, { key, body: order('payment', { card }) });
    assert.equal(paid.json.status, 'success', paid.text);
    const clear = await service.call('POST', PAYMENTS, { key, body: order('payment') });
    assert.match(clear.json.data.card.token, /^[0-9a-f-]{36}$/);
    const { cvv, pan } = dataOf(await service.call('GET', `${CAPTURES}/${captureId}`, { key }));
    assert.deepEqual([pan, cvv], ['4111111111111111', undefined]);
  });

  test('is not touched by another start', async () => {
    const applied = () => service.core.database.read('select * from schema_migrations');
    const before = await applied();
    await service.stop();
    service = await startTestService({ directory });
    assert.deepEqual(await applied(), before);
  });
});
