import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from 'pg';
import { parseConfig } from '../../src/config.ts';
import { type OpenCore, openCore } from '../../src/core.ts';
import { Keyring } from '../../src/crypto/keyring.ts';
import { systemRandom } from '../../src/crypto/random.ts';
import { HOUR } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { rotateInEmergency } from '../../src/rotation/emergency.ts';
import { text } from '../../src/storage/database.ts';
import { wrappedKeyStore } from '../../src/storage/wrapped-key-store.ts';
import { systemClocks } from '../fixtures/clock.ts';
import { runWithSettings } from '../fixtures/command.ts';
import { type Postgres, startPostgres } from '../fixtures/postgres.ts';
import { installPostgres } from '../fixtures/postgres-binaries.ts';
import { ORIGIN, RotatingVault } from '../fixtures/rotation.ts';
import { containsPart, countOpened, readNewestToken, type SearchedRecord } from '../fixtures/sealed-remains.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { cards, TOKENIZE, TOKENS, tokensIn } from '../interface/vault-requests.ts';
import { onlyLong } from '../scope.ts';

const binaries = installPostgres();
const missing = 'why' in binaries && binaries.why;

/** All bytes of a folder of the server. */
function readFolder({ directory }: Postgres, name: string): Buffer {
  const files = readdirSync(join(directory, 'data', name), { recursive: true, withFileTypes: true });
  return Buffer.concat(
    files.filter((entry) => entry.isFile()).map((entry) => readFileSync(join(entry.parentPath, entry.name))),
  );
}

test('what PostgreSQL keeps of deleted tokens is cleared by scrub, and unreadable after a rotation of all keys', {
  skip: onlyLong || missing,
  timeout: 300_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-deletion-'));
  const postgres = await startPostgres({ settings: { fsync: 'off', min_wal_size: '32MB', max_wal_size: '32MB' } });
  const address = await postgres.newDatabase('vault');
  const directory = join(folder, 'vault');
  const variables = { CARDVAULT_DATA_DIR: directory, CARDVAULT_DATABASE_URL: address, CARDVAULT_CLOCK: 'system' };
  const superuser = new Client({ connectionString: postgres.ways.superuser.replace(/postgres$/, 'vault') });
  await superuser.connect();
  const ask = async (...texts: readonly string[]): Promise<void> => {
    for (const sql of texts) await superuser.query(sql);
  };
  let core: OpenCore | undefined;
  let running: TestService | undefined;
  try {
    const service = await startTestService({ directory, variables });
    running = service;
    const account = await service.newAccount();
    const key = (await service.newKey(account)).secret;
    const tokenize = async (): Promise<string> =>
      tokensIn(await service.call('POST', TOKENIZE, { key, body: cards([luhnPan('411111')]) }))[0] ?? '';
    const remove = async (token: string): Promise<void> => {
      const { status } = await service.call('DELETE', TOKENS, { key, body: { tokens: [token] } });
      assert.equal(status, 200);
    };
    /** True where files contain a part of the record; a record that opens is there completely. */
    const search = async (record: SearchedRecord): Promise<readonly [tables: boolean, log: boolean]> => {
      await ask('checkpoint');
      return [containsPart(record, readFolder(postgres, 'base')), containsPart(record, readFolder(postgres, 'pg_wal'))];
    };
    /** Fills segments of the log, until those of before are removed or overwritten. */
    const overwriteLog = async (): Promise<void> => {
      for (let round = 0; round < 6; round++)
        await ask(
          `select pg_logical_emit_message(false, 'fill', repeat('x', 15000000))`,
          'select pg_switch_wal()',
          'checkpoint',
        );
    };

    // Other rows first: those on a page behind it would be moved over the place of a deleted one.
    for (let count = 0; count < 5; count++) await tokenize();
    const { core: live } = service;
    let first = await tokenize();
    let deleted = await readNewestToken(live.database, account, first);
    // A record that crosses a page of the log has that page's header in it, and opens with no key.
    for (
      let tries = 0;
      tries < 3 && (await countOpened(live, deleted, readFolder(postgres, 'pg_wal'))) === 0;
      tries++
    ) {
      first = await tokenize();
      deleted = await readNewestToken(live.database, account, first);
    }
    await remove(first);
    assert.deepEqual(await search(deleted), [true, true]);
    for (const name of ['base', 'pg_wal'])
      assert.ok((await countOpened(live, deleted, readFolder(postgres, name))) > 0, `${name}: the live key opens it`);
    await ask('vacuum');
    assert.deepEqual(await search(deleted), [true, true], 'vacuum clears it');

    // A transaction that began before is a reason to report that rows remain.
    const reader = new Client({ connectionString: postgres.ways.superuser.replace(/postgres$/, 'vault') });
    await reader.connect();
    const second = await tokenize();
    await reader.query('begin isolation level repeatable read');
    await reader.query('select 1');
    await remove(second);
    const partial = await runWithSettings(variables, 'scrub', '--json');
    assert.equal(partial.code, 1, partial.err);
    assert.ok(partial.json.visible > 0);
    await reader.query('lock table tokens in access share mode');
    const refused = await runWithSettings(variables, 'scrub');
    assert.equal(refused.code, 1);
    assert.match(refused.err, /the table tokens is in use, for example by a backup/);
    await reader.end();
    const asService = { ...variables, CARDVAULT_DATABASE_URL: postgres.asService(address) };
    await ask(
      'grant usage on schema public to cardvault_service',
      'grant select, insert, update, delete on all tables in schema public to cardvault_service',
    );
    const foreign = await runWithSettings(asService, 'scrub');
    assert.match(foreign.err, /connect as their owner, with which you run migrate/);

    const done = await runWithSettings(variables, 'scrub', '--json');
    assert.equal(done.code, 0, done.err);
    assert.equal(done.json.visible, 0);
    assert.ok(done.json.tables > 10);
    assert.equal((await search(deleted))[0], false);
    await overwriteLog();
    assert.deepEqual(await search(deleted), [false, false]);
    const backup = join(folder, 'backup.db');
    assert.equal((await runWithSettings(variables, 'backup', backup, '--plain')).code, 0);
    assert.equal(containsPart(deleted, readFileSync(backup)), false);

    // Without scrub: only a rotation reaches copies of the files.
    const third = await tokenize();
    const kept = await tokenize();
    const rotated = await readNewestToken(service.core.database, account, kept);
    await remove(kept);
    assert.deepEqual(await search(rotated), [true, true]);
    const oldKeys = await service.core.database.read('select id from wrapped_keys');
    const former = wrappedKeyStore(service.core.database);
    const formerRows = new Map<string, Awaited<ReturnType<typeof former.find>>>();
    for (const purpose of ['wrapping', 'tokens'] as const) {
      const owner = { account: purpose === 'wrapping' ? '' : account, environment: 'sandbox', purpose } as const;
      formerRows.set(purpose, await former.find(owner));
    }
    await service.stop();
    running = undefined;
    const vault = new RotatingVault(address, undefined, directory);
    vault.clock.advance(HOUR);
    const rotating = await vault.open();
    await rotateInEmergency(vault.services(rotating), ORIGIN, {
      reseal: () => vault.resealing(rotating).run(),
      pause: async (milliseconds) => vault.clock.advance(Math.max(milliseconds, LIMITS.keyHandoverMs)),
      onProgress: () => undefined,
    });
    await rotating.close();

    core = await openCore(parseConfig(variables), systemClocks);
    const ids = oldKeys.map((row) => text(row, 'id'));
    const files = Buffer.concat([readFolder(postgres, 'base'), readFolder(postgres, 'pg_wal')]);
    assert.ok(files.includes(rotated.sealed), 'the bytes are still there');
    assert.equal(await countOpened(core, rotated, files, ids), 0);
    // The former keys are in the same files, and the live root key does not open them.
    const store = wrappedKeyStore(core.database);
    const restored = new Keyring({
      root: core.root,
      store: { ...store, find: async (owner) => formerRows.get(owner.purpose) ?? store.find(owner) },
      clock: () => 0,
      random: systemRandom(),
    });
    const tenant = { account, environment: 'sandbox' } as const;
    await assert.rejects(restored.unseal(tenant, 'tokens', rotated.context, rotated.sealed));
    const living = await readNewestToken(core.database, account, third);
    assert.ok((await core.keyring.unseal(tenant, 'tokens', living.context, living.sealed)).length > 0);
  } finally {
    await running?.stop();
    await core?.close();
    await superuser.end();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
