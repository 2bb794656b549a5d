import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { Client } from 'pg';
import { openAddress } from '../fixtures/database.ts';
import { type Node, Nodes } from '../fixtures/nodes.ts';
import { isLong } from '../scope.ts';

const MADE = "select count(*) as created from journal where record like '%service.initialised%'";
const WRAPPING = "select environment, version from wrapped_keys where purpose = 'wrapping' order by environment";
const ALL_WRAPPING = ['production', 'sandbox', 'service'].map((environment) => ({ environment, version: 1 }));

describe('nodes that start on one database', { timeout: 240_000 }, () => {
  let nodes: Nodes;
  beforeEach(async () => {
    nodes = await Nodes.overShared();
  });
  afterEach(() => nodes.end());

  /** The files that a vault depends on. */
  const contents = () =>
    Promise.all(['wrapped_keys', 'journal', 'journal_heads', 'schema_migrations', 'accounts'].map(rowsOf));
  const rowsOf = async (table: string): Promise<unknown[]> =>
    (await nodes.rows(`select * from ${table}`)).map((row) => JSON.stringify(row)).sort();

  function newRootKey(name: string): string {
    const file = join(nodes.folder, name);
    writeFileSync(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
    return file;
  }

  const tables = async (): Promise<string[]> => {
    const client = new Client({ connectionString: nodes.address });
    await client.connect();
    const { rows } = await client.query("select tablename from pg_tables where schemaname = 'public'");
    await client.end();
    return rows.map(({ tablename }) => tablename as string);
  };

  const works = async (serving: Node): Promise<void> => {
    const { account, key } = await nodes.newCaller();
    const { status, text, json } = await serving.call('GET', '/v1/account', { key });
    assert.equal(status, 200, text);
    assert.equal(json.data.id, account);
  };

  test('four start concurrently, and the vault is created once', async () => {
    const [others, processes] = await Promise.all([
      Promise.all([nodes.start(), nodes.start(), nodes.start()]),
      Promise.all([nodes.startProcess()]),
    ]);
    await Promise.all([...others, ...processes].map(works));
    assert.deepEqual(await nodes.rows(MADE), [{ created: 1 }]);
    assert.deepEqual(await nodes.rows(WRAPPING), ALL_WRAPPING);
    assert.deepEqual(new Set(processes.map(({ demoKey }) => demoKey)), new Set([undefined]));
    assert.equal((await nodes.done(['audit', 'verify'])).ok, true);
  });

  test('of two first starters with different root keys one creates the vault, and the other changes nothing', async () => {
    const files = ['one.key', 'other.key'].map(newRootKey);
    const both = await Promise.allSettled(files.map((file) => nodes.start({ CARDVAULT_ROOT_KEY_FILE: file })));
    const winner = both.findIndex(({ status }) => status === 'fulfilled');
    const loser = both[1 - winner];
    assert.ok(loser?.status === 'rejected', 'both run, with different root keys');
    assert.match(String(loser.reason), /the root key does not open this database/);

    copyFileSync(files[winner] ?? '', join(nodes.folder, 'root.key'));
    await works((both[winner] as PromiseFulfilledResult<Node>).value);
    assert.deepEqual(await nodes.rows(MADE), [{ created: 1 }]);
    assert.deepEqual(await nodes.rows(WRAPPING), ALL_WRAPPING);
    assert.equal((await nodes.done(['audit', 'verify'])).ok, true);
    assert.equal((await nodes.rows('select 1 from wrapped_keys where version > 1')).length, 0);
  });

  test('a node with a wrong or missing root key exits and changes nothing', async () => {
    await nodes.core();
    const before = await contents();
    const wrong = newRootKey('wrong.key');
    const missing = join(nodes.folder, 'missing.key');
    const outputOf = async (file: string, ...args: string[]): Promise<string> => {
      const run = args.includes('serve') ? nodes.run : nodes.runHere;
      const { code, out, err } = await run.call(nodes, args, { CARDVAULT_ROOT_KEY_FILE: file });
      assert.equal(code, 1, err);
      assert.equal(out, '');
      return err;
    };
    const [doesNotFit, ...isMissing] = await Promise.all([
      outputOf(wrong, 'serve'),
      // test/whole/starters.test.ts starts a service without its root key.
      outputOf(missing, 'migrate'),
      ...(isLong ? [outputOf(missing, 'serve')] : []),
    ]);
    assert.match(doesNotFit, /the root key does not open this database: it belongs to another one/);
    for (const err of isMissing) assert.match(err, /root key file .*missing\.key is missing.*backup/);
    assert.ok(!existsSync(missing), 'a root key was made that opens nothing');
    assert.deepEqual(await contents(), before);
  });

  test('a command creates no vault, neither in an empty database nor after an interrupted first start', async () => {
    const list = async (): Promise<void> => {
      const { code, out, err } = await nodes.runHere(['key', 'list', '--account', 'acct_none']);
      assert.equal(code, 2, err);
      assert.equal(out, '');
      assert.match(err, /this database contains no vault; start the service once, or run: cardvault migrate/);
      assert.ok(!existsSync(join(nodes.folder, 'root.key')));
    };
    await list();
    assert.deepEqual(await tables(), []);

    const database = openAddress(nodes.address);
    await database.migrate(() => Date.now());
    await database.close();
    await list();
    assert.ok((await tables()).includes('wrapped_keys'));
    assert.deepEqual(await nodes.done(['migrate']), { schema: 1 });
    assert.deepEqual(await nodes.rows(WRAPPING), ALL_WRAPPING);
  });

  test('two in one data folder create its certificates once', async () => {
    const folder = nodes.newFolder();
    const both = await Promise.all([nodes.startProcess({}, folder), nodes.start({}, folder)]);
    const files = (): [string, string][] =>
      readdirSync(join(folder, 'tls'))
        .sort()
        .map((name) => [name, readFileSync(join(folder, 'tls', name), 'utf8')]);
    const created = files();
    assert.deepEqual(
      created.map(([name]) => name),
      ['ca-key.pem', 'ca.pem', 'server.pem'],
    );
    assert.equal(both[0]?.authority, both[1]?.authority);
    // Each is called with the authority that the other found.
    await Promise.all(both.map(works));
    await nodes.start({}, folder);
    assert.deepEqual(files(), created);
  });
});
