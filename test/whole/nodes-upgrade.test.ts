import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import { readMigrations, schemaVersion } from '../../src/storage/migrate.ts';
import { BLOCKED, type Node, Nodes, withDeadline } from '../fixtures/nodes.ts';
import { runCommand, type ServiceProcess, startProcess } from '../fixtures/service-process.ts';
import { CAPTURES, capture, cards, TOKENIZE, VISA } from '../interface/vault-requests.ts';
import { addMigrations, COMPATIBLE, copyProgram, INCOMPATIBLE } from '../upgrade/next-version.ts';
import type { ReleasedProgram } from '../upgrade/releases.ts';

const PRESENT = readMigrations().at(-1)?.version ?? 0;

const EXPANDS = `${COMPATIBLE}alter table accounts add column region text;
create index accounts_by_region on accounts (region);
`;
const BREAKS = `${INCOMPATIBLE}alter table accounts add column zone text;\n`;
const FAILS = `${COMPATIBLE}alter table accounts add column half text;
alter table nowhere add column other text;
`;

describe('a rolling upgrade', { timeout: 240_000 }, () => {
  let nodes: Nodes;
  let copy: ReleasedProgram;
  let old: Node;
  let caller: Awaited<ReturnType<Nodes['newCaller']>>;
  before(async () => {
    nodes = await Nodes.overShared();
    copy = copyProgram(join(nodes.folder, 'copy'));
    old = await nodes.start();
    caller = await nodes.newCaller();
  });
  after(() => nodes.end());

  /** The compiled sources of the copy are removed with it. */
  const variables = () => ({ ...nodes.variables, NODE_COMPILE_CACHE: join(copy.folder, 'compiled') });
  const startNewer = async (): Promise<ServiceProcess> =>
    nodes.keep(await startProcess(nodes.newFolder(), variables(), copy.bin));
  const schema = async (): Promise<number> => schemaVersion((await nodes.core()).database);
  const columns = async (table: string): Promise<unknown[]> =>
    (await nodes.rows('select column_name as name from information_schema.columns where table_name = ?', table)).map(
      ({ name }) => name,
    );

  /** Each version reads the records that the other wrote. */
  async function worksBeside(...serving: readonly Node[]): Promise<void> {
    const { key } = caller;
    for (const node of serving) {
      const created = await node.call('POST', TOKENIZE, { key, body: cards([VISA]) });
      assert.equal(created.status, 200, created.text);
      const kept = await node.call('POST', CAPTURES, { key, body: capture() });
      assert.equal(kept.status, 200, kept.text);
      for (const other of serving) {
        const { token } = created.json.data.tokens[0];
        assert.equal((await other.call('GET', `/v1/tokens/${token}/inspect`, { key })).status, 200);
        assert.equal((await other.call('GET', `${CAPTURES}/${kept.json.data.id}`, { key })).status, 200);
      }
    }
  }

  test('a start of the new version that fails or is killed midway leaves the old nodes and the schema unchanged', async () => {
    addMigrations(copy, FAILS);
    const { code, out, err } = await runCommand(nodes.newFolder(), ['serve'], variables(), copy.bin);
    assert.equal(code, 1);
    assert.equal(out, '');
    assert.match(err, /the schema could not be brought up to date: 42P01/);
    assert.equal(await schema(), PRESENT);
    assert.ok(!(await columns('accounts')).includes('half'));
    await worksBeside(old);

    // Inside its transaction, where it waits for a table that a transaction reads.
    addMigrations(copy, EXPANDS);
    const reader = new Client({ connectionString: nodes.address });
    await reader.connect();
    await reader.query('begin; select 1 from accounts');
    const { child } = nodes.begin(copy.bin);
    await withDeadline(
      20_000,
      () => nodes.rows(BLOCKED),
      ({ length }) => length > 0,
    );
    child.kill('SIGKILL');
    await once(child, 'exit');
    await reader.end();
    await worksBeside(old);
    assert.equal(await schema(), PRESENT);
    assert.ok(!(await columns('accounts')).includes('region'));
  });

  test('a compatible migration: both versions start and work concurrently', async () => {
    addMigrations(copy, EXPANDS);
    const newer = await startNewer();
    assert.equal(await schema(), PRESENT + 1);
    await worksBeside(old, newer);
    const late = await nodes.start();
    await worksBeside(late, newer, old);
    assert.equal((await nodes.done(['account', 'show', caller.account])).id, caller.account);
    assert.equal(await schema(), PRESENT + 1, 'an old version changes nothing');
    assert.equal(await newer.stop(), 0);
    await worksBeside(old, late);
  });

  test('an incompatible migration is refused while older nodes run, and they continue', async () => {
    addMigrations(copy, EXPANDS, BREAKS);
    const { code, out, err } = await runCommand(nodes.newFolder(), ['serve'], variables(), copy.bin);
    assert.equal(code, 1);
    assert.equal(out, '');
    assert.match(
      err,
      /a node of cardvault 0\.1\.0 uses the database, .*: stop all of its nodes and commands; see docs/,
    );
    assert.equal(await schema(), PRESENT + 1);
    await worksBeside(old);
  });

  test('an incompatible migration is applied after older nodes have stopped, and rejects older versions', async () => {
    await nodes.stopAll();
    const newer = await startNewer();
    const release = `start cardvault 9.0.0 or later; see docs/upgrading.md`;
    const known = `this one knows schema ${PRESENT} (${readMigrations().at(-1)?.release})`;
    const reason = `the database has schema ${PRESENT + 2}, made by a newer cardvault (9.0.0); ${known}: ${release}`;
    await assert.rejects(nodes.start(), (error: Error) => error.message.includes(reason));
    for (const args of [['account', 'list'], ['migrate']]) {
      const { code, out, err } = await nodes.runHere(args);
      assert.equal(code, 1);
      assert.equal(out, '');
      assert.equal(err, `cardvault: ${reason}\n`);
    }
    await worksBeside(newer);
    const { out } = await runCommand(nodes.folder, ['audit', 'verify', '--json'], variables(), copy.bin);
    assert.equal(JSON.parse(out).ok, true);
  });
});
