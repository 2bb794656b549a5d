import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { Client } from 'pg';
import { createCa, createServerCertificate } from '../src/crypto/certificate.ts';
import { type Postgres, sharedPostgres, startPostgres } from './fixtures/postgres.ts';
import { whyNoPostgres } from './fixtures/postgres-binaries.ts';

async function connected<T>(address: string, act: (client: Client) => Promise<T>, ca?: string): Promise<T> {
  const client = new Client({ connectionString: address, ...(ca !== undefined && { ssl: { ca } }) });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await act(client);
  } finally {
    await client.end();
  }
}

const query = (address: string, sql: string, ca?: string): Promise<Record<string, unknown>[]> =>
  connected(address, async (client) => (await client.query(sql)).rows, ca);

const postmaster = (directory: string): number =>
  Number(readFileSync(join(directory, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('the PostgreSQL of the tests', { timeout: 120_000, skip: whyNoPostgres() }, () => {
  let postgres: Postgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres.stop());

  test('runs as a user who is not root, with flushes', async () => {
    assert.notEqual(statSync(join(postgres.directory, 'data')).uid, 0);
    if (process.platform === 'linux') assert.notEqual(statSync(`/proc/${postmaster(postgres.directory)}`).uid, 0);
    assert.deepEqual(await query(await postgres.newDatabase(), 'show fsync'), [{ fsync: 'on' }]);
  });

  test('creates empty databases for a user without superuser rights and with a password', async () => {
    const address = await postgres.newDatabase();
    const who = 'select rolname as name, rolsuper as super, rolcreatedb as makes from pg_roles where rolname = user';
    assert.deepEqual(await query(address, who), [{ name: 'cardvault', super: false, makes: true }]);
    await query(address, 'create table things (id text primary key)');
    assert.deepEqual(await query(await postgres.newDatabase(), `select to_regclass('things') as things`), [
      { things: null },
    ]);
    await assert.rejects(query(address.replace(/:[0-9a-f]+@/, ':wrong@'), 'select 1'), { code: '28P01' });
    await assert.rejects(query(address.replace(/:[0-9a-f]+@/, '@'), 'select 1'), /password/);
  });

  test('returns the existing database of a name, and a new one after it was dropped', async () => {
    const address = await postgres.newDatabase('again');
    await query(address, 'create table things (id text primary key)');
    const both = await Promise.all([postgres.newDatabase('again'), postgres.newDatabase('again')]);
    assert.deepEqual(both, [address, address]);
    assert.deepEqual(await query(address, 'select count(*)::int as found from things'), [{ found: 0 }]);
    await connected(address, async (client) => {
      await postgres.dropDatabase(address);
      await assert.rejects(client.query('select 1'));
    });
    await assert.rejects(query(address, 'select 1'), { code: '3D000' });
    assert.equal(await postgres.newDatabase('again'), address);
    assert.deepEqual(await query(address, `select to_regclass('things') as things`), [{ things: null }]);
  });

  test('does not order text by its bytes without a collation', async () => {
    if (Number.parseInt(postgres.release, 10) < 15) return;
    assert.deepEqual(await query(await postgres.newDatabase(), `select 'a' < 'B' as before`), [{ before: true }]);
  });

  test('keeps committed rows when it is killed and started again', async () => {
    const address = await postgres.newDatabase();
    await query(address, `create table things as select 'kept' as name`);
    const killed = postmaster(postgres.directory);
    await connected(address, async (client) => {
      await postgres.kill();
      await assert.rejects(client.query('select 1'));
    });
    assert.equal(isThere(killed), false);
    await assert.rejects(query(address, 'select 1'), { code: 'ECONNREFUSED' });
    await postgres.start();
    assert.notEqual(postmaster(postgres.directory), killed);
    assert.deepEqual(await query(address, 'select name from things'), [{ name: 'kept' }]);
  });
});

describe('the stop of a PostgreSQL', { timeout: 120_000, skip: whyNoPostgres() }, () => {
  test('leaves no process and no folder', async () => {
    const postgres = await startPostgres();
    const { directory } = postgres;
    const pid = postmaster(directory);
    await connected(await postgres.newDatabase(), async () => {
      await postgres.stop();
    });
    assert.equal(isThere(pid), false);
    assert.equal(existsSync(directory), false);
    await postgres.stop();
  });

  for (const signal of ['SIGKILL', 'SIGINT'] as const)
    test(`also leaves nothing when its process ends by ${signal}`, async () => {
      const file = JSON.stringify(join(import.meta.dirname, 'fixtures', 'postgres.ts'));
      const script = `
        const { startPostgres } = await import(${file});
        console.log((await startPostgres()).directory);
        setInterval(() => undefined, 1000);`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [line] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
      const directory = line.trim();
      const pid = postmaster(directory);
      assert.ok(isThere(pid));
      child.kill(signal);
      while (isThere(pid) || existsSync(directory)) await wait(20);
    });
});

describe('a PostgreSQL with TLS', { timeout: 120_000, skip: whyNoPostgres() }, () => {
  test('accepts its user with TLS only', async () => {
    const authority = await createCa(Date.now());
    const { certificate, key } = await createServerCertificate(
      authority,
      [{ type: 'ip', value: '127.0.0.1' }],
      Date.now(),
    );
    const postgres = await startPostgres({ tls: { cert: certificate, key }, settings: { fsync: 'off' } });
    const address = await postgres.newDatabase();
    const used = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
    assert.deepEqual(await query(address, used, authority.certificate), [{ ssl: true }]);
    await assert.rejects(query(address, used), { code: '28000' });
    await postgres.stop();
  });
});

describe('the PostgreSQL of a run', { timeout: 120_000, skip: whyNoPostgres() }, () => {
  test('creates databases', async () => {
    const postgres = await sharedPostgres();
    const address = await postgres.newDatabase();
    assert.deepEqual(await query(address, 'select 1 as one'), [{ one: 1 }]);
    await postgres.dropDatabase(address);
    assert.equal(await sharedPostgres(), postgres);
  });
});
