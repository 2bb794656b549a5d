import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { withSection } from '../../bench/sections.ts';
import { aligned } from '../../bench/table.ts';
import { PACE, runChaos } from './chaos.ts';
import { FAULTS } from './faults.ts';
import { errorTable, recoveryTable, section, summary } from './report.ts';

/**
 * `npm run chaos`: injects faults under two nodes over PostgreSQL, and checks that nothing was lost. Runs itself again
 * in a separate mount namespace, so that it can mount disks that no other process sees and that disappear with the last
 * process.
 */
const MINUTE_MS = 60_000;
const SHOWN_FINDINGS = 60;
const NAMESPACE = 'CHAOS_NAMESPACE';
const RESULTS = join(import.meta.dirname, '..', '..', 'bench', 'RESULTS.md');

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seed: { type: 'string' },
    only: { type: 'string', multiple: true, default: [] },
    clients: { type: 'string', default: '12' },
    workers: { type: 'string', default: '1' },
    sqlite: { type: 'boolean', default: false },
    patroni: { type: 'boolean', default: false },
    repmgr: { type: 'boolean', default: false },
    pgbouncer: { type: 'boolean', default: false },
    'no-write': { type: 'boolean', default: false },
  },
});
const unknown = values.only.filter((name) => !FAULTS.some((fault) => fault.name === name));
const minutes = Number(values.minutes ?? 0);
const seed = Number(values.seed ?? Date.now() % 2 ** 31);
const clients = Number(values.clients);
const workers = Number(values.workers);
const manager = (['patroni', 'repmgr'] as const).find((name) => values[name]);
if (unknown.length > 0 || !(minutes >= 0) || !Number.isInteger(seed) || !(clients >= 1) || !(workers >= 1)) {
  const names = FAULTS.map(({ name, about }) => `  ${name.padEnd(14)}${about}`).join('\n');
  process.stderr.write(
    `usage: npm run chaos -- [--minutes N] [--seed N] [--only FAULT] [--clients N] [--workers N] [--sqlite | --patroni | --repmgr | --pgbouncer] [--no-write]\n${names}\n`,
  );
  process.exit(2);
}

/** Runs as root, or as the present user with the right to mount in this namespace alone. */
const UNSHARE = process.getuid?.() === 0 ? ['--mount'] : ['--user', '--map-current-user', '--keep-caps', '--mount'];

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

const isAlone = process.env[NAMESPACE] !== undefined;
if (!isAlone && !values.sqlite && spawnSync('unshare', [...UNSHARE, 'true']).status === 0) {
  const again = [...UNSHARE, process.execPath, ...process.execArgv, import.meta.filename, ...process.argv.slice(2)];
  const child = spawn('unshare', again, { stdio: 'inherit', env: { ...process.env, [NAMESPACE]: 'yes' } });
  for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exit(code ?? 1);
}
// Child processes and mounts end when this process exits.
for (const signal of SIGNALS) process.on(signal, () => process.exit(1));

const startedAt = performance.now();
const log = (line: string): void => {
  process.stderr.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(7)} s  ${line}\n`);
};
log(`seed ${seed}`);
const outcome = await runChaos({
  database: values.sqlite ? 'sqlite' : 'postgres',
  ...(manager !== undefined && { manager }),
  ...(values.pgbouncer && { pooler: 'pgbouncer' }),
  diskMegabytes: isAlone && manager === undefined ? 512 + Math.ceil(64 * minutes) : undefined,
  seed,
  workers,
  only: values.only,
  lasts: minutes * MINUTE_MS,
  clients,
  pace: PACE.full,
  enough: 0,
  captureEnds: true,
  log,
});
for (const { name, why } of outcome.skipped) log(`left out: ${name}, because ${why}`);
process.stdout.write(`${aligned(recoveryTable(outcome))}\n\n${aligned(errorTable(outcome))}\n\n${summary(outcome)}\n`);
for (const finding of outcome.findings.slice(0, SHOWN_FINDINGS)) process.stdout.write(`FOUND ${finding}\n`);
const isWhole =
  values.only.length === 0 &&
  workers === 1 &&
  manager === undefined &&
  !values.pgbouncer &&
  outcome.release !== undefined &&
  outcome.findings.length === 0;
if (isWhole && !values['no-write'])
  writeFileSync(RESULTS, withSection(readFileSync(RESULTS, 'utf8'), 'chaos', section(outcome, new Date())));
// A connection that was cut in half may still be open.
process.exit(outcome.findings.length > 0 ? 1 : 0);
