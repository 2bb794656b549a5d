import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { toConfigurationView } from '../../src/proxy/configuration-view.ts';
import { Search } from '../fixtures/canaries.ts';
import { runInProcess } from '../fixtures/command.ts';
import { isPostgres, storedBytes } from '../fixtures/database.ts';
import { newKeyPair, publicPem, type RsaKeyPair } from '../fixtures/rsa-key-pairs.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import {
  assertRefused,
  configure,
  MERCHANT,
  newSender,
  openJose,
  openWssec,
  PROCESSOR,
  proxied,
  removeConfiguration,
  type Sender,
} from './proxy-requests.ts';

const SECONDS = 1000;

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

/** Does this pair of the processor open what is sent now, on both endpoints? */
async function opens(me: Sender, processor: RsaKeyPair, merchant = MERCHANT): Promise<boolean> {
  const [jose, wssec] = [proxied(await me.jose('{"a":1}')), proxied(await me.wssec('<a/>'))];
  const results = await Promise.allSettled([
    openJose(jose, { processor, merchant }),
    (async () => openWssec(wssec.xml, { processor, merchant }))(),
  ]);
  const [first, second] = results.map(({ status }) => status === 'fulfilled');
  assert.equal(first, second);
  return first === true;
}

const shownOf = async (me: Sender) => toConfigurationView(await service.core.configurations.get(me), service.now());

describe('a new key of the processor', () => {
  test('is active within 5 seconds when another process sets it', async () => {
    const me = await newSender(service);
    const next = newKeyPair();
    assert.ok(await opens(me, PROCESSOR));
    const file = join(service.directory, 'next.pem');
    writeFileSync(file, publicPem(next));
    const tenant = ['--account', me.account, '--environment', me.environment];
    const { code, err } = await runInProcess(
      service.directory,
      'proxy',
      'configure',
      ...tenant,
      '--processor-public-key',
      file,
    );
    assert.equal(code, 0, err);
    service.advance(5 * SECONDS);
    assert.ok(await opens(me, next));
    assert.ok(!(await opens(me, PROCESSOR)));
    const shown = await shownOf(me);
    assert.equal(shown.processor_public_key?.next, null);
  });

  test('with an overlap is pending until then, and show lists both', async () => {
    const me = await newSender(service);
    const [next, nextMerchant] = [newKeyPair(), newKeyPair()];
    await configure(service, me, { processor: next, merchant: nextMerchant, overlapMinutes: 10 });
    const {
      processor_public_key: both,
      merchant_private_key: own,
      merchant_certificate: certificate,
    } = await shownOf(me);
    assert.equal(Date.parse(both?.next?.from ?? '') - service.now() > 570 * SECONDS, true);
    assert.notEqual(both?.fingerprint, both?.next?.fingerprint);
    assert.ok(own?.next && certificate?.next);
    for (const passed of [0, 5 * SECONDS, 565 * SECONDS]) {
      service.advance(passed);
      assert.ok(await opens(me, PROCESSOR), `after ${passed}`);
    }
    service.advance(31 * SECONDS);
    assert.ok(await opens(me, next, nextMerchant));
    const after = await shownOf(me);
    assert.deepEqual(after.processor_public_key, { ...withoutFrom(both?.next), next: null });
  });

  test('a third one during the overlap replaces the pending one', async () => {
    const me = await newSender(service);
    const [second, third] = [newKeyPair(), newKeyPair()];
    await configure(service, me, { processor: second, overlapMinutes: 10 });
    await configure(service, me, { processor: third, overlapMinutes: 10 });
    assert.ok(await opens(me, PROCESSOR));
    service.advance(601 * SECONDS);
    assert.ok(await opens(me, third));
    await configure(service, me, { processor: second, overlapMinutes: 10 });
    await configure(service, me, { processor: PROCESSOR });
    service.advance(5 * SECONDS);
    assert.ok(await opens(me, PROCESSOR), 'without an overlap it is in use at once');
    service.advance(700 * SECONDS);
    assert.ok(await opens(me, PROCESSOR));
  });

  test('leaves settings and the other key unchanged', async () => {
    const me = await newSender(service, {
      setup: { processor: PROCESSOR, merchant: MERCHANT, settings: { 'jose.signature': 'PS512' } },
    });
    const before = await shownOf(me);
    await configure(service, me, { processor: newKeyPair() });
    const after = await shownOf(me);
    assert.deepEqual(after.settings, before.settings);
    assert.deepEqual(after.merchant_private_key, before.merchant_private_key);
    assert.deepEqual(after.merchant_certificate, before.merchant_certificate);
  });
});

const withoutFrom = (next: object | null | undefined): object => {
  const { from, ...rest } = { from: '', ...next };
  return rest;
};

test('removal: 400 that names both keys, within 5 seconds', async () => {
  const me = await newSender(service);
  assert.ok(await opens(me, PROCESSOR));
  await removeConfiguration(service, me);
  service.advance(5 * SECONDS);
  const what = 'not configured for this account and environment: processor public key and merchant private key';
  assertRefused(await me.jose('{}'), what);
  assertRefused(await me.wssec('<a/>'), what);
  await configure(service, me, { processor: PROCESSOR, merchant: MERCHANT });
  service.advance(5 * SECONDS);
  assert.ok(await opens(me, PROCESSOR));
});

test('/v1/account lists the enabled functions of each environment', async () => {
  const me = await newSender(service, { setup: false });
  const there = await newSender(service, { account: me.account, environment: 'production', setup: false });
  const enabled = async ({ key, environment }: Sender): Promise<boolean> => {
    service.advance(5 * SECONDS);
    const { jose, wssec } = (await service.call('GET', '/v1/account', { key, environment })).json.data.enabled;
    assert.equal(jose, wssec);
    return jose;
  };
  assert.deepEqual([await enabled(me), await enabled(there)], [false, false]);
  await configure(service, me, { processor: PROCESSOR });
  assert.equal(await enabled(me), false, 'half of it');
  await configure(service, me, { merchant: MERCHANT });
  assert.deepEqual([await enabled(me), await enabled(there)], [true, false]);
  assertRefused(await there.jose('{}'), /^not configured/);
  const other = newKeyPair();
  await configure(service, there, { processor: other, merchant: MERCHANT });
  assert.deepEqual([await enabled(me), await enabled(there)], [true, true]);
  assert.ok(await opens(me, PROCESSOR));
  assert.ok(await opens(there, other));
  await removeConfiguration(service, me);
  assert.deepEqual([await enabled(me), await enabled(there)], [false, true]);
});

test('of two concurrent changes, both are stored, or one reports a conflict', async () => {
  const me = await newSender(service);
  const settings = [{ 'jose.payload': 'plain' }, { 'jose.signature': 'PS256' }, { 'jose.content': 'A128GCM' }];
  const results = await Promise.allSettled(settings.map((each) => configure(service, me, { settings: each })));
  const shown = await shownOf(me);
  for (const [index, { status }] of results.entries()) {
    const [[name = '', value] = []] = Object.entries(settings[index] ?? {});
    assert.equal(shown.settings[name] === value, status === 'fulfilled');
  }
  assert.ok(results.some(({ status }) => status === 'fulfilled'));
});

test('is stored sealed: no stored value contains a private key or the password', async () => {
  const password = 'Canary-Of-The-Password';
  const [processor, merchant, waiting] = [newKeyPair(), newKeyPair(), newKeyPair()];
  const me = await newSender(service, {
    setup: { processor, merchant, settings: { 'wssec.username': 'CanaryOfTheUser', 'wssec.password': password } },
  });
  await configure(service, me, { merchant: waiting, overlapMinutes: 60 });
  proxied(await me.wssec('<a/>'));
  const { directory, core } = service;
  if (!isPostgres) await core.database.backup(join(directory, 'copy.db'));
  const stored = await storedBytes(directory, core.database);
  assert.ok(stored.includes(me.account));
  const search = new Search(
    [password, 'CanaryOfTheUser'],
    [merchant, waiting].map(({ privateKey }) => privateKey),
  );
  assert.deepEqual(search.found(stored), []);
  const { text: metrics } = await service.call('GET', '/metrics', { environment: 'console' });
  assert.deepEqual(search.found(Buffer.from(service.log.join('') + metrics)), []);
});
