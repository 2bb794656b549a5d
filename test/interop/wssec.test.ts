import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import fc from 'fast-check';
import { systemRandom } from '../../src/crypto/random.ts';
import { type ConfiguredSettings, effectiveSettings } from '../../src/proxy/settings.ts';
import { secureWithWssec } from '../../src/proxy/wssec/wssec.ts';
import { parseDocument } from '../../src/proxy/wssec/xml-document.ts';
import { canonicalise } from '../receivers/exclusive-c14n.ts';
import { absent } from '../receivers/install.ts';
import {
  absentReceiver,
  ENVELOPE_RECEIVERS,
  type EnvelopeKind,
  type EnvelopeMessage,
  type OpenedEnvelope,
  type Receiver,
  Refused,
  startReceiver,
} from '../receivers/receivers.ts';
import { parseXml } from '../receivers/xml-tree.ts';
import { decryptWithXmlsec1, verifyWithXmlsec1 } from '../receivers/xmlsec1.ts';
import { inScope } from '../scope.ts';
import { document } from './documents.ts';
import { pairwise } from './pairwise.ts';
import { merchant, parties, processor } from './parties.ts';

/** In the long scope each combination of settings meets one at least. */
const DOCUMENTS = Number(process.env['CARDVAULT_TEST_RUNS'] ?? inScope({ usual: 8, long: 60 }));
const seed = Math.floor(Math.random() * 2 ** 31);
const USERS = { 'O\'Brien "X" <&>': 'p<&>\'w"ö' };
const [[username = '', password = '']] = Object.entries(USERS) as [[string, string]];

const random = systemRandom();
const keys = { processorKey: processor.privateKey, merchant: merchant.certificate, users: USERS };

const secure = (body: string, settings: ConfiguredSettings): Promise<string> =>
  secureWithWssec(parseDocument(body).text, {
    parties,
    settings: effectiveSettings(settings),
    now: Date.now(),
    random,
  });

const ORDERS = ['encrypt-sign', 'sign-encrypt'];
const ALL: ConfiguredSettings[] = ORDERS.flatMap((order) =>
  ['RSA-OAEP', 'RSA-OAEP-SHA256', 'RSA-1_5'].flatMap((transport) =>
    ['AES-256-GCM', 'AES-256-CBC'].flatMap((content) =>
      ['RSA-SHA256', 'RSA-SHA512'].flatMap((signature) =>
        ['binary-security-token', 'subject-key-identifier'].map((reference) => ({
          'wssec.order': order,
          'wssec.key-transport': transport,
          'wssec.content': content,
          'wssec.signature': signature,
          'wssec.reference': reference,
        })),
      ),
    ),
  ),
);
const COMBINATIONS = inScope({ usual: pairwise(ALL), long: ALL });
const LOGINS: ConfiguredSettings[] = [
  { 'wssec.username': username, 'wssec.password': password },
  { 'wssec.username': username, 'wssec.password': password, 'wssec.order': 'sign-encrypt' },
  { 'wssec.username': username, 'wssec.password': password, 'wssec.preset': 'redeban' },
];

/** Version 1.6 of WSS4J came before XML Encryption 1.1's key transport. */
const knows = (kind: EnvelopeKind, settings: ConfiguredSettings): boolean =>
  !(kind === 'wss4j' && settings['wssec.key-transport'] === 'RSA-OAEP-SHA256');

const CANONICAL = '<p:a xmlns:p="urn:x" xmlns:q="urn:q" q:b="&quot;">é&amp;<b xmlns="urn:d" t="q:x"></b>&lt;</p:a>';
const SMALL = '<p:a xmlns:p="urn:x" xmlns:q="urn:q" q:b=\'"\'>é&amp;<b xmlns="urn:d" t="q:x"/><![CDATA[<]]></p:a>';

/** Another character in each ciphertext. */
const changed = (envelope: string): string =>
  envelope.replace(
    /(<xenc:CipherValue>[^<]{20})(.)/g,
    (_, start: string, sign: string) => start + (sign === 'A' ? 'B' : 'A'),
  );

describe('WS-Security, encrypted and then signed, verified by xmlsec1', { skip: absent('xmlsec1') }, () => {
  const own = COMBINATIONS.filter((each) => each['wssec.order'] === 'encrypt-sign');
  for (const settings of [...own, ...LOGINS.filter((each) => each['wssec.order'] === undefined)]) {
    test(Object.values(settings).join(', '), async () => {
      const envelope = await secure(SMALL, settings);
      await verifyWithXmlsec1(envelope, merchant.certificate);
      const opened = await decryptWithXmlsec1(envelope, processor.privateKey);
      assert.equal(canonicalise(parseXml(opened)), CANONICAL);
      await assert.rejects(verifyWithXmlsec1(changed(envelope), merchant.certificate), Refused);
    });
  }
});

for (const kind of ENVELOPE_RECEIVERS) {
  describe(`WS-Security, decrypted by ${kind}`, { skip: absentReceiver(kind) || undefined }, () => {
    let receiver: Receiver<EnvelopeMessage, OpenedEnvelope>;
    before(async () => {
      receiver = await startReceiver(kind, keys);
    });

    for (const settings of COMBINATIONS.filter((each) => knows(kind, each))) {
      test(Object.values(settings).join(', '), async () => {
        const opened = await receiver.open({ envelope: await secure(SMALL, settings) });
        assert.deepEqual([...opened.signed].sort(), ['BinarySecurityToken', 'Body', 'Timestamp']);
        assert.ok(opened.encrypted.includes('Body'));
        assert.equal(opened.encrypted.includes('Signature'), settings['wssec.order'] === 'sign-encrypt');
        assert.equal(opened.canonical, CANONICAL);
      });
    }

    for (const settings of LOGINS) {
      test(`with a UsernameToken: ${JSON.stringify(Object.keys(settings))}`, async () => {
        const opened = await receiver.open({ envelope: await secure(SMALL, settings) });
        assert.equal(opened.user, username);
        assert.ok(opened.signed.includes('UsernameToken'));
      });
    }

    test(`${DOCUMENTS} documents are returned unchanged`, async () => {
      const documents = fc.sample(document, { numRuns: DOCUMENTS, seed });
      await Promise.all(
        documents.map(async (body, index) => {
          const settings = COMBINATIONS.filter((each) => knows(kind, each));
          const envelope = await secure(body, settings[index % settings.length] ?? {});
          const opened = await receiver.open({ envelope });
          const expected = canonicalise(parseXml(parseDocument(body).text));
          assert.equal(opened.canonical, expected, `seed ${seed}, document ${index}`);
        }),
      );
    });

    test('a signature over another body is rejected', async () => {
      const envelope = await secure(SMALL, {});
      await assert.rejects(receiver.open({ envelope: changed(envelope) }), Refused);
    });
  });
}
