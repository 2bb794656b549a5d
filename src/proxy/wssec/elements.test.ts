import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { canonicalise } from '../../../test/receivers/exclusive-c14n.ts';
import { attributeOf, only, parseXml, textOf } from '../../../test/receivers/xml-tree.ts';
import { systemRandom } from '../../crypto/random.ts';
import { KEY_TRANSPORT, NS, SIGNATURES } from './algorithms.ts';
import {
  buildBinarySecurityToken,
  buildBody,
  buildDirectReference,
  buildEncryptedData,
  buildEncryptedKey,
  buildEnvelope,
  buildKeyIdentifier,
  buildSignature,
  buildSignedInfo,
  buildTimestamp,
  buildUsernameToken,
} from './elements.ts';

const NOW = Date.UTC(2026, 0, 15, 23, 59, 30, 7);
const random = systemRandom();
const VALUE = Buffer.from('some bytes');
const data = buildEncryptedData('data-1', { type: 'Content', keyId: 'key-1', cipherUri: 'urn:cipher' }, VALUE);
const login = (password: string, type: 'PasswordDigest' | 'PasswordText', username = 'shop') =>
  buildUsernameToken('username-1', { username, password, type }, NOW, random);

const canonicalOf = (xml: string): string => canonicalise(parseXml(xml));

describe('a signed element', () => {
  it('is written in its exclusive canonical form', () => {
    const info = buildSignedInfo(SIGNATURES['RSA-SHA512'], [{ id: 'a', canonical: '<a></a>' }]);
    for (const xml of [
      buildTimestamp('timestamp-1', NOW).xml,
      buildBinarySecurityToken('x509-1', 'AAAA').xml,
      login('x', 'PasswordDigest').xml,
      login('x', 'PasswordText').xml,
      buildBody('body-1', data.xml).xml,
      data.xml,
      info,
    ]) {
      assert.equal(canonicalOf(xml), xml);
    }
  });

  it('has the same form inside the envelope', () => {
    const parts = [
      buildTimestamp('timestamp-1', NOW),
      buildBinarySecurityToken('x509-1', 'AAAA'),
      login('x', 'PasswordText'),
    ];
    const envelope = parseXml(buildEnvelope(parts, buildBody('body-1', data.xml)));
    const security = only(only(envelope, NS.soapenv, 'Header'), NS.wsse, 'Security');
    const inside = security.children.map((child) => canonicalise(child));
    assert.deepEqual(
      inside,
      parts.map(({ xml }) => xml),
    );
    assert.equal(canonicalise(only(envelope, NS.soapenv, 'Body')), buildBody('body-1', data.xml).xml);
    assert.equal(attributeOf(security, 'mustUnderstand', NS.soapenv), '1');
  });
});

describe('a Timestamp', () => {
  it('is valid for 300 seconds', () => {
    const element = parseXml(buildTimestamp('timestamp-1', NOW).xml);
    assert.equal(textOf(only(element, NS.wsu, 'Created')), '2026-01-15T23:59:30.007Z');
    assert.equal(textOf(only(element, NS.wsu, 'Expires')), '2026-01-16T00:04:30.007Z');
    assert.equal(attributeOf(element, 'Id', NS.wsu), 'timestamp-1');
  });
});

describe('a UsernameToken', () => {
  const partsOf = (xml: string) => {
    const element = parseXml(xml);
    const [user, password, nonce] = ['Username', 'Password', 'Nonce'].map((name) => only(element, NS.wsse, name));
    assert.ok(user && password && nonce);
    const type = attributeOf(password, 'Type')?.split('#')[1];
    const created = textOf(only(element, NS.wsu, 'Created'));
    return {
      user: textOf(user),
      password: textOf(password),
      type,
      nonce: Buffer.from(textOf(nonce), 'base64'),
      created,
    };
  };

  it('has a digest over nonce, time and password, and not the password', () => {
    const { xml } = login('ñ <&> secret', 'PasswordDigest');
    const { user, password, type, nonce, created } = partsOf(xml);
    assert.deepEqual([user, type, created, nonce.length], ['shop', 'PasswordDigest', '2026-01-15T23:59:30.007Z', 16]);
    const digest = createHash('sha1').update(nonce).update(created).update('ñ <&> secret', 'utf8').digest('base64');
    assert.equal(password, digest);
    assert.ok(!xml.includes('secret'));
  });

  it('has a new nonce each time', () => {
    const nonces = [0, 1, 2].map(() => partsOf(login('x', 'PasswordText').xml).nonce.toString('hex'));
    assert.equal(new Set(nonces).size, 3);
  });

  it('may have any name and password as text, in canonical form', () => {
    const texts = fc.string({ unit: fc.constantFrom(...`a&<>"']ñ😀 `), minLength: 1, maxLength: 12 });
    fc.assert(
      fc.property(texts, texts, (username, secret) => {
        const { xml } = login(secret, 'PasswordText', username);
        const { user, password, type } = partsOf(xml);
        assert.deepEqual([user, password, type], [username, secret, 'PasswordText']);
        assert.equal(canonicalOf(xml), xml);
      }),
    );
  });
});

describe('a SignedInfo', () => {
  it('contains the name of each part and the digest of its canonical form', () => {
    for (const { digest, digestUri, ...signing } of Object.values(SIGNATURES)) {
      const parts = [
        { id: 'a-1', canonical: '<a>é</a>' },
        { id: 'b-1', canonical: '' },
      ];
      const element = parseXml(buildSignedInfo({ digest, digestUri, ...signing }, parts));
      assert.equal(attributeOf(only(element, NS.ds, 'SignatureMethod'), 'Algorithm'), signing.uri);
      const references = element.children.slice(2).map((child) => {
        assert.ok(typeof child === 'object');
        assert.equal(attributeOf(only(child, NS.ds, 'DigestMethod'), 'Algorithm'), digestUri);
        return [attributeOf(child, 'URI'), textOf(only(child, NS.ds, 'DigestValue'))];
      });
      const digestOf = (text: string) => createHash(digest).update(text, 'utf8').digest('base64');
      assert.deepEqual(
        references,
        parts.map(({ id, canonical }) => [`#${id}`, digestOf(canonical)]),
      );
    }
  });
});

describe('a Signature', () => {
  it('contains the signed parts, the value and the key, with its own id', () => {
    const info = buildSignedInfo(SIGNATURES['RSA-SHA256'], []);
    for (const [key, name] of [
      [buildDirectReference('x509-1'), 'Reference'],
      [buildKeyIdentifier('AAAA'), 'KeyIdentifier'],
    ] as const) {
      const { id, xml } = buildSignature('signature-1', info, VALUE, key);
      const element = parseXml(xml);
      assert.deepEqual([id, attributeOf(element, 'Id')], ['signature-1', 'signature-1']);
      assert.equal(canonicalise(only(element, NS.ds, 'SignedInfo')), info);
      assert.equal(textOf(only(element, NS.ds, 'SignatureValue')), VALUE.toString('base64'));
      only(only(element, NS.ds, 'KeyInfo'), NS.wsse, 'SecurityTokenReference', name);
    }
  });
});

describe('an EncryptedKey', () => {
  const methodOf = (transport: (typeof KEY_TRANSPORT)[keyof typeof KEY_TRANSPORT]) => {
    const element = parseXml(buildEncryptedKey('key-1', transport, 'AAAA', VALUE, ['data-1', 'data-2']).xml);
    return { element, method: only(element, NS.xenc, 'EncryptionMethod') };
  };

  it('names digest and mask only where they are not SHA-1', () => {
    const childrenOf = (name: keyof typeof KEY_TRANSPORT) =>
      methodOf(KEY_TRANSPORT[name]).method.children.map((child) =>
        typeof child === 'object' ? [child.uri, child.local, attributeOf(child, 'Algorithm')] : child,
      );
    assert.deepEqual([childrenOf('RSA-OAEP'), childrenOf('RSA-1_5')], [[], []]);
    assert.deepEqual(childrenOf('RSA-OAEP-SHA256'), [
      [NS.ds, 'DigestMethod', `${NS.xenc}sha256`],
      [NS.xenc11, 'MGF', `${NS.xenc11}mgf1sha256`],
    ]);
  });

  it('names the recipient, the key and the elements that it encrypts', () => {
    const { element } = methodOf(KEY_TRANSPORT['RSA-OAEP']);
    const reference = only(only(element, NS.ds, 'KeyInfo'), NS.wsse, 'SecurityTokenReference', 'KeyIdentifier');
    assert.equal(textOf(reference), 'AAAA');
    assert.match(attributeOf(reference, 'ValueType') ?? '', /x509-token-profile-1\.0#X509SubjectKeyIdentifier$/);
    assert.equal(textOf(only(element, NS.xenc, 'CipherData', 'CipherValue')), VALUE.toString('base64'));
    const list = only(element, NS.xenc, 'ReferenceList').children;
    assert.deepEqual(
      list.map((child) => typeof child === 'object' && attributeOf(child, 'URI')),
      ['#data-1', '#data-2'],
    );
  });
});
