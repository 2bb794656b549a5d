import assert from 'node:assert/strict';
import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { newCertificate, newKeyPair } from '../../test/fixtures/rsa-key-pairs.ts';
import { subjectKeyIdentifier, thumbprint } from '../crypto/rsa-keys.ts';
import { DAY } from '../kernel/clock.ts';
import {
  belongTogether,
  type Configuration,
  certificateFingerprint,
  configurationFrom,
  EMPTY,
  endOf,
  inUse,
  latest,
  merchantKey,
  processorKey,
  type Replaceable,
  recordOf,
  replaced,
  startOf,
} from './configuration.ts';

const NOW = Date.UTC(2026, 0, 15);
const pairs = [newKeyPair(), newKeyPair()] as const;
const [{ privateKey: one }, { privateKey: other }] = pairs;
const [certificate, otherCertificate] = [await newCertificate(pairs[0], NOW), await newCertificate(pairs[1], NOW)];

describe('what can be replaced', () => {
  it('is replaced at once when no time is left, also what was waiting', () => {
    for (const from of [NOW, NOW - 1]) {
      assert.deepEqual(replaced({ current: 'a' }, 'b', from, NOW), { current: 'b' });
      const waiting: Replaceable<string> = { current: 'a', next: { value: 'w', from: NOW + 9 } };
      assert.deepEqual(replaced(waiting, 'b', from, NOW), { current: 'b' });
    }
  });

  it('is in use at once when nothing was there, whatever the time', () => {
    assert.deepEqual(replaced(undefined, 'a', NOW + 1000, NOW), { current: 'a' });
  });

  it('stays in use until the time of the next', () => {
    const both = replaced({ current: 'a' }, 'b', NOW + 10, NOW);
    assert.deepEqual(both, { current: 'a', next: { value: 'b', from: NOW + 10 } });
    assert.deepEqual(
      [inUse(both, NOW), inUse(both, NOW + 9), inUse(both, NOW + 10), inUse(both, NOW + 11)],
      ['a', 'a', 'b', 'b'],
    );
    assert.equal(latest(both), 'b');
    assert.equal(latest({ current: 'a' }), 'a');
    assert.equal(inUse({ current: 'a' }, NOW), 'a');
  });

  it('keeps what is in use now, not what was waiting or is over', () => {
    const both: Replaceable<string> = { current: 'a', next: { value: 'b', from: NOW + 10 } };
    assert.deepEqual(replaced(both, 'c', NOW + 50, NOW + 9), { current: 'a', next: { value: 'c', from: NOW + 50 } });
    assert.deepEqual(replaced(both, 'c', NOW + 50, NOW + 10), { current: 'b', next: { value: 'c', from: NOW + 50 } });
  });

  it('never changes what is in use before its time, over any replacements', () => {
    const steps = fc.array(fc.record({ wait: fc.nat(20), overlap: fc.nat(20) }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(steps, fc.nat(20), (all, later) => {
        let state: Replaceable<number> | undefined;
        let now = 0;
        for (const [index, { wait, overlap }] of all.entries()) {
          now += wait;
          const before = state;
          state = replaced(before, index, now + overlap, now);
          const expected = before === undefined || later >= overlap ? index : inUse(before, now);
          assert.equal(inUse(state, now + later), expected);
          assert.equal(latest(state), index);
        }
      }),
    );
  });
});

describe('the key of a processor', () => {
  it('is named by its own identifier where no certificate names it', () => {
    const key = createPublicKey(one);
    assert.deepEqual(processorKey(key, undefined), {
      key,
      kid: thumbprint(key),
      subjectKeyIdentifier: subjectKeyIdentifier(key),
      expiresAt: undefined,
    });
  });

  it('is named as its certificate names it, and ends with it', () => {
    const { subjectKeyIdentifier: named, expiresAt } = processorKey(certificate.publicKey, certificate);
    assert.equal(named, subjectKeyIdentifier(one));
    assert.equal(expiresAt, NOW + 1095 * DAY);
    // Of another key, so that it is seen where the name comes from.
    assert.equal(processorKey(createPublicKey(other), certificate).subjectKeyIdentifier, subjectKeyIdentifier(one));
  });
});

describe('a certificate', () => {
  it('has its times in milliseconds and a fingerprint over its DER', () => {
    assert.deepEqual([startOf(certificate), endOf(certificate)], [NOW - DAY, NOW + 1095 * DAY]);
    const digest = createHash('sha256').update(certificate.raw).digest('hex');
    assert.equal(certificateFingerprint(certificate), digest);
    assert.equal(certificate.fingerprint256.replaceAll(':', '').toLowerCase(), digest);
  });

  it('belongs to its own key, private or public', () => {
    assert.equal(belongTogether(one, certificate), true);
    assert.equal(belongTogether(createPublicKey(one), certificate), true);
    assert.equal(belongTogether(other, certificate), false);
  });
});

/** With keys as texts, so that it can be compared. */
function shape({ processor, merchant, settings }: Configuration): unknown {
  const shown = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value ?? null, (name, each) => (name === 'certificate' ? String(each) : each)));
  const modulusOf = (key: KeyObject): string => key.export({ format: 'jwk' }).n ?? assert.fail('no modulus');
  const keysOf = (all: Configuration['processor'] | Configuration['merchant']) =>
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
  const processors: readonly Configuration['processor'][] = [
    undefined,
    { current: processorKey(createPublicKey(one), undefined) },
    {
      current: processorKey(certificate.publicKey, certificate),
      next: { value: processorKey(createPublicKey(other), undefined), from: NOW },
    },
  ];
  const merchants: readonly Configuration['merchant'][] = [
    undefined,
    { current: merchantKey(one, certificate) },
    { current: merchantKey(one, certificate), next: { value: merchantKey(other, otherCertificate), from: NOW + 5 } },
  ];

  it('gives back what was put into it', () => {
    for (const processor of processors) {
      for (const merchant of merchants) {
        const configuration = { processor, merchant, settings };
        const read = configurationFrom(recordOf(configuration));
        assert.deepEqual(shape(read), shape(configuration));
        assert.equal(recordOf(read), recordOf(configuration));
      }
    }
    assert.deepEqual(configurationFrom(recordOf(EMPTY)), EMPTY);
  });

  it('keeps the certificate byte for byte', () => {
    const { merchant } = configurationFrom(
      recordOf({ ...EMPTY, merchant: { current: merchantKey(one, certificate) } }),
    );
    assert.deepEqual(merchant?.current.certificate.raw, certificate.raw);
    assert.equal(merchant?.current.certificateText, certificate.raw.toString('base64'));
    assert.equal(merchant?.current.subjectKeyIdentifier, subjectKeyIdentifier(one));
  });
});
