import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shareService } from '../../test/fixtures/shared-service.ts';
import type { TestService } from '../../test/fixtures/test-service.ts';
import { DAY, formatIso8601 } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { dueMark, type Expiring, ExpiryMarks, expiringCertificate, expiringKey } from './expiry-marks.ts';
import { Outbox } from './outbox.ts';
import { findEvent, insertEndpoint } from './webhook-store.ts';

const END = 100 * DAY;
const key = { expiresAt: END, marks: [14, 1] };

test('each mark is due once it has passed', () => {
  assert.equal(dueMark(key, { seenAt: 0 }, END - 15 * DAY), undefined);
  assert.equal(dueMark(key, { seenAt: 0 }, END - 14 * DAY), END - 14 * DAY);
  assert.equal(dueMark(key, { seenAt: 0, toldAt: END - 14 * DAY }, END - 2 * DAY), undefined);
  assert.equal(dueMark(key, { seenAt: 0, toldAt: END - 14 * DAY }, END - DAY / 2), END - DAY);
});

test('after a standstill the newest mark alone is due, and none after the end', () => {
  assert.equal(dueMark(key, { seenAt: 0 }, END - DAY / 2), END - DAY);
  assert.equal(dueMark(key, { seenAt: 0 }, END), undefined);
});

test('a mark that was past when the date was seen is never due', () => {
  assert.equal(dueMark(key, { seenAt: END - 10 * DAY }, END - 9 * DAY), undefined);
  assert.equal(dueMark(key, { seenAt: END - 10 * DAY }, END - DAY), END - DAY);
});

describe('events of expiry, over two nodes that look at the same time', () => {
  const shared = shareService();
  let service: TestService;
  let now: number;
  before(async () => {
    service = await shared.open();
    now = service.now();
  });
  after(() => shared.close());

  /** A new account with an endpoint, and a look of both nodes at what expires there. */
  async function newTenant() {
    const { database, keyring, transactions, random } = service.core;
    const tenant: Tenant = { account: await service.newAccount(), environment: 'sandbox' };
    const endpoint = await insertEndpoint(keyring, tenant, {
      id: 'wh_a',
      // An address that is not allowed, so that nothing is sent.
      url: 'http://127.0.0.1/',
      events: ['key.expiring', 'certificate.expiring'],
      description: undefined,
      disabledReason: undefined,
      createdAt: now,
      secrets: [{ bytes: new Uint8Array(32), until: undefined }],
      revision: 1,
    });
    await database.commit({ account: tenant.account, writes: [endpoint] });
    const nodes = Array.from({ length: 2 }, () => {
      const outbox = new Outbox({ database, keyring, clock: () => service.now(), random });
      return new ExpiryMarks({ database, transactions, outbox });
    });
    const knownIds: string[] = [];
    /** Lets both nodes look, and returns the events that they wrote. */
    const look = async (expiring: Expiring, at: number) => {
      await Promise.all(nodes.map((node) => node.run([expiring], at)));
      const rows = await database.read('select id from webhook_events where account = ?account', tenant.account);
      const ids = rows.map(({ id }) => `${id}`).filter((id) => !knownIds.includes(id));
      knownIds.push(...ids);
      const events = await Promise.all(ids.map((id) => findEvent(database, keyring, tenant, id)));
      return events.map((event) => {
        const { type, environment, data } = JSON.parse(event?.body.toString() ?? '');
        return { type, environment, data };
      });
    };
    return { tenant, look };
  }

  test('are written once for each mark of a key, and once for each mark of its later date', async () => {
    const { tenant, look } = await newTenant();
    const [end, later] = [now + 40 * DAY, now + 80 * DAY];
    for (const expiresAt of [end, later]) {
      const key = expiringKey(tenant, { id: 'key_a', name: 'till', expiresAt });
      const data = { id: 'key_a', name: 'till', expires_at: formatIso8601(expiresAt) };
      const event = { type: 'key.expiring', environment: 'sandbox', data };
      assert.deepEqual(await look(key, expiresAt - 35 * DAY), []);
      assert.deepEqual(await look(key, expiresAt - 15 * DAY), []);
      assert.deepEqual(await look(key, expiresAt - 14 * DAY), [event]);
      assert.deepEqual(await look(key, expiresAt - 13 * DAY), []);
      assert.deepEqual(await look(key, expiresAt - DAY), [event]);
      assert.deepEqual(await look(key, expiresAt - DAY / 2), []);
      assert.deepEqual(await look(key, expiresAt), []);
    }
  });

  test('are written once for each mark of a certificate, late after a standstill, and for none that was past', async () => {
    const { tenant, look } = await newTenant();
    const end = now + 40 * DAY;
    const event = (use: string) => ({
      type: 'certificate.expiring',
      environment: 'sandbox',
      data: { use, expires_at: formatIso8601(end) },
    });
    const merchant = expiringCertificate(tenant, 'merchant', end);
    assert.deepEqual(await look(merchant, now), []);
    for (const days of [30, 7, 1]) {
      assert.deepEqual(await look(merchant, end - days * DAY), [event('merchant')], `${days}`);
      assert.deepEqual(await look(merchant, end - days * DAY + 1), [], `${days}`);
    }
    const processor = expiringCertificate(tenant, 'processor', end);
    assert.deepEqual(await look(processor, end - 20 * DAY), []);
    assert.deepEqual(await look(processor, end - 8 * DAY), []);
    assert.deepEqual(await look(processor, end - DAY / 2), [event('processor')]);
    assert.deepEqual(await look(processor, end - DAY / 4), []);
  });
});
