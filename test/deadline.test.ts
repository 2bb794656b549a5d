import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { killOverdueChildren } from './child-timeout.ts';

const directory = mkdtempSync(join(tmpdir(), 'cardvault-deadline-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const DEADLINE = pathToFileURL(join(import.meta.dirname, 'deadline.ts')).href;

/** How a process ends that runs a test file with this text. */
async function ending(text: string): Promise<{ code: number | null; signal: string | null; err: string }> {
  const file = join(directory, 'one.mjs');
  writeFileSync(file, `import { test } from 'node:test';\n${text}`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, ['--import', `${DEADLINE}?ms=1000`, file], { env, stdio: 'pipe' });
  let err = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    err += chunk;
  });
  child.stdout.resume();
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal, err };
}

const PATIENCE = { timeout: 60_000 };

test('a file that never completes is ended, and reports what kept it running', PATIENCE, async () => {
  const { code, err } = await ending(`test('it', () => new Promise(() => setInterval(() => {}, 100)));`);
  assert.equal(code, 1);
  assert.match(err, /one\.mjs still runs after 1 s, held by .*Timeout/);
});

test('a file that leaves something running is ended', PATIENCE, async () => {
  const { code } = await ending(`test('it', () => { setInterval(() => {}, 100); });`);
  assert.equal(code, 1);
});

const noProc = !existsSync('/proc/self/task') && 'this system has no /proc';
test('a file that blocks the event loop is killed by its parent', { ...PATIENCE, skip: noProc }, async () => {
  const stopLooking = killOverdueChildren(directory, 2000);
  try {
    const { signal } = await ending(`test('it', () => { for (;;); });`);
    assert.equal(signal, 'SIGKILL');
  } finally {
    stopLooking();
  }
});

test('a file that ends in time is not killed', PATIENCE, async () => {
  assert.deepEqual(await ending(`test('it', () => {});`), { code: 0, signal: null, err: '' });
});
