import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { exportJournal, verifyJournal } from '../../src/audit/verify-journal.ts';
import { newCertificate, newKeyPair, type RsaKeyPair } from '../fixtures/rsa-key-pairs.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import {
  type AuditRecord,
  assertRefused,
  configure,
  ENDPOINTS,
  MERCHANT,
  newSender,
  PROCESSOR,
  proxied,
  type Sender,
} from './proxy-requests.ts';

const PAN = '4111111111111111';
const NOBODY = '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c';

let service: TestService;
let me: Sender;
let token: string;
let capture: string;
before(async () => {
  service = await startTestService();
  me = await newSender(service);
  token = await me.token(PAN, { name: 'Zebulon Quackenbush' });
  capture = await me.capture({ card: PAN, name: 'Zebulon Quackenbush', exp: '12/29', cvv: '7391' });
});
after(() => service.stop());

/** The records that one request adds to the audit log. */
async function added(send: () => Promise<TestResponse>): Promise<AuditRecord[]> {
  const before = (await me.reads()).length;
  await send();
  return (await me.reads()).slice(before);
}

for (const { name: use, around } of ENDPOINTS) {
  const send = (text: string): Promise<TestResponse> => me[use](around(text));

  describe(`the audit log of ${use}`, () => {
    test('has each record once per request, however often a placeholder refers to it', async () => {
      const text = `{{${token}:detokenize}} {{ ${token} : detokenize | extract:name}}{{${capture}:transaction | extract:cvv}}`;
      const records = await added(async () => {
        const response = await send(text.repeat(3));
        proxied(response);
        return response;
      });
      const sorted = records.sort((one, other) => (one.action < other.action ? -1 : 1));
      assert.deepEqual(
        sorted.map(({ action, outcome, environment, targets, detail }) => ({
          action,
          outcome,
          environment,
          targets,
          detail,
        })),
        [
          {
            action: 'capture.retrieved',
            outcome: 'success',
            environment: 'sandbox',
            targets: [`capture:${capture}`],
            detail: { use },
          },
          {
            action: 'token.detokenized',
            outcome: 'success',
            environment: 'sandbox',
            targets: [`token:${token}`],
            detail: { use },
          },
        ],
      );
    });

    test('has no record of a request without placeholders, or with a malformed one', async () => {
      assert.deepEqual(await added(() => send('plain')), []);
      assert.deepEqual(await added(() => send(`{{${token}:detokenize}}{{x`)), []);
    });

    test('has unknown records, without the text of the client', async () => {
      for (const unknown of [NOBODY, PAN]) {
        const [first, ...more] = await added(() => send(`{{${unknown}:detokenize}}`));
        assert.deepEqual([first?.action, first?.outcome, first?.targets], ['token.detokenized', 'missing', []]);
        assert.deepEqual(more, []);
      }
      const [one] = await added(() => send(`{{${PAN}:transaction}}`));
      assert.deepEqual([one?.action, one?.outcome, one?.targets], ['capture.retrieved', 'missing', []]);
      const [two] = await added(() => send(`{{${NOBODY}:transaction}}`));
      assert.deepEqual([two?.outcome, two?.targets], ['missing', [`capture:${NOBODY}`]]);
    });

    test('has the records that were read before an unknown one, or one that lacks a part', async () => {
      const records = await added(() => send(`{{${token}:detokenize}}{{${NOBODY}:detokenize}}`));
      assert.deepEqual(records.map(({ outcome }) => outcome).sort(), ['missing', 'success']);
      const bare = await me.capture({ cvv: '7391' });
      const [read] = await added(() => send(`{{${bare}:transaction}}`));
      assert.deepEqual([read?.outcome, read?.targets], ['success', [`capture:${bare}`]]);
    });

    test('has the key, the address and the request', async () => {
      const response = await send(`{{${token}:detokenize}}`);
      const found = [];
      for await (const { record } of exportJournal(service.core.database)) {
        const parsed = JSON.parse(record);
        if (parsed.request_id === response.headers['x-request-id']) found.push(parsed);
      }
      assert.equal(found.length, 1);
      assert.deepEqual(found[0].actor, { type: 'key', id: me.keyId, name: 'test' });
      assert.equal(found[0].address, '127.0.0.1');
    });

    test('has the record of each concurrent request before its response is sent', async () => {
      const tokens = await Promise.all(Array.from({ length: 20 }, () => me.token(PAN)));
      await Promise.all(
        tokens.map(async (each) => {
          proxied(await send(`{{${each}:detokenize}}`));
          const records = (await me.reads()).filter(({ targets }) => targets.includes(`token:${each}`));
          assert.equal(records.length, 1);
        }),
      );
    });
  });
}

test('an endpoint that is not configured reads nothing', async () => {
  const bare = await newSender(service, { setup: false });
  const own = await bare.token(PAN);
  assertRefused(await bare.jose({ cvv: `{{${own}:detokenize}}` }), /^not configured/);
  assertRefused(await bare.wssec(`<a>{{${own}:detokenize}}</a>`), /^not configured/);
  assert.deepEqual(await bare.reads(), []);
});

/** The records of configuration changes, oldest first. */
async function configured({ account }: Sender) {
  const records = [];
  for await (const link of exportJournal(service.core.database))
    if (link.account === account) records.push(JSON.parse(link.record));
  return records.filter(({ action }) => action === 'proxy.configured');
}

test('configuring settings is in the audit log, with the values of those that are not secret', async () => {
  const secret = 'PasswordOfTheCanary';
  const settings = { 'jose.payload': 'plain', 'wssec.username': secret, 'wssec.password': secret };
  const own = await newSender(service, { setup: { settings } });
  const [record, ...more] = await configured(own);
  assert.deepEqual(more, []);
  assert.equal(record.outcome, 'success');
  assert.deepEqual(record.detail, {
    settings: ['jose.payload', 'wssec.username', 'wssec.password'],
    new_values: ['jose.payload=plain', 'wssec.username=(changed)', 'wssec.password=(changed)'],
    overlap_minutes: 0,
  });
  assert.ok(!JSON.stringify(record).includes(secret));
});

test('configuring keys is in the audit log with the fingerprints of the new keys only', async () => {
  const own = await newSender(service);
  const [next, nextMerchant] = [newKeyPair(), newKeyPair()];
  const fingerprint = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
  const ofKey = ({ publicKey }: RsaKeyPair): string => fingerprint(publicKey.export({ type: 'spki', format: 'der' }));
  const last = async () => (await configured(own)).at(-1).detail;
  const both = await last();
  assert.deepEqual(Object.keys(both), [
    'processor_public_key',
    'merchant_private_key',
    'merchant_certificate',
    'settings',
    'overlap_minutes',
  ]);
  assert.deepEqual([both.processor_public_key, both.merchant_private_key], [ofKey(PROCESSOR), ofKey(MERCHANT)]);

  await configure(service, own, { processor: next, overlapMinutes: 5 });
  assert.deepEqual(await last(), { processor_public_key: ofKey(next), settings: [], overlap_minutes: 5 });

  await configure(service, own, { merchant: nextMerchant, overlapMinutes: 5 });
  const { merchant } = await service.core.configurations.get(own);
  const created = fingerprint(merchant?.next?.value.certificate.raw ?? assert.fail('nothing waits'));
  const waiting = { merchant_private_key: ofKey(nextMerchant), merchant_certificate: created };
  assert.deepEqual(await last(), { ...waiting, settings: [], overlap_minutes: 5 });

  // While that one waits, a certificate for the key in use: no key was given, and the one that waits has not changed.
  for (const pair of [MERCHANT, nextMerchant]) {
    const certificate = await newCertificate(pair, service.now());
    await configure(service, own, { certificate });
    const expected = { merchant_certificate: fingerprint(certificate.raw), settings: [], overlap_minutes: 0 };
    assert.deepEqual(await last(), expected);
  }
});

test('the audit log is intact, and contains no card data', async () => {
  const lines: string[] = [];
  for await (const link of exportJournal(service.core.database)) lines.push(JSON.stringify(link));
  const text = lines.join('\n');
  for (const secret of [PAN, 'Zebulon', '7391"', '12/29']) assert.ok(!text.includes(secret), secret);
  const { core } = service;
  assert.equal((await verifyJournal(core.database, core.journalKey)).fault, undefined);
});
