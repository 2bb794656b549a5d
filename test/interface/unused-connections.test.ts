import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { SECOND } from '../../src/kernel/clock.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { assertUnreadable, dial, exchange, requestText, untilClosed } from '../fixtures/wire.ts';

/** The deadline of a request's head, and the interval of its check. */
const HEAD_MS = 20 * SECOND;
const LOOK_MS = 5 * SECOND;
/** Delay of a busy machine. */
const SPARE_MS = 4 * SECOND;

describe('a connection on which nothing was asked', { concurrency: true }, () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  it('ends without a word: a browser would take it for the answer to what it is just sending', async () => {
    const socket = await dial(service);
    assert.equal(await untilClosed(socket), '');
  });

  it('with a part of a head is 400 in the envelope, and ends', async () => {
    assertUnreadable(await exchange(service, 'GET /healthz HT'), 'a part of a head');
  });

  it('is served when the request came while the service was held up', async () => {
    const socket = await dial(service);
    const received = untilClosed(socket);
    await sleep(HEAD_MS - SPARE_MS);
    // The next check finds the deadline exceeded, before anything is read.
    await immediate();
    socket.write(requestText('GET /healthz'));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, SPARE_MS + LOOK_MS + SECOND);
    assert.match(await received, /^HTTP\/1\.1 200 OK\r\n/);
  });
});
