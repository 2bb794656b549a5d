import assert from 'node:assert/strict';
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { newCertificate, newKeyPair } from '../../test/fixtures/rsa-key-pairs.ts';
import { subjectKeyIdentifier, thumbprint } from '../crypto/rsa-keys.ts';
import { DAY } from '../kernel/clock.ts';
import {
  active,
  certificateFingerprint,
  EMPTY,
  expiryOf,
  fromRecord,
  isKeyPair,
  newest,
  type ProxyConfiguration,
  type RotatableValue,
  rotate,
  toMerchantKey,
  toProcessorKey,
  toRecord,
  validFrom,
} from './proxy-configuration.ts';

const NOW = Date.UTC(2026, 0, 15);
const pairs = [newKeyPair(), newKeyPair()] as const;
const [{ privateKey: one }, { privateKey: other }] = pairs;
const [certificate, otherCertificate] = [await newCertificate(pairs[0], NOW), await newCertificate(pairs[1], NOW)];

describe('a rotatable value', () => {
  it('is replaced immediately without an overlap, also a pending one', () => {
    for (const from of [NOW, NOW - 1]) {
      assert.deepEqual(rotate({ current: 'a' }, 'b', from, NOW), { current: 'b' });
      const waiting: RotatableValue<string> = { current: 'a', next: { value: 'w', from: NOW + 9 } };
      assert.deepEqual(rotate(waiting, 'b', from, NOW), { current: 'b' });
    }
  });

  it('is active immediately when there was none, whatever the overlap', () => {
    assert.deepEqual(rotate(undefined, 'a', NOW + 1000, NOW), { current: 'a' });
  });

  it('remains active until the time of the next one', () => {
    const both = rotate({ current: 'a' }, 'b', NOW + 10, NOW);
    assert.deepEqual(both, { current: 'a', next: { value: 'b', from: NOW + 10 } });
    assert.deepEqual(
      [active(both, NOW), active(both, NOW + 9), active(both, NOW + 10), active(both, NOW + 11)],
      ['a', 'a', 'b', 'b'],
    );
    assert.equal(newest(both), 'b');
    assert.equal(newest({ current: 'a' }), 'a');
    assert.equal(active({ current: 'a' }, NOW), 'a');
  });

  it('keeps the active value, not a pending or an expired one', () => {
    const both: RotatableValue<string> = { current: 'a', next: { value: 'b', from: NOW + 10 } };
    assert.deepEqual(rotate(both, 'c', NOW + 50, NOW + 9), { current: 'a', next: { value: 'c', from: NOW + 50 } });
    assert.deepEqual(rotate(both, 'c', NOW + 50, NOW + 10), { current: 'b', next: { value: 'c', from: NOW + 50 } });
  });

  it('never changes the active value before its time, over any replacements', () => {
    const steps = fc.array(fc.record({ wait: fc.nat(20), overlap: fc.nat(20) }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(steps, fc.nat(20), (all, later) => {
        let state: RotatableValue<number> | undefined;
        let now = 0;
        for (const [index, { wait, overlap }] of all.entries()) {
          now += wait;
          const before = state;
          state = rotate(before, index, now + overlap, now);
          const expected = before === undefined || later >= overlap ? index : active(before, now);
          assert.equal(active(state, now + later), expected);
          assert.equal(newest(state), index);
        }
      }),
    );
  });
});

describe('the key of a processor', () => {
  it('is named by its own identifier where no certificate names it', () => {
    const key = createPublicKey(one);
    assert.deepEqual(toProcessorKey(key, undefined), {
      key,
      kid: thumbprint(key),
      subjectKeyIdentifier: subjectKeyIdentifier(key),
      expiresAt: undefined,
    });
  });

  it('is named as its certificate names it, and expires with it', () => {
    const { subjectKeyIdentifier: named, expiresAt } = toProcessorKey(certificate.publicKey, certificate);
    assert.equal(named, subjectKeyIdentifier(one));
    assert.equal(expiresAt, NOW + 1095 * DAY);
    // The certificate belongs to another key, so that the test sees the origin of the name.
    assert.equal(toProcessorKey(createPublicKey(other), certificate).subjectKeyIdentifier, subjectKeyIdentifier(one));
  });
});

describe('a certificate', () => {
  it('has its times in milliseconds and a fingerprint over its DER', () => {
    assert.deepEqual([validFrom(certificate), expiryOf(certificate)], [NOW - DAY, NOW + 1095 * DAY]);
    const digest = createHash('sha256').update(certificate.raw).digest('hex');
    assert.equal(certificateFingerprint(certificate), digest);
    assert.equal(certificate.fingerprint256.replaceAll(':', '').toLowerCase(), digest);
  });

  it('belongs to its own key, private or public', () => {
    assert.equal(isKeyPair(one, certificate), true);
    assert.equal(isKeyPair(createPublicKey(one), certificate), true);
    assert.equal(isKeyPair(other, certificate), false);
  });
});

/** Keys as texts, so that they can be compared. */
function shape({ processor, merchant, settings }: ProxyConfiguration): unknown {
  const shown = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value ?? null, (name, each) => (name === 'certificate' ? String(each) : each)));
  const modulusOf = (key: KeyObject): string => key.export({ format: 'jwk' }).n ?? assert.fail('no modulus');
  const keysOf = (all: ProxyConfiguration['processor'] | ProxyConfiguration['merchant']) =>
    all && [all.current, all.next?.value].map((each) => each && [each.key.type, modulusOf(each.key), each.kid]);
  return {
    processor: shown(processor),
    merchant: shown(merchant),
    settings,
    keys: [keysOf(processor), keysOf(merchant)],
  };
}

describe('a record', () => {
  const settings = { 'jose.signature': 'PS256', 'wssec.password': 'ñ"' };
  const processors: readonly ProxyConfiguration['processor'][] = [
    undefined,
    { current: toProcessorKey(createPublicKey(one), undefined) },
    {
      current: toProcessorKey(certificate.publicKey, certificate),
      next: { value: toProcessorKey(createPublicKey(other), undefined), from: NOW },
    },
  ];
  const merchants: readonly ProxyConfiguration['merchant'][] = [
    undefined,
    { current: toMerchantKey(one, certificate) },
    {
      current: toMerchantKey(one, certificate),
      next: { value: toMerchantKey(other, otherCertificate), from: NOW + 5 },
    },
  ];

  it('returns what was stored', () => {
    for (const processor of processors) {
      for (const merchant of merchants) {
        const configuration = { processor, merchant, settings };
        const read = fromRecord(toRecord(configuration));
        assert.deepEqual(shape(read), shape(configuration));
        assert.equal(toRecord(read), toRecord(configuration));
      }
    }
    assert.deepEqual(fromRecord(toRecord(EMPTY)), EMPTY);
  });

  it('keeps the certificate byte for byte', () => {
    const { merchant } = fromRecord(toRecord({ ...EMPTY, merchant: { current: toMerchantKey(one, certificate) } }));
    assert.deepEqual(merchant?.current.certificate.raw, certificate.raw);
    assert.equal(merchant?.current.certificateText, certificate.raw.toString('base64'));
    assert.equal(merchant?.current.subjectKeyIdentifier, subjectKeyIdentifier(one));
  });
});
