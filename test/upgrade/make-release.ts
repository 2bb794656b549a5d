import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import { Client } from 'pg';
import { readMigrations } from '../../src/storage/migrate.ts';
import { openAddress } from '../fixtures/database.ts';
import { startPostgres } from '../fixtures/postgres.ts';
import { startProcess } from '../fixtures/service-process.ts';
import { ALL_TABLES } from '../fixtures/tables.ts';
import { withoutCards } from './cards.ts';
import type { ExpectedVault } from './expected-vault.ts';
import { populate } from './populate.ts';
import { type DatabaseKind, isKept, PROGRAM, RELEASES } from './releases.ts';

/**
 * Keeps the present state as a release, for the tests of upgrades from it: its program, and a vault over each database that it
 * filled under load.
 *
 *     node bin/cardvault.mjs --run test/upgrade/make-release.ts [--release 0.1.0]
 *
 * Without an option the release is that of package.json. A release that exists is made again.
 */
const ROOT = join(import.meta.dirname, '..', '..');
const { values } = parseArgs({ options: { release: { type: 'string' } } });
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const release = values.release ?? String(manifest.version);
if (!/^[0-9]+\.[0-9]+\.[0-9]+$/.test(release)) throw new Error('name the release: --release 0.1.0');
const newest = readMigrations().at(-1)?.release ?? '';
const work = mkdtempSync(join(tmpdir(), 'cardvault-release-'));
const out = join(RELEASES, release);
const say = (line: string): boolean => process.stdout.write(`${line}\n`);

function run(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Buffer {
  const { status, error, stdout, stderr } = spawnSync(program, args, { ...options, maxBuffer: 256 * 1024 * 1024 });
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr}`);
  return stdout;
}

/** The same bytes for the same files. */
function pack(folder: string, names: readonly string[], archive: string): void {
  const order = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  const tarred = run('tar', ['-cf', '-', ...order, '-C', folder, ...names]);
  writeFileSync(archive, gzipSync(tarred, { level: 9 }));
}

/** The files under version control, without tests and without what only a browser loads. */
function packProgram(): void {
  const folder = join(work, 'program');
  const files = run('git', ['ls-files', '-z', ...PROGRAM], { cwd: ROOT })
    .toString('utf8')
    .split('\0');
  for (const file of files.filter((each) => each !== '' && isKept(each)))
    cpSync(join(ROOT, file), join(folder, file), { preserveTimestamps: true });
  const own = join(folder, 'package.json');
  writeFileSync(own, `${JSON.stringify({ ...manifest, version: release }, undefined, 2)}\n`);
  pack(
    folder,
    PROGRAM.filter((name) => globSync(name, { cwd: folder }).length > 0),
    join(out, 'program.tgz'),
  );
}

async function countRows(address: string): Promise<Record<string, number>> {
  const database = openAddress(address);
  try {
    const rows: Record<string, number> = {};
    for (const { name } of ALL_TABLES) {
      const [row] = await database.read(`select count(*) as n from ${name}`);
      rows[name] = Number(row?.['n']);
    }
    return rows;
  } finally {
    await database.close();
  }
}

/** Serves a vault with this program, fills it, and stops it as an operator does. */
async function fill(kind: DatabaseKind, directory: string, address: string): Promise<void> {
  const variables = { CARDVAULT_DATABASE_URL: address, CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8' };
  const service = await startProcess(directory, variables);
  // Otherwise a request that is refused would not show why.
  service.child.stderr?.on('data', (text: string) => process.stderr.write(text));
  service.child.on('exit', (code, signal) => process.stderr.write(`the service ended: ${code ?? signal}\n`));
  const expected = await populate({ service, directory, variables }).finally(() => service.stop());
  const vault: ExpectedVault = { release, leftAt: Date.now(), ...expected, rows: await countRows(address) };
  const empty = Object.keys(vault.rows).filter((table) => vault.rows[table] === 0);
  say(`${kind}: ${vault.reads.length} reads, ${vault.replays.length} replays; no rows in ${empty.join(', ')}`);
  const text = withoutCards(JSON.stringify(vault));
  writeFileSync(join(out, `expected-${kind}.json.gz`), gzipSync(text, { level: 9 }));
}

async function keepSqlite(): Promise<void> {
  const directory = join(work, 'vault');
  mkdirSync(directory);
  await fill('sqlite', directory, `sqlite:${join(directory, 'cardvault.db')}`);
  // Certificates end; each start without them makes new ones.
  rmSync(join(directory, 'tls'), { recursive: true });
  pack(directory, ['.'], join(out, 'vault-sqlite.tgz'));
}

async function keepPostgres(): Promise<void> {
  const postgres = await startPostgres();
  const directory = join(work, 'node');
  mkdirSync(directory);
  try {
    const address = await postgres.newDatabase();
    await fill('postgres', directory, address);
    const dump = run('pg_dump', ['--inserts', '--rows-per-insert=100', '--no-owner', '--no-privileges', address]);
    // Lines of psql are no statements.
    const lines = dump.toString('utf8').split('\n');
    const sql = lines.filter((line) => !/^(\\|--|$)/.test(line)).join('\n');
    await assertLoads(sql, await postgres.newDatabase());
    writeFileSync(join(out, 'vault-postgres.sql.gz'), gzipSync(sql, { level: 9 }));
    cpSync(join(directory, 'root.key'), join(out, 'vault-postgres.key'));
  } finally {
    await postgres.stop();
  }
}

async function assertLoads(sql: string, address: string): Promise<void> {
  const client = new Client({ connectionString: address });
  await client.connect();
  await client.query(sql);
  await client.end();
}

try {
  rmSync(out, { recursive: true, force: true });
  mkdirSync(out, { recursive: true });
  packProgram();
  // Sessions of the card form need it.
  run(process.execPath, [join(ROOT, 'scripts', 'build-card-form.ts')], { cwd: ROOT });
  await keepSqlite();
  await keepPostgres();
  say(`${release}, with the schema of ${newest}, is in ${out}`);
} catch (error) {
  rmSync(out, { recursive: true, force: true });
  throw error;
} finally {
  rmSync(work, { recursive: true, force: true });
}
