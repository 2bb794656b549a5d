import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { createSelfSigned } from '../../src/crypto/certificate.ts';
import { InvalidKeyError } from '../../src/crypto/rsa-keys.ts';
import { toConfigurationView } from '../../src/proxy/configuration-view.ts';
import type { ConfigurationChanges } from '../../src/proxy/proxy-configurations.ts';
import { blob, write } from '../../src/storage/database.ts';
import { newKeyPair, privatePem } from '../fixtures/rsa-key-pairs.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { isLong } from '../scope.ts';
import {
  configure,
  MERCHANT,
  newSender,
  openJose,
  PROCESSOR,
  proxied,
  removeConfiguration,
  type Sender,
} from './proxy-requests.ts';

const SECONDS = 1000;
const OPERATOR = { actor: { type: 'operator' as const, name: 'test' } };

let service: TestService;
before(async () => {
  service = await startTestService();
});
after(() => service.stop());

const shownOf = async (me: Sender) => toConfigurationView(await service.core.configurations.get(me), service.now());

async function works(me: Sender): Promise<void> {
  service.advance(5 * SECONDS);
  assert.equal(await openJose(proxied(await me.jose('{"a":1}'))), '{"a":1}');
  assert.match(proxied(await me.wssec('<a/>')).xml, /^<soapenv:Envelope /);
}

describe('a certificate with malformed times', () => {
  const UTC_TIME = Buffer.from([0x17, 13]);
  const GENERALIZED_TIME = Buffer.from([0x18, 15]);
  const LATE = newKeyPair();
  /** With its two times as they are, or as given; they must be as long as those. */
  async function patched(pair: typeof MERCHANT, { start, end, created = service.now() }: Patch): Promise<Buffer> {
    const der = Buffer.from(await createSelfSigned(pair.privateKey, 'A Merchant', created));
    // The sequence of both times, which begins with the first.
    const validity = /\x30[\x1e\x20]\x17\x0d/.exec(der.toString('latin1')) ?? assert.fail('no times');
    const first = validity.index + 4;
    const second = first + 13 + 2;
    // The tags of both forms, each with the length of its time.
    assert.ok([UTC_TIME, GENERALIZED_TIME].some((tag) => tag.equals(der.subarray(second - 2, second))));
    for (const [at, text] of [
      [first, start],
      [second, end],
    ] as const) {
      if (text === undefined) continue;
      assert.equal(text.length, der[at - 1]);
      der.write(text, at, 'latin1');
    }
    return der;
  }
  interface Patch {
    readonly start?: string;
    readonly end?: string;
    readonly created?: number;
  }

  const patches: readonly [what: string, patch: Patch][] = [
    ['the end in month 99', { end: '309932000000Z' }],
    ['the end in month 0', { end: '300001000000Z' }],
    ['the end on day 32', { end: '300132000000Z' }],
    ['the end at hour 24', { end: '300101240000Z' }],
    ['the end in minute 60', { end: '300101006000Z' }],
    ['the end of letters', { end: 'abcdefghijklm' }],
    ['the end without Z', { end: '3001010000000' }],
    ['the end of signs that are no digits', { end: '30 1 1 0 0 0Z' }],
    ['the start in month 99', { start: '209932000000Z' }],
    ['the start of letters', { start: 'abcdefghijklm' }],
    ['both', { start: '209932000000Z', end: '309932000000Z' }],
    // Its end is beyond 2049, and written in the longer form.
    ['the far end in month 99', { start: '200101000000Z', end: '20519932000000Z', created: Date.UTC(2048, 0, 1) }],
    ['the far end of letters', { start: '200101000000Z', end: 'abcdefghijklmno', created: Date.UTC(2048, 0, 1) }],
  ];

  test('is what this test creates, and is accepted with valid times', async () => {
    const me = await newSender(service);
    const good = [
      await patched(MERCHANT, {}),
      await patched(MERCHANT, { end: '310101000000Z' }),
      await patched(MERCHANT, { start: '200101000000Z', created: Date.UTC(2048, 0, 1) }),
    ];
    for (const der of good) {
      const changes = { merchantCertificate: der, processorPublicKey: await patched(PROCESSOR, {}) };
      await service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
        service.core.configurations.configure(transaction, me, { ...changes, settings: {}, overlapMinutes: 0 }),
      );
      await works(me);
    }
    assert.equal(new X509Certificate(good[2] ?? '').validToDate.getUTCFullYear(), 2050);
  });

  for (const [what, patch] of patches.filter((_, index) => isLong || index % 2 === 0)) {
    test(`is rejected, and nothing changes: ${what}`, async () => {
      const me = await newSender(service);
      const before = await shownOf(me);
      const refused = async (changes: Partial<ConfigurationChanges>, message: RegExp): Promise<void> => {
        const all = { settings: { 'jose.payload': 'plain' }, overlapMinutes: 0, ...changes };
        await assert.rejects(
          service.core.transactions.run({ origin: OPERATOR }, (transaction) =>
            service.core.configurations.configure(transaction, me, all),
          ),
          (error: Error) => {
            assert.ok(error instanceof InvalidKeyError, String(error));
            assert.match(error.message, message);
            return true;
          },
        );
        assert.deepEqual(await shownOf(me), before);
      };
      const times = (whose: string): RegExp =>
        new RegExp(
          `^the times of the ${whose} certificate are malformed$|^expected an (X\\.509 certificate|RSA public key): `,
        );
      const der = await patched(MERCHANT, patch);
      const pem = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
      for (const file of [der, Buffer.from(pem)]) {
        await refused({ merchantCertificate: file }, times('merchant'));
        await refused({ processorPublicKey: file }, times('processor'));
        await refused({ processorPublicKey: file, overlapMinutes: 60 }, times('processor'));
      }
      const key = Buffer.from(privatePem(LATE));
      const own = await patched(LATE, patch);
      await refused({ merchantPrivateKey: key, merchantCertificate: own }, times('merchant'));
      await works(me);
      const { text } = await service.call('GET', '/metrics', { environment: 'console' });
      assert.doesNotMatch(text, /NaN/);
    });
  }
});

describe('a configuration that was damaged in the database', () => {
  async function damage({ account, environment }: Sender): Promise<void> {
    const scope = [account, environment] as const;
    const { database } = service.core;
    const sql = 'select record from proxy_configurations where account = ?account and environment = ?environment';
    const [row = assert.fail('nothing is stored')] = await database.read(sql, ...scope);
    const record = Buffer.from(blob(row, 'record'));
    const at = record.length >> 1;
    record[at] = (record[at] ?? 0) ^ 1;
    const update = 'update proxy_configurations set record = ? where account = ?account and environment = ?environment';
    const outcome = await database.commit({ writes: [write(update, [record, ...scope], 1)] });
    assert.ok(outcome.committed);
  }

  test('cannot be shown or changed, but removed and created again', async () => {
    const me = await newSender(service);
    const other = await newSender(service);
    await works(me);
    await damage(me);
    await assert.rejects(service.core.configurations.get(me));
    await assert.rejects(configure(service, me, { processor: PROCESSOR }));
    await removeConfiguration(service, me);
    const { processor_public_key: key, merchant_private_key: own } = await shownOf(me);
    assert.deepEqual([key, own], [null, null]);
    service.advance(5 * SECONDS);
    assert.equal((await me.jose('{}')).status, 400);
    await configure(service, me, { processor: PROCESSOR, merchant: MERCHANT });
    await works(me);
    await works(other);
  });
});
