import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { reset } from './fixtures/reset.ts';

const RESET = pathToFileURL(join(import.meta.dirname, 'fixtures', 'reset.ts')).href;
/** Resets a connection while its end is being sent: the moment that Node does not come back from. */
const WHILE_ENDING = `
  import { connect, createServer } from 'node:net';
  import { reset } from '${RESET}';
  const server = createServer((socket) => socket.on('error', () => {}).unref());
  server.listen(0, '127.0.0.1', () => {
    const socket = connect(server.address().port, '127.0.0.1', () => {
      socket.end();
      process.nextTick(() => process.nextTick(() => reset(socket)));
      server.close();
    });
  });`;

test('a process that resets a connection while it exits completes', { timeout: 30_000 }, async (t) => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', WHILE_ENDING], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('an open connection is reset', { timeout: 30_000 }, async () => {
  const server = createServer((socket) => reset(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await assert.rejects(once(socket, 'close'), { code: 'ECONNRESET' });
  server.close();
});
