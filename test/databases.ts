import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { installPackages } from './fixtures/debian-packages.ts';
import { installPostgres, installRelease } from './fixtures/postgres-binaries.ts';
import { SCOPE } from './scope.ts';

/**
 * Tries the releases of PostgreSQL beside that of the machine, PgBouncer, Patroni and repmgr: the contract of the storage, nodes that
 * share a database, and chaos. Arguments select parts by name. What a machine lacks is left out with the reason.
 */
const root = join(import.meta.dirname, '..');

interface Part {
  readonly name: string;
  /** The reason why it cannot run here; undefined when it can. */
  readonly lacks: () => string | undefined;
  readonly variables: () => Readonly<Record<string, string>>;
  readonly scripts: readonly (readonly string[])[];
}

const CONTRACT = [
  'contracts/database-postgres',
  'contracts/transaction',
  'test/storage/',
  'whole/doctor',
  'whole/nodes-',
  'upgrade/vaults',
];
const CHAOS = ['test/chaos/run.ts', '--no-write'];
const only = (...faults: readonly string[]): string[] => faults.flatMap((fault) => ['--only', fault]);

const release = (major: number): Part => {
  const installed = () => installRelease(major);
  return {
    name: `postgresql-${major}`,
    lacks: () => ('why' in installed() ? (installed() as { why: string }).why : undefined),
    variables: () => ({ TEST_POSTGRES_BIN: (installed() as { bin: string }).bin }),
    scripts: [
      ['test/run.ts', ...CONTRACT],
      [...CHAOS, ...only('node-kill', 'primary-kill', 'reset', 'lost-answers')],
    ],
  };
};

const needsPostgres = (): string | undefined => {
  const found = installPostgres();
  return 'why' in found ? found.why : undefined;
};

/** Its module has to be that of the server's major version. */
function installRepmgr(): string | undefined {
  const found = installPostgres();
  if ('why' in found) return found.why;
  return installPackages([`postgresql-${found.version}-repmgr`], ['repmgr', 'repmgrd']);
}

const PARTS: readonly Part[] = [
  ...[14, 16, 17, 18].map(release),
  {
    name: 'pgbouncer',
    lacks: () => needsPostgres() ?? installPackages(['pgbouncer'], ['pgbouncer']),
    variables: () => ({}),
    scripts: [[...CHAOS, '--pgbouncer']],
  },
  {
    name: 'patroni',
    lacks: () => needsPostgres() ?? installPackages(['patroni', 'etcd-server', 'python3-etcd'], ['patroni', 'etcd']),
    variables: () => ({}),
    scripts: [[...CHAOS, '--patroni', ...only('node-kill', 'primary-kill', 'manager-kill', 'switchover', 'reset')]],
  },
  {
    name: 'repmgr',
    lacks: installRepmgr,
    variables: () => ({}),
    scripts: [[...CHAOS, '--repmgr', ...only('node-kill', 'primary-kill', 'reset')]],
  },
];

const selected = process.argv.slice(2);
const counts = { passed: 0, failed: 0, skipped: 0 };
for (const { name, lacks, variables, scripts } of PARTS) {
  if (selected.length > 0 && !selected.includes(name)) continue;
  const why = lacks();
  process.stdout.write(why === undefined ? `${name}\n` : `${name} is left out: ${why}\n`);
  if (why !== undefined) counts.skipped++;
  else
    for (const [script = '', ...args] of scripts) {
      const command = [join(root, 'bin', 'cardvault.mjs'), '--run', join(root, script), ...args];
      const env = { ...process.env, [SCOPE]: 'long', TEST_DATABASE: 'postgres', ...variables() };
      const { status } = spawnSync(process.execPath, command, { cwd: root, env, stdio: 'inherit' });
      counts[status === 0 ? 'passed' : 'failed']++;
      if (status !== 0) process.stdout.write(`failed: ${name}: ${script}\n`);
    }
}
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
process.exitCode = counts.failed === 0 && counts.passed + counts.skipped > 0 ? 0 : 1;
