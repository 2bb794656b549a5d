import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import fastify from 'fastify';
import { ConnectionLimit } from './connection-limit.ts';
import { Listeners } from './listeners.ts';
import { loadOrCreateLocalIdentity, tlsOptions } from './tls.ts';

const now = (): number => Date.now();
const REQUEST = 'GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n';

describe('connections of one address at a listener', () => {
  const refused: string[] = [];
  const addresses: string[] = [];
  const limits: ConnectionLimit[] = [];
  let folder: string;
  let listeners: Listeners<'first' | 'second'>;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    const app = () =>
      fastify().get('/', (request) => {
        addresses.push(request.ip);
        return 'served';
      });
    const newLimit = (name: string): ConnectionLimit => {
      const onRefused = (): void => {
        refused.push(name);
      };
      const limit = new ConnectionLimit({
        perAddress: 3,
        isExempt: () => false,
        clock: now,
        onRefused,
        onReport: () => undefined,
      });
      limits.push(limit);
      return limit;
    };
    const tls = tlsOptions(await loadOrCreateLocalIdentity(join(folder, 'tls'), now), 'TLSv1.3');
    listeners = new Listeners({ first: app(), second: app() }, newLimit);
    await listeners.listen({ first: 0, second: 0 }, { hosts: [{ address: '127.0.0.1', mayBeMissing: false }], tls });
  });
  after(async () => {
    await listeners.close(0);
    rmSync(folder, { recursive: true, force: true });
  });

  const dial = async (name: 'first' | 'second' = 'first'): Promise<TLSSocket> => {
    const socket = connectTls({ host: '127.0.0.1', port: listeners.ports[name], rejectUnauthorized: false });
    socket.on('error', () => undefined);
    await once(socket, 'secureConnect');
    return socket;
  };
  const connectPlain = (): Socket =>
    connect({ host: '127.0.0.1', port: listeners.ports.first }).on('error', () => undefined);
  const dialPlain = async (): Promise<Socket> => {
    const socket = connectPlain();
    await once(socket, 'connect');
    return socket;
  };
  /** Returns the bytes that a socket receives until it is closed. */
  const received = async (socket: Socket): Promise<string> => {
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    // Not `once`, for which the reset of a refused connection is an error.
    if (!socket.closed) await new Promise((resolve) => socket.on('close', resolve));
    return text;
  };
  const untilNoneCounted = async (): Promise<void> => {
    while (limits.some(({ size }) => size > 0)) await sleep(5);
  };

  test('have the address that they were accepted from, even when the client resets them with its request', async () => {
    addresses.splice(0);
    while (addresses.length < 5) {
      const connection = await dialPlain();
      const socket = connectTls({ socket: connection, rejectUnauthorized: false });
      socket.on('error', () => undefined);
      await once(socket, 'secureConnect');
      await new Promise((resolve) => socket.write(REQUEST, resolve));
      connection.resetAndDestroy();
      await untilNoneCounted();
    }
    assert.deepEqual(new Set(addresses), new Set(['127.0.0.1']));
  });

  test('are closed before TLS beyond the limit, counted by listener', async () => {
    const open = [await dial(), await dial(), await dial()];
    assert.equal(await received(connectPlain()), '');
    assert.deepEqual(refused, ['first']);
    const elsewhere = await dial('second');
    for (const socket of [...open, elsewhere]) {
      socket.write(REQUEST);
      assert.match(await received(socket), /served$/);
    }
    await untilNoneCounted();
    assert.deepEqual(refused, ['first']);
  });

  const sent = async (socket: Socket, text: string): Promise<string> => {
    socket.write(text);
    return received(socket);
  };

  const endings: readonly [string, () => Promise<unknown>][] = [
    ['answered', async () => sent(await dial(), REQUEST)],
    ['ended by the client', async () => (await dial()).end()],
    ['cut off by the client', async () => (await dial()).destroy()],
    ['reset by the client', async () => (await dialPlain()).resetAndDestroy()],
    ['ended before TLS', async () => (await dialPlain()).end()],
    ['no TLS', async () => sent(await dialPlain(), REQUEST)],
  ];
  for (const [how, finish] of endings)
    test(`are no longer counted after they were ${how}`, async () => {
      for (let round = 0; round < 3; round++) {
        await finish();
        await untilNoneCounted();
      }
      assert.deepEqual(refused, ['first'], 'none of these was refused');
    });
});

describe('a stop', () => {
  let folder: string;
  let listeners: Listeners<'only'>;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    const limit = (): ConnectionLimit =>
      new ConnectionLimit({ perAddress: 0, isExempt: () => true, clock: now, onRefused() {}, onReport() {} });
    const tls = tlsOptions(await loadOrCreateLocalIdentity(join(folder, 'tls'), now), 'TLSv1.3');
    listeners = new Listeners({ only: fastify().get('/', () => 'served') }, limit);
    await listeners.listen({ only: 0 }, { hosts: [{ address: '127.0.0.1', mayBeMissing: false }], tls });
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const dial = async (): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port: listeners.ports.only }).on('error', () => undefined);
    await once(socket, 'connect');
    await sleep(50);
    return socket;
  };

  test('waits for no connection without a request', { timeout: 5000 }, async () => {
    const silent = await dial();
    const secure = connectTls({ host: '127.0.0.1', port: listeners.ports.only, rejectUnauthorized: false });
    secure.on('error', () => undefined);
    await once(secure, 'secureConnect');
    await sleep(50);
    const ended = Promise.all([once(silent, 'close'), once(secure, 'close')]);
    await listeners.close(30_000);
    await ended;
  });
});
