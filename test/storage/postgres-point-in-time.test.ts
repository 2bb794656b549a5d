import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { runWithSettings } from '../fixtures/command.ts';
import { startPostgres } from '../fixtures/postgres.ts';
import { installPostgres } from '../fixtures/postgres-binaries.ts';
import { freePort, Home, Server } from '../fixtures/postgres-server.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { CAPTURES, capture, cards, dataOf, TOKENIZE, TOKENS, tokensIn } from '../interface/vault-requests.ts';
import { onlyLong } from '../scope.ts';

const binaries = installPostgres();
const missing =
  'why' in binaries
    ? binaries.why
    : !existsSync(join(binaries.bin, 'pg_basebackup')) && 'packages of the server alone have no pg_basebackup';
const WITHIN_MS = 60_000;

async function ask(address: string, sql: string): Promise<string> {
  const client = new Client({ connectionString: address });
  await client.connect();
  try {
    return String(Object.values((await client.query(sql)).rows[0] ?? {})[0]);
  } finally {
    await client.end();
  }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + WITHIN_MS; performance.now() < end; await pause(100))
    if (await condition().catch(() => false)) return;
  assert.fail('the condition was not met in time');
}

/** The steps of docs/operations.md, "Recover PostgreSQL to a point in time". */
test('PostgreSQL is recovered to a point in time, and the service continues on it', {
  skip: onlyLong || missing,
  timeout: 300_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-recovery-'));
  const archive = join(folder, 'archive');
  mkdirSync(archive);
  // The user of the server writes here.
  for (const path of [folder, archive]) chmodSync(path, 0o777);
  const archiving = { archive_mode: 'on', archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f` };
  const primary = await startPostgres({ settings: archiving });
  const home = new Home();
  let service: TestService | undefined;
  try {
    const address = await primary.newDatabase('vault');
    const own = primary.ways.superuser;
    const data = join(folder, 'data');
    const start = (url: string): Promise<TestService> =>
      startTestService({ directory: data, variables: { CARDVAULT_DATABASE_URL: url } });
    service = await start(address);
    const key = (await service.newKey(await service.newAccount())).secret;
    const tokenize = async (): Promise<string> => {
      const response = await (service as TestService).call('POST', TOKENIZE, { key, body: cards([luhnPan('455667')]) });
      return tokensIn(response)[0] ?? '';
    };
    const before = await tokenize();
    const { id } = dataOf(await service.call('POST', CAPTURES, { key, body: capture() }));
    const recovered = join(home.directory, 'data');
    await home.runAside(join(primary.bin, 'pg_basebackup'), ['-d', own, '-D', recovered, '-c', 'fast', '-X', 'stream']);
    const between = await tokenize();
    await pause(1500);
    const target = await ask(
      own,
      'select to_char(clock_timestamp() at time zone \'UTC\', \'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"\')',
    );
    await pause(1500);
    const afterwards = await tokenize();
    await service.newAccount('Later');
    const headsFile = join(folder, 'heads.json');
    const variables = { CARDVAULT_DATA_DIR: data, CARDVAULT_DATABASE_URL: address };
    writeFileSync(headsFile, (await runWithSettings(variables, 'audit', 'verify', '--json')).out);
    await service.stop();
    service = undefined;
    const wal = await ask(own, 'select pg_walfile_name(pg_current_wal_lsn())');
    await ask(own, 'select pg_switch_wal()');
    await until(async () => (await ask(own, 'select last_archived_wal from pg_stat_archiver')) >= wal);
    await primary.kill();

    const port = await freePort();
    const signal = join(recovered, 'recovery.signal');
    writeFileSync(signal, '');
    home.give(signal);
    const server = new Server(home, primary.bin, recovered, {
      listen_addresses: '127.0.0.1',
      port: String(port),
      max_connections: '200',
      unix_socket_directories: home.directory,
      restore_command: `cp ${archive}/%f %p`,
      recovery_target_time: target.replace('T', ' ').replace('Z', '+00'),
      recovery_target_action: 'promote',
    });
    await server.start();
    const movedTo = (url: string): string => url.replace(/:[0-9]+\//, `:${port}/`);
    await until(async () => (await ask(movedTo(own), 'select pg_is_in_recovery()')) === 'false');
    const there = { ...variables, CARDVAULT_DATABASE_URL: movedTo(address), CARDVAULT_OPERATOR: 'Ana' };
    assert.notEqual(await ask(movedTo(own).replace(/postgres$/, 'vault'), 'select count(*) from sad_keys'), '0');
    const finished = await runWithSettings(there, 'recovered', '--to', target, '--force', '--json');
    assert.equal(finished.code, 0, finished.err);
    assert.deepEqual([finished.json.audit.ok, finished.json.sad_keys], [true, 1]);

    service = await start(movedTo(address));
    const statusOf = async (token: string): Promise<number> =>
      (await service?.call('GET', `${TOKENS}/${token}/inspect`, { key }))?.status ?? 0;
    assert.deepEqual([await statusOf(before), await statusOf(between), await statusOf(afterwards)], [200, 200, 400]);
    const { pan, cvv } = dataOf(await service.call('GET', `${CAPTURES}/${id}`, { key }));
    assert.deepEqual([typeof pan, cvv], ['string', undefined]);
    assert.equal((await tokenize()).length > 0, true);
    const verified = await runWithSettings(there, 'audit', 'verify', '--heads', headsFile, '--json');
    assert.equal(verified.json.ok, true, verified.out);
    assert.deepEqual(
      verified.json.resumptions.map(({ action, what, operator }: Record<string, string>) => [action, what, operator]),
      [['vault.restored', `PostgreSQL at ${target}`, 'Ana']],
    );
    assert.ok(verified.json.noted.replaced > 0, 'the records after the target were replaced');
  } finally {
    await service?.stop();
    await home.remove();
    await primary.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
