import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { installReceivers } from './receivers/install.ts';

/**
 * `npm test`: types, style, then every test file, each in a process of its own. Arguments select files by a part of
 * their path. The last line is the count.
 */
const root = join(import.meta.dirname, '..');
const bin = (name: string): string => join(root, 'node_modules', '.bin', name);
const wanted = process.argv.slice(2);

function check(command: string, args: readonly string[]): boolean {
  const { status } = spawnSync(bin(command), args, { cwd: root, stdio: 'inherit' });
  return status === 0;
}

const checks = wanted.length > 0 || (check('tsc', []) && check('biome', ['check', '.']));
if (!checks) {
  process.stdout.write('types or style are at fault\n0 passed, 1 failed, 0 skipped\n');
  process.exit(1);
}

// Before the files are run side by side; tests of what is still missing say so and are skipped.
for (const tool of installReceivers()) process.stdout.write(`not on this machine: ${tool}\n`);

const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts'], { cwd: root })
  .sort()
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .map((file) => join(root, file));

const counts = { passed: 0, failed: 0, skipped: 0 };
const stream = run({ files, concurrency: 2, timeout: 300_000, cwd: root });
stream.on('test:pass', ({ details, skip }) => {
  if (details.type === 'suite') return;
  if (skip !== undefined && skip !== false) counts.skipped++;
  else counts.passed++;
});
stream.on('test:fail', ({ details }) => {
  if (details.type !== 'suite') counts.failed++;
});
stream.compose(spec()).pipe(process.stdout);
stream.on('close', () => undefined);
process.on('exit', () => {
  process.stdout.write(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped\n`);
  if (counts.failed > 0 || counts.passed === 0) process.exitCode = 1;
});
