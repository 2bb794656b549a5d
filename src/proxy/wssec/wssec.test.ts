import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { newKeyPair, partiesOf, privatePem } from '../../../test/fixtures/rsa-key-pairs.ts';
import { canonicalise } from '../../../test/receivers/exclusive-c14n.ts';
import { plaintextsOf } from '../../../test/receivers/node-decryption.ts';
import { openEnvelope } from '../../../test/receivers/node-receiver.ts';
import {
  attributeOf,
  type Element,
  elementsOf,
  isElement,
  only,
  parseXml,
  textOf,
} from '../../../test/receivers/xml-tree.ts';
import { systemRandom } from '../../crypto/random.ts';
import { subjectKeyIdentifier } from '../../crypto/rsa-keys.ts';
import { type ConfiguredSettings, effectiveSettings } from '../settings.ts';
import { CONTENT_ENCRYPTION, KEY_TRANSPORT, NS } from './algorithms.ts';
import { secureWithWssec } from './wssec.ts';

const NOW = Date.UTC(2026, 0, 15);
const [merchant, processor] = [newKeyPair(), newKeyPair()];
const PARTIES = await partiesOf(merchant, processor, NOW);
const { certificate } = PARTIES.merchant;

const PAN = '4111111111111111';
/** No part of it is in canonical form. */
const ELEMENT = `<p:pay  xmlns:p="urn:pay" xmlns:q='urn:q' b='"' a="1"><!-- c --><pan>${PAN}</pan><n><![CDATA[é<&]]></n><x/></p:pay>`;
const LOGIN = { 'wssec.username': 'shop', 'wssec.password': 'secret' };
const RECEIVER = {
  processorKey: privatePem(processor),
  merchant: certificate.toString(),
  users: { shop: 'secret' },
};
const HASHES = { 'RSA-SHA256': 'sha256', 'RSA-SHA512': 'sha512' } as const;

const secure = (settings: ConfiguredSettings, element = ELEMENT): Promise<string> =>
  secureWithWssec(element, {
    parties: PARTIES,
    settings: effectiveSettings(settings),
    now: NOW,
    random: systemRandom(),
  });

const headerOf = (root: Element): Element => only(only(root, NS.soapenv, 'Header'), NS.wsse, 'Security');
const bodyOf = (root: Element): Element => only(root, NS.soapenv, 'Body');
const namesIn = (element: Element): string[] =>
  element.children.map((child) => (isElement(child) ? child.local : child));
const idOf = (element: Element): string | undefined => attributeOf(element, 'Id') ?? attributeOf(element, 'Id', NS.wsu);
const bytesOf = (element: Element): Buffer => Buffer.from(textOf(element), 'base64');
const algorithmOf = (element: Element): string | undefined => attributeOf(element, 'Algorithm');

const byId = (root: Element, uri: string | undefined): Element =>
  [...elementsOf(root)].find((each) => uri !== undefined && `#${idOf(each)}` === uri) ?? assert.fail(`no ${uri}`);

const BODY_OF = (id: string | undefined): string =>
  `<soapenv:Body xmlns:soapenv="${NS.soapenv}" xmlns:wsu="${NS.wsu}" wsu:Id="${id}">${ELEMENT}</soapenv:Body>`;

const SIGNED = ['Timestamp', 'BinarySecurityToken', 'UsernameToken', 'Body'];
const ACTIONS = {
  'encrypt-sign': ['Timestamp', 'BinarySecurityToken', 'UsernameToken', 'Signature', 'Encrypt'],
  'sign-encrypt': ['Timestamp', 'BinarySecurityToken', 'UsernameToken', 'Encrypt', 'Signature'],
};

/**
 * Decrypts with a receiver that was written from the standards; `plaintexts` of the header precede that of the Body.
 */
function check(envelope: string, order: keyof typeof ACTIONS, signing: keyof typeof HASHES): void {
  const { actions, signed, encrypted, canonical, user } = openEnvelope(envelope, RECEIVER, NOW);
  assert.deepEqual([actions, signed, user], [ACTIONS[order], SIGNED, 'shop']);
  assert.equal(canonical, canonicalise(parseXml(ELEMENT)));
  const plaintexts = plaintextsOf(envelope, RECEIVER.processorKey);
  assert.equal(plaintexts.pop(), ELEMENT);
  const [hidden] = plaintexts;
  assert.equal(hidden === undefined, order === 'encrypt-sign');
  assert.deepEqual([...encrypted].sort(), hidden === undefined ? ['Body'] : ['Body', 'Signature']);
  const signature = hidden === undefined ? only(headerOf(parseXml(envelope)), NS.ds, 'Signature') : parseXml(hidden);
  const hash = HASHES[signing];
  const methods = [...elementsOf(signature)].filter(({ local }) => /^(Signature|Digest)Method$/.test(local));
  assert.deepEqual(methods.map(algorithmOf), [
    `http://www.w3.org/2001/04/xmldsig-more#rsa-${hash}`,
    ...SIGNED.map(() => `${NS.xenc}${hash}`),
  ]);
}

for (const order of ['encrypt-sign', 'sign-encrypt'] as const) {
  describe(`an envelope with ${order}`, () => {
    for (const signing of Object.keys(HASHES) as (keyof typeof HASHES)[]) {
      it(`contains the unchanged element, signed with ${signing}, with any combination of the other algorithms`, async () => {
        for (const [content, { uri: contentUri }] of Object.entries(CONTENT_ENCRYPTION)) {
          for (const [transport, { uri: transportUri }] of Object.entries(KEY_TRANSPORT)) {
            const ciphers = { 'wssec.content': content, 'wssec.key-transport': transport };
            const envelope = await secure({ ...LOGIN, ...ciphers, 'wssec.signature': signing, 'wssec.order': order });
            const root = parseXml(envelope);
            const data = only(bodyOf(root), NS.xenc, 'EncryptedData');
            assert.equal(attributeOf(data, 'Type'), `${NS.xenc}Content`);
            assert.equal(algorithmOf(only(data, NS.xenc, 'EncryptionMethod')), contentUri);
            const key = only(headerOf(root), NS.xenc, 'EncryptedKey');
            assert.equal(algorithmOf(only(key, NS.xenc, 'EncryptionMethod')), transportUri);
            check(envelope, order, signing);
          }
        }
      });
    }

    it('shows neither the plaintext nor a digest of it', async () => {
      for (const signing of Object.keys(HASHES)) {
        const envelope = await secure({ ...LOGIN, 'wssec.order': order, 'wssec.signature': signing });
        const bodyText = BODY_OF(idOf(bodyOf(parseXml(envelope))));
        const texts = [ELEMENT, bodyText, canonicalise(parseXml(ELEMENT)), canonicalise(parseXml(bodyText)), PAN];
        for (const text of texts) {
          assert.ok(!envelope.includes(text));
          assert.ok(!envelope.includes(Buffer.from(text).toString('base64').slice(0, 20)));
          for (const hash of ['sha1', 'sha256', 'sha512']) {
            assert.ok(!envelope.includes(createHash(hash).update(text).digest('base64')), `${hash} of ${text}`);
          }
        }
      }
    });

    it('has unique ids that start with a letter, and every reference resolves', async () => {
      const [one, other] = [
        await secure({ ...LOGIN, 'wssec.order': order }),
        await secure({ ...LOGIN, 'wssec.order': order }),
      ];
      const idsOf = (root: Element): string[] => [...elementsOf(root)].flatMap((each) => idOf(each) ?? []);
      const root = parseXml(one);
      const ids = idsOf(root);
      assert.equal(new Set([...ids, ...idsOf(parseXml(other))]).size, 2 * ids.length);
      for (const id of ids) assert.match(id, /^[a-z][a-z0-9-]+$/);
      const uris = [...elementsOf(root)].flatMap((each) => attributeOf(each, 'URI') ?? []);
      assert.ok(uris.length >= 3);
      for (const uri of uris) assert.ok(ids.includes(uri.slice(1)), uri);
    });

    it('lists all encrypted elements with the key, and has no UsernameToken without a username', async () => {
      const root = parseXml(await secure({ 'wssec.order': order }));
      assert.ok(!namesIn(headerOf(root)).includes('UsernameToken'));
      const list = only(headerOf(root), NS.xenc, 'EncryptedKey', 'ReferenceList').children;
      const named = list.map((child) => (isElement(child) ? attributeOf(child, 'URI') : child));
      const data = [...elementsOf(root)]
        .filter(({ local }) => local === 'EncryptedData')
        .map((each) => `#${idOf(each)}`);
      assert.equal(data.length, order === 'encrypt-sign' ? 1 : 2);
      assert.deepEqual([...named].sort(), data.sort());
    });
  });
}

describe('an envelope', () => {
  it('has mustUnderstand, contains the certificate and names the key of the processor', async () => {
    const security = headerOf(parseXml(await secure({})));
    assert.equal(attributeOf(security, 'mustUnderstand', NS.soapenv), '1');
    assert.deepEqual(bytesOf(only(security, NS.wsse, 'BinarySecurityToken')), certificate.raw);
    const key = only(security, NS.xenc, 'EncryptedKey');
    const reference = only(only(key, NS.ds, 'KeyInfo'), NS.wsse, 'SecurityTokenReference');
    assert.equal(textOf(reference), subjectKeyIdentifier(processor.publicKey));
  });

  it('names the signing key by the token, or by its identifier', async () => {
    const referenceIn = async (reference: string) => {
      const root = parseXml(await secure({ 'wssec.reference': reference }));
      const info = only(headerOf(root), NS.ds, 'Signature', 'KeyInfo');
      const [named] = only(info, NS.wsse, 'SecurityTokenReference').children;
      return { root, named: isElement(named) ? named : assert.fail('no element') };
    };
    const direct = await referenceIn('binary-security-token');
    assert.equal(byId(direct.root, attributeOf(direct.named, 'URI')).local, 'BinarySecurityToken');
    const { named } = await referenceIn('subject-key-identifier');
    assert.deepEqual([named.local, textOf(named)], ['KeyIdentifier', subjectKeyIdentifier(merchant.publicKey)]);
  });

  it('with the preset redeban has its documented algorithms', async () => {
    const envelope = await secure({ ...LOGIN, 'wssec.preset': 'redeban' });
    check(envelope, 'encrypt-sign', 'RSA-SHA512');
    const names = ['rsa-1_5', 'aes256-cbc', 'rsa-sha512', '#PasswordText">secret<'];
    assert.ok(names.every((name) => envelope.includes(name)));
  });
});
