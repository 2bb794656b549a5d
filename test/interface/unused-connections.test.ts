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

const LISTENERS = ['production', 'sandbox', 'console', 'cards'] as const;

describe('a connection without a request', { concurrency: true }, () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  for (const environment of LISTENERS) {
    it(`is closed on ${environment} without a response, which a browser could take for that of the request it is sending`, async () => {
      const socket = await dial(service, { environment });
      assert.equal(await untilClosed(socket), '');
    });

    it(`with an incomplete head is 400 in the envelope on ${environment}, and is closed`, async () => {
      assertUnreadable(await exchange(service, 'GET /healthz HT', { environment }), 'a part of a head');
    });
  }

  it('is served when the request arrived while the service was blocked', async () => {
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
