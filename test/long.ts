import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { SCOPE } from './scope.ts';

/**
 * Runs `npm run test:long`: what takes too many minutes for every change. All tests run in the scope `long`: every suite
 * of the interface over both databases, every page of the console in both color schemes, all widths and both languages,
 * 20 crashes, a release with its Debian package and container image, upgrades under load. Then the time that each page of the console and the card form take, the simulation of payments over many seeds,
 * all faults of `npm run chaos`, also with three request threads over both databases, the databases beside the machine's PostgreSQL, and the mutation run. Each part runs also when
 * one before it failed; arguments select parts by name. The exit code is 1 when any part failed.
 */
const root = join(import.meta.dirname, '..');
const PARTS: readonly { readonly name: string; readonly script: string; readonly args?: readonly string[] }[] = [
  { name: 'tests', script: 'test/run.ts' },
  { name: 'page-times', script: 'test/browser/page-times.ts' },
  { name: 'card-form-times', script: 'test/browser/card-form-times.ts' },
  { name: 'simulation', script: 'test/simulation/soak.ts', args: ['--seeds', '500'] },
  { name: 'chaos', script: 'test/chaos/run.ts' },
  { name: 'chaos-threads', script: 'test/chaos/run.ts', args: ['--workers', '3'] },
  { name: 'chaos-sqlite', script: 'test/chaos/run.ts', args: ['--sqlite', '--workers', '3'] },
  { name: 'databases', script: 'test/databases.ts' },
  { name: 'mutation', script: 'test/mutation/run.ts' },
];

const selected = process.argv.slice(2);
const parts = PARTS.filter(({ name }) => selected.length === 0 || selected.includes(name));
const failed = parts.filter(({ script, args = [] }) => {
  const command = [join(root, 'bin', 'cardvault.mjs'), '--run', join(root, script), ...args];
  const env = { ...process.env, [SCOPE]: 'long' };
  return spawnSync(process.execPath, command, { cwd: root, env, stdio: 'inherit' }).status !== 0;
});
for (const { name } of failed) process.stdout.write(`failed: ${name}\n`);
process.stdout.write(`${parts.length - failed.length} passed, ${failed.length} failed, 0 skipped\n`);
process.exitCode = failed.length === 0 && parts.length > 0 ? 0 : 1;
