import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { newDirectory, removeDirectory } from '../fixtures/service-process.ts';

const directory = newDirectory();
after(() => removeDirectory(directory));
const from = (file: string): string => pathToFileURL(join(import.meta.dirname, '..', '..', 'src', file)).href;
/** Everything is open when two endpoints with one path are noticed. */
const REFUSED = `
  import { startService } from '${from('app.ts')}';
  import { parseConfig } from '${from('config.ts')}';
  import { ENDPOINTS } from '${from('http/endpoints.ts')}';
  import { openLog } from '${from('http/log.ts')}';
  const config = parseConfig({ CARDVAULT_DATA_DIR: ${JSON.stringify(directory)}, CARDVAULT_WORKERS: '1' });
  const start = startService(config, { clock: Date.now, monotonic: Date.now }, openLog('silent', Date.now), { endpoints: [...ENDPOINTS, ...ENDPOINTS] });
  process.exitCode = await start.then(() => 1, ({ message }) => (/already declared for route/.test(message) ? 7 : 1));`;

test('a start that fails midway leaves nothing open, and the process exits', { timeout: 30_000 }, async (t) => {
  const script = join(directory, 'refused.mjs');
  writeFileSync(script, REFUSED);
  const child = spawn(process.execPath, [script], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  assert.deepEqual(await once(child, 'exit'), [7, null]);
});
