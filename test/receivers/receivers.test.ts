import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { inScope } from '../scope.ts';
import { canonicalise } from './exclusive-c14n.ts';
import { absent } from './install.ts';
import {
  absentReceiver,
  ENVELOPE_RECEIVERS,
  type EnvelopeKind,
  type EnvelopeMessage,
  type Identity,
  newIdentity,
  type OpenedEnvelope,
  type Receiver,
  type ReceiverKeys,
  Refused,
  startReceiver,
} from './receivers.ts';
import { startSender } from './sender.ts';
import { TAMPERS, withCertificate } from './tampering.ts';
import { BODY, ENVELOPE, FORMS, timeOfVector, USER, type VectorName, vector, vectorKey } from './vectors.ts';
import { parseXml } from './xml-tree.ts';
import { decryptWithXmlsec1, verifyWithXmlsec1 } from './xmlsec1.ts';

/** Envelopes that WSS4J sealed: every receiver opens them, and none opens what was changed on the way. */
const NAMES = Object.keys(FORMS) as VectorName[];
const KEYS: ReceiverKeys = {
  processorKey: vectorKey('processor-key'),
  processorCertificate: vectorKey('processor-certificate'),
  merchant: vectorKey('merchant-certificate'),
  users: { [USER[0]]: USER[1] },
};
const EXPECTED = canonicalise(parseXml(BODY));
const HARD = [
  '\n  <a/>text &amp; é\n  <b xmlns="urn:b"><c xmlns=""/></b>\n',
  'no element &#13; &lt; "at all"',
  '<x:a xmlns:x="urn:x" x:q="1" b="2&#9;&#10;&quot;" xml:lang="de"><y xmlns:z="urn:z" z:k="v"/></x:a>',
  '<a>𝒳 &#x1F600; ]]&gt; <![CDATA[<raw>&]]></a>',
];
const FIVE_MINUTES = 300_000;

/** WSS4J 1.6 under the Basic Security Profile knows no key transport but the first two. */
const knows = (kind: EnvelopeKind, name: VectorName): boolean =>
  kind !== 'wss4j' || FORMS[name].transport !== 'oaep-sha256';
const knownTo = (kind: EnvelopeKind): VectorName[] => NAMES.filter((name) => knows(kind, name));

/** In the usual scope one envelope of each order, another pair of them for each index. */
function sampleOf(names: readonly VectorName[], index: number): readonly VectorName[] {
  const orders = Object.values(Object.groupBy(names, (name) => FORMS[name].order));
  const pair = orders.flatMap((group) => group[index % group.length] ?? []);
  return inScope({ usual: pair, long: names });
}

function expectedOf(name: VectorName): { signed: string[]; encrypted: string[]; user: string } {
  const { order, signer, user } = FORMS[name];
  return {
    signed: [
      ...(signer === 'token' ? ['BinarySecurityToken'] : []),
      'Body',
      'Timestamp',
      ...(user === '' ? [] : ['UsernameToken']),
    ],
    encrypted: order === 'sign-then-encrypt' ? ['Body', 'Signature'] : ['Body'],
    user: user === '' ? '' : USER[0],
  };
}

for (const kind of ENVELOPE_RECEIVERS) {
  const skip = absentReceiver(kind);

  describe(`receiver ${kind}`, () => {
    let receiver: Receiver<EnvelopeMessage, OpenedEnvelope>;
    let other: Identity;
    before(async () => {
      if (skip === false) receiver = await startReceiver(kind, KEYS);
      other = await newIdentity('another');
    });
    const rejects = (envelope: string, at: number, what: string) =>
      assert.rejects(receiver.open({ envelope, at }), Refused, what);

    for (const name of NAMES) {
      test(`${knows(kind, name) ? 'opens' : 'refuses'} ${name}`, { skip }, async () => {
        const envelope = vector(name);
        const opening = receiver.open({ envelope, at: timeOfVector(envelope) });
        if (!knows(kind, name)) return assert.rejects(opening, /xmlenc11#rsa-oaep/);
        const { canonical, signed, encrypted, user } = await opening;
        assert.equal(canonical, EXPECTED);
        assert.deepEqual({ signed: [...signed].sort(), encrypted: [...encrypted].sort(), user }, expectedOf(name));
      });
    }

    for (const [index, [what, tamper]] of Object.entries(TAMPERS).entries()) {
      test(`rejects ${what}`, { skip }, async () => {
        for (const name of sampleOf(knownTo(kind), index)) {
          const envelope = vector(name);
          const tampered = tamper(envelope);
          // Else it would be refused for being no XML.
          parseXml(tampered);
          await rejects(tampered, timeOfVector(envelope), name);
        }
      });
    }

    test('rejects the certificate of another signer', { skip }, async () => {
      const names = knownTo(kind).filter((each) => FORMS[each].signer === 'token');
      for (const name of sampleOf(names, 0)) {
        const envelope = vector(name);
        await rejects(withCertificate(envelope, other.certificate), timeOfVector(envelope), name);
      }
    });

    test('rejects a message before and after its period of validity', { skip }, async () => {
      for (const name of sampleOf(knownTo(kind), 1)) {
        const envelope = vector(name);
        await rejects(envelope, timeOfVector(envelope) + FIVE_MINUTES, name);
        await rejects(envelope, timeOfVector(envelope) - FIVE_MINUTES, name);
      }
    });

    test('rejects another signer, another recipient and another password', { skip }, async () => {
      const strangers: ReceiverKeys[] = [
        { ...KEYS, merchant: other.certificate },
        { processorKey: other.privateKey, merchant: KEYS.merchant, users: { ...KEYS.users } },
        { ...KEYS, users: { [USER[0]]: 'another' } },
      ];
      for (const keys of strangers) {
        const stranger = await startReceiver(kind, keys);
        const names = knownTo(kind).filter((name) => keys.users?.[USER[0]] === USER[1] || FORMS[name].user !== '');
        // A receiver that leaves passwords to others has nothing to refuse.
        if (kind === 'santuario' && keys.users?.[USER[0]] !== USER[1]) names.length = 0;
        for (const name of sampleOf(names, 0)) {
          const envelope = vector(name);
          await assert.rejects(stranger.open({ envelope, at: timeOfVector(envelope) }), Refused, name);
        }
      }
    });
  });
}

test('WSS4J accepts a current message by the system clock, once only', {
  skip: absent('java-wss4j'),
}, async () => {
  const [merchant, processor] = await Promise.all([newIdentity('merchant'), newIdentity('processor')]);
  const sender = await startSender(merchant, processor.certificate, USER);
  const keys = { processorKey: processor.privateKey, merchant: merchant.certificate, users: { [USER[0]]: USER[1] } };
  const receiver = await startReceiver('wss4j', keys, { refuseReplays: true });
  for (const name of sampleOf(knownTo('wss4j'), 0)) {
    const envelope = await sender.seal(ENVELOPE, FORMS[name]);
    assert.equal((await receiver.open({ envelope })).canonical, EXPECTED, name);
    await assert.rejects(receiver.open({ envelope }), /replay/, name);
  }
});

test('all receivers agree on documents that are hard to canonicalize', { skip: absent('java-wss4j') }, async () => {
  const [merchant, processor] = await Promise.all([newIdentity('merchant'), newIdentity('processor')]);
  const sender = await startSender(merchant, processor.certificate, USER);
  const keys = { processorKey: processor.privateKey, merchant: merchant.certificate };
  const kinds = ENVELOPE_RECEIVERS.filter((kind) => absentReceiver(kind) === false);
  const receivers = await Promise.all(kinds.map((kind) => startReceiver(kind, keys)));
  for (const body of HARD) {
    for (const name of ['encrypted-gcm-oaep', 'signed-cbc-oaep'] as const) {
      const plain = ENVELOPE.replace(BODY, () => body).replace(
        ' xmlns:other',
        ' xmlns="urn:example:outer" xmlns:other',
      );
      const envelope = await sender.seal(plain, FORMS[name]);
      const read = await Promise.all(receivers.map((receiver) => receiver.open({ envelope })));
      for (const { canonical } of read) assert.equal(canonical, read[0]?.canonical, body);
    }
  }
});

describe('xmlsec1', () => {
  const skip = absent('xmlsec1');
  for (const name of NAMES.filter((each) => FORMS[each].order === 'encrypt-then-sign')) {
    test(`verifies and decrypts ${name}, and rejects another body`, { skip }, async () => {
      const envelope = vector(name);
      await verifyWithXmlsec1(envelope, KEYS.merchant);
      assert.equal(canonicalise(parseXml(await decryptWithXmlsec1(envelope, KEYS.processorKey))), EXPECTED);
      const tampered = TAMPERS['a body of more']?.(envelope) ?? '';
      await assert.rejects(verifyWithXmlsec1(tampered, KEYS.merchant), Refused);
    });
  }
});
