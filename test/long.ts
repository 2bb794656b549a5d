import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/**
 * Runs `npm run test:long`: what takes too many minutes for every change. Every suite of the interface runs over both
 * databases, the simulation of payments over many seeds, and the faults of `npm run chaos`. Each part runs also when one
 * before it failed. The exit code is 1 when any part failed.
 */
const root = join(import.meta.dirname, '..');
const PARTS: readonly { readonly name: string; readonly script: string; readonly args?: readonly string[] }[] = [
  { name: 'all tests, the interface over both databases', script: 'test/run.ts' },
  { name: 'simulation of payments', script: 'test/simulation/soak.ts', args: ['--seeds', '200'] },
  { name: 'chaos', script: 'test/chaos/run.ts' },
];

const failed = PARTS.filter(({ script, args = [] }) => {
  const command = [join(root, 'bin', 'cardvault.mjs'), '--run', join(root, script), ...args];
  const env = { ...process.env, TEST_PASSES: 'all', TEST_BROWSER: 'all' };
  return spawnSync(process.execPath, command, { cwd: root, env, stdio: 'inherit' }).status !== 0;
});
for (const { name } of failed) process.stdout.write(`failed: ${name}\n`);
process.stdout.write(`${PARTS.length - failed.length} passed, ${failed.length} failed, 0 skipped\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
