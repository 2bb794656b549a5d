import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PERMISSIONS, type Permission } from '../../src/accounts/permission.ts';
import { exportJournal } from '../../src/audit/verify-journal.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { dial, untilClosed } from '../fixtures/wire.ts';
import { ENDPOINTS, newSender, type Sender } from './proxy-requests.ts';

const PAN = '4111111111111111';
const OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };
/** Longer than a key is cached. */
const LATER_MS = 5000;

describe('while the body of a request arrives slowly', () => {
  let service: TestService;
  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  interface Slow {
    readonly path: string;
    readonly type: string;
    readonly body: string;
  }

  /** Sends the head and half of the body, runs `meanwhile`, sends the rest; returns the response. */
  async function trickle(me: Sender, { path, type, body }: Slow, meanwhile: () => Promise<unknown>): Promise<string> {
    const socket = await dial(service);
    const received = untilClosed(socket);
    const head = [
      `POST ${path} HTTP/1.1`,
      'host: localhost',
      'connection: close',
      `ft-access-key: ${me.key}`,
      `x-api-key: ${me.key}`,
      `content-type: ${type}`,
      `content-length: ${Buffer.byteLength(body)}`,
      'expect: 100-continue',
    ];
    const first = once(socket, 'data');
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    // The head has been read; long enough for the key to be found good, too.
    assert.match(String((await first)[0]), /^HTTP\/1\.1 100 Continue/);
    await sleep(200);
    const half = body.length >> 1;
    socket.write(body.slice(0, half));
    await meanwhile();
    service.advance(LATER_MS);
    socket.write(body.slice(half));
    return (await received).replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, '');
  }

  const outcomes = async ({ account }: Sender): Promise<string[]> => {
    const found: string[] = [];
    for await (const link of exportJournal(service.core.database)) {
      const { action, outcome } = JSON.parse(link.record);
      if (link.account === account && /^(access\.denied|token\.detokenized)$/.test(action))
        found.push(`${action} ${outcome}`);
    }
    return found;
  };
  const without = (...taken: readonly Permission[]): Permission[] =>
    PERMISSIONS.filter((each) => !taken.includes(each));
  const withToken = async (): Promise<{ me: Sender; text: string }> => {
    const me = await newSender(service);
    return { me, text: `{{${await me.token(PAN)}:detokenize}}` };
  };

  for (const { name, path, type, around } of ENDPOINTS) {
    test(`a permission that was removed from the key no longer applies, on ${name}`, async () => {
      const { me, text } = await withToken();
      const permissions = without('tokens:detokenize');
      const response = await trickle(me, { path, type, body: around(text) }, () =>
        service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
          service.core.accounts.editKey(transaction, me.keyId, { permissions }),
        ),
      );
      assert.match(response, /^HTTP\/1\.1 403 /);
      assert.deepEqual(await outcomes(me), ['access.denied permission_missing']);
    });

    test(`a key that was revoked is rejected, on ${name}`, async () => {
      const { me, text } = await withToken();
      const response = await trickle(me, { path, type, body: around(text) }, () =>
        service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
          service.core.accounts.revokeKey(transaction, me.keyId),
        ),
      );
      assert.match(response, /^HTTP\/1\.1 403 /);
      assert.deepEqual(await outcomes(me), ['access.denied key_revoked']);
    });

    test(`an unchanged key is served, on ${name}`, async () => {
      const { me, text } = await withToken();
      const response = await trickle(me, { path, type, body: around(text) }, () => Promise.resolve());
      assert.match(response, /^HTTP\/1\.1 200 /);
      assert.deepEqual(await outcomes(me), ['token.detokenized success']);
    });

    test(`a permission that was granted meanwhile applies, on ${name}`, async () => {
      const { me, text } = await withToken();
      await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
        service.core.accounts.editKey(transaction, me.keyId, { permissions: without('tokens:detokenize') }),
      );
      service.advance(LATER_MS);
      const response = await trickle(me, { path, type, body: around(text) }, () =>
        service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
          service.core.accounts.editKey(transaction, me.keyId, { permissions: PERMISSIONS }),
        ),
      );
      assert.match(response, /^HTTP\/1\.1 200 /);
    });
  }

  test('the permission of the endpoint is checked again, on tokenization', async () => {
    const me = await newSender(service, { setup: false });
    const body = JSON.stringify({ chd: [{ card: PAN, name: 'A', exp: '12/29' }], tags: [], scheme: 7 });
    const slow = { path: '/v1/tokenization/simple', type: 'application/json', body };
    const permissions = without('tokens:create');
    const response = await trickle(me, slow, () =>
      service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
        service.core.accounts.editKey(transaction, me.keyId, { permissions }),
      ),
    );
    assert.match(response, /^HTTP\/1\.1 403 /);
    const rows = await service.core.database.read(
      'select count(*) as n from tokens where account = ?account',
      me.account,
    );
    assert.equal(rows[0]?.['n'], 0);
  });
});
