import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, type X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import { newCertificate, newKeyPair, privatePem, publicPem } from '../../test/fixtures/rsa-key-pairs.ts';
import { InvalidKeyError } from '../crypto/rsa-keys.ts';
import { DAY, MINUTE } from '../kernel/clock.ts';
import { type MerchantFiles, type RotationTimes, rotateMerchantKey, rotateProcessorKey } from './key-rotation.ts';
import {
  active,
  expiryOf,
  type MerchantKey,
  pending,
  type RotatableValue,
  toMerchantKey,
  toProcessorKey,
} from './proxy-configuration.ts';

const NOW = Date.UTC(2026, 0, 15);
const PAIRS = { a: newKeyPair(), b: newKeyPair(), c: newKeyPair() };
type Name = keyof typeof PAIRS;
const NAMES = Object.keys(PAIRS) as Name[];

const certificatesOf = async (at: number): Promise<Record<Name, X509Certificate>> => {
  const [a, b, c] = await Promise.all([PAIRS.a, PAIRS.b, PAIRS.c].map((pair) => newCertificate(pair, at)));
  return { a, b, c } as Record<Name, X509Certificate>;
};
/** The stored keys and certificates, and the given ones. */
const [FIRST, SECOND] = [await certificatesOf(NOW), await certificatesOf(NOW)];

const keyWith = (name: Name, certificate = FIRST[name]): MerchantKey =>
  toMerchantKey(PAIRS[name].privateKey, certificate);

const STATES: Readonly<Record<string, RotatableValue<MerchantKey> | undefined>> = {
  nothing: undefined,
  'a in use': { current: keyWith('a') },
  'a in use, b waits': { current: keyWith('a'), next: { value: keyWith('b'), from: NOW + 5 * MINUTE } },
};

const filesOf = (merchantFiles: { key?: Name; certificate?: X509Certificate | undefined }): MerchantFiles => ({
  privateKey: merchantFiles.key === undefined ? undefined : Buffer.from(privatePem(PAIRS[merchantFiles.key])),
  certificate: merchantFiles.certificate && Buffer.from(merchantFiles.certificate.toString()),
  passphrase: undefined,
  name: 'acct_1',
});
const within = (minutes: number): RotationTimes => ({ now: NOW, from: NOW + minutes * MINUTE });

/** `b1`: the key b with its first certificate; `b2`: with the given one; `b*`: with a created one. */
function shown(value: MerchantKey | undefined): string {
  if (value === undefined) return '-';
  const name = NAMES.find((each) => PAIRS[each].privateKey.equals(value.key)) ?? assert.fail('an unknown key');
  assert.ok(value.certificate.publicKey.equals(PAIRS[name].publicKey));
  const which = [FIRST, SECOND].findIndex((each) => each[name].raw.equals(value.certificate.raw));
  if (which < 0) assert.equal(value.certificate.subject, 'CN=acct_1');
  return `${name}${['*', 1, 2][which + 1]}`;
}

async function refusal(act: () => unknown): Promise<string> {
  try {
    await act();
  } catch (error) {
    assert.ok(error instanceof InvalidKeyError, String(error));
    return error.message;
  }
  return assert.fail('accepted');
}

const ALONE = 'a certificate needs its private key: give both';
const ANOTHER = 'the merchant certificate belongs to another private key';
const WAITS = 'another key is pending: a certificate without a key cannot be pending beside it';

/** Active and pending values afterwards, without and with an overlap of 10 minutes; or the error. */
type Outcome = string;
const TABLE: readonly [state: string, given: string, atOnce: Outcome, withOverlap: Outcome][] = [
  ['nothing', 'key a', 'a* -', 'a* -'],
  ['nothing', 'certificate a', ALONE, ALONE],
  ['nothing', 'key and certificate a', 'a2 -', 'a2 -'],
  ['a in use', 'key a', 'a1 -', 'a1 -'],
  ['a in use', 'key c', 'c* -', 'a1 c* in 10'],
  ['a in use', 'certificate a', 'a2 -', 'a1 a2 in 10'],
  ['a in use', 'certificate c', ANOTHER, ANOTHER],
  ['a in use', 'key and certificate a', 'a2 -', 'a1 a2 in 10'],
  ['a in use', 'key and certificate c', 'c2 -', 'a1 c2 in 10'],
  ['a in use, b waits', 'key a', 'a1 -', 'a1 -'],
  ['a in use, b waits', 'key b', 'b1 -', 'a1 b1 in 10'],
  ['a in use, b waits', 'key c', 'c* -', 'a1 c* in 10'],
  ['a in use, b waits', 'certificate a', 'a2 b1 in 5', WAITS],
  ['a in use, b waits', 'certificate b', 'a1 b2 in 5', WAITS],
  ['a in use, b waits', 'certificate c', ANOTHER, WAITS],
  ['a in use, b waits', 'key and certificate a', 'a2 -', 'a1 a2 in 10'],
  ['a in use, b waits', 'key and certificate b', 'b2 -', 'a1 b2 in 10'],
  ['a in use, b waits', 'key and certificate c', 'c2 -', 'a1 c2 in 10'],
];

describe('a merchant’s key', () => {
  for (const [state, input, ...outcomes] of TABLE) {
    const name = input.at(-1) as Name;
    const files = filesOf({
      ...(input.startsWith('key') && { key: name }),
      certificate: input.includes('certificate') ? SECOND[name] : undefined,
    });
    for (const [index, overlap] of [0, 10].entries()) {
      const expected = outcomes[index] ?? '';
      it(`${state}; ${input}, overlap of ${overlap}: ${expected}`, async () => {
        const replace = () => rotateMerchantKey(STATES[state], files, within(overlap));
        if (!/^[abc][*12] /.test(expected)) return assert.equal(await refusal(replace), expected);
        const { keys, entered } = await replace();
        const next = pending(keys, NOW);
        const later = next === undefined ? '-' : `${shown(next.value)} in ${(next.from - NOW) / MINUTE}`;
        assert.equal(`${shown(active(keys, NOW))} ${later}`, expected);
        // The changes name exactly the given values, active or pending.
        assert.equal(shown(entered)[0], name);
        assert.ok([keys.current, keys.next?.value].includes(entered));
        if (files.certificate !== undefined) assert.equal(shown(entered), `${name}2`);
      });
    }
  }

  it('that was pending is active after its time, with its certificate', async () => {
    const old = STATES['a in use, b waits'];
    const times = { now: NOW + 5 * MINUTE, from: NOW + 5 * MINUTE };
    const { keys } = await rotateMerchantKey(old, filesOf({ certificate: SECOND.b }), times);
    assert.deepEqual([shown(keys.current), keys.next], ['b2', undefined]);
    assert.equal(await refusal(() => rotateMerchantKey(old, filesOf({ certificate: SECOND.a }), times)), ANOTHER);
  });

  it('given again keeps a certificate of any origin until its expiry, and then gets a created one', async () => {
    const end = expiryOf(FIRST.a);
    for (const [now, expected] of [
      [end - 1, 'a1'],
      [end, 'a*'],
      [end + DAY, 'a*'],
    ] as const) {
      const { entered } = await rotateMerchantKey(STATES['a in use'], filesOf({ key: 'a' }), { now, from: now });
      assert.equal(shown(entered), expected);
      assert.ok(expiryOf(entered.certificate) > now);
    }
  });

  it('that is encrypted needs its passphrase', async () => {
    const locked = PAIRS.a.privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' });
    const files = { ...filesOf({}), privateKey: Buffer.from(locked) };
    assert.match(await refusal(() => rotateMerchantKey(undefined, files, within(0))), /its passphrase is needed$/);
    const { entered } = await rotateMerchantKey(undefined, { ...files, passphrase: 'x' }, within(0));
    assert.equal(shown(entered), 'a*');
  });
});

/** Created by OpenSSL, with a key of P-256. */
const EC_CERTIFICATE = [
  'MIIBcTCCARegAwIBAgIUFz+GyFNP0yUUMX4xt/77fbvtAHkwCgYIKoZIzj0EAwIwDTELMAkGA1UEAwwCZWMwIBcNMjYxMTIxMjAy',
  'OTEyWhgPMjEyNjEwMjgyMDI5MTJaMA0xCzAJBgNVBAMMAmVjMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEwEQZ8M3Za7vHlHgA',
  'UJIexE/TEPwjE8J1rWGlfb6LwTWLgjnQUue0s3ixRW22S5isIZv2pXfBVyI8+Ak1TuLKQaNTMFEwHQYDVR0OBBYEFCOSFyylKSKV',
  'WSGdoHJEUulIW1r/MB8GA1UdIwQYMBaAFCOSFyylKSKVWSGdoHJEUulIW1r/MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwID',
  'SAAwRQIgAU1U0jDE5qezPayxzkY9b1MwUlNu2dPaDD3Ww2b5gtsCIQDMCKOZVW+RNy0ItXPdvWYWZQU/cOk+LxRHEH5kZqYXMQ==',
].join('');
const EC_VALID = Date.UTC(2030, 0, 1);

describe('a merchant’s key or certificate is rejected', () => {
  it('when the active certificate expires before the overlap ends', async () => {
    const end = expiryOf(FIRST.a);
    const state = STATES['a in use'];
    for (const files of [
      filesOf({ key: 'c' }),
      filesOf({ key: 'a' }),
      filesOf({ key: 'c', certificate: await newCertificate(PAIRS.c, end - DAY) }),
      filesOf({ certificate: await newCertificate(PAIRS.a, end - DAY) }),
    ]) {
      const replace = (from: number) => rotateMerchantKey(state, files, { now: end - MINUTE, from });
      const message = 'the active merchant certificate expires before the overlap ends';
      assert.equal(await refusal(() => replace(end + 1)), message);
      await replace(end);
      await replace(end - MINUTE);
    }
  });

  it('when a certificate would expire before it becomes active', async () => {
    const lasts = expiryOf(FIRST.a) - NOW;
    const short = (name: Name) => newCertificate(PAIRS[name], NOW - lasts + MINUTE);
    const message = 'the merchant certificate expires before it becomes active';
    for (const files of [
      filesOf({ key: 'c', certificate: await short('c') }),
      filesOf({ certificate: await short('a') }),
    ])
      assert.equal(await refusal(() => rotateMerchantKey(STATES['a in use'], files, within(10))), message);
    const files = filesOf({ certificate: await short('b') });
    assert.equal(await refusal(() => rotateMerchantKey(STATES['a in use, b waits'], files, within(0))), message);
  });

  it('when the certificate belongs to another key than the given one', async () => {
    for (const state of Object.values(STATES)) {
      const files = filesOf({ key: 'a', certificate: SECOND.b });
      assert.equal(await refusal(() => rotateMerchantKey(state, files, within(0))), ANOTHER);
    }
  });

  it('when the certificate has expired or is not valid yet, alone or with its key', async () => {
    const lasts = expiryOf(FIRST.a) - NOW;
    const times: readonly [madeAt: number, message: string | undefined][] = [
      [NOW - lasts - 1000, 'the merchant certificate has expired'],
      [NOW - lasts, 'the merchant certificate has expired'],
      [NOW - lasts + 1000, undefined],
      [NOW + DAY, undefined],
      [NOW + DAY + 1000, 'the merchant certificate is not valid yet'],
    ];
    for (const [madeAt, message] of times) {
      const certificate = await newCertificate(PAIRS.a, madeAt);
      for (const files of [filesOf({ certificate }), filesOf({ key: 'a', certificate })]) {
        const replace = () => rotateMerchantKey(STATES['a in use'], files, within(0));
        if (message === undefined) assert.ok((await replace()).entered.certificate.raw.equals(certificate.raw));
        else assert.equal(await refusal(replace), message);
      }
    }
  });

  it('when its key is of an elliptic curve', async () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const files = { ...filesOf({}), privateKey: Buffer.from(privatePem(pair)) };
    assert.equal(
      await refusal(() => rotateMerchantKey(undefined, files, within(0))),
      'expected an RSA key (rsaEncryption)',
    );
    const certificate = Buffer.from(EC_CERTIFICATE, 'base64');
    for (const files of [filesOf({}), filesOf({ key: 'a' })]) {
      const message = await refusal(() =>
        rotateMerchantKey(STATES['a in use'], { ...files, certificate }, { now: EC_VALID, from: EC_VALID }),
      );
      assert.match(message, /^(expected an RSA key|the merchant certificate belongs to another)/);
    }
  });

  it('when its numbers do not form a valid key', async () => {
    const numbers = PAIRS.a.privateKey.export({ format: 'jwk' });
    const foreign = PAIRS.b.privateKey.export({ format: 'jwk' });
    for (const damage of [{ d: foreign.d, dp: foreign.dp }, { n: foreign.n }, { d: foreign.d, qi: foreign.qi }]) {
      const privateKey = Buffer.from(JSON.stringify({ ...numbers, ...damage }));
      // Node accepts the key, so our own check has to find the damage.
      createPrivateKey({ key: JSON.parse(privateKey.toString()), format: 'jwk' });
      const message = await refusal(() => rotateMerchantKey(undefined, { ...filesOf({}), privateKey }, within(0)));
      assert.equal(message, 'the private key is damaged: its signature does not verify');
    }
  });

  it('when neither can be parsed', async () => {
    const files = filesOf({});
    const [text, publicKey] = [Buffer.from('text'), Buffer.from(publicPem(PAIRS.a))];
    for (const privateKey of [text, publicKey])
      assert.match(
        await refusal(() => rotateMerchantKey(undefined, { ...files, privateKey }, within(0))),
        /^expected an RSA private key/,
      );
    for (const certificate of [text, publicKey])
      assert.match(
        await refusal(() => rotateMerchantKey(STATES['a in use'], { ...files, certificate }, within(0))),
        /^expected an X.509 certificate/,
      );
  });
});

describe('a processor’s key', () => {
  const old = { current: toProcessorKey(PAIRS.a.publicKey, undefined) };
  const [key, certificate] = [Buffer.from(publicPem(PAIRS.b)), Buffer.from(FIRST.b.toString())];

  it('is given as a key, or in a certificate with which it expires', () => {
    for (const [file, expiresAt] of [
      [key, undefined],
      [certificate, expiryOf(FIRST.b)],
      [FIRST.b.raw, expiryOf(FIRST.b)],
    ] as const) {
      const { keys, entered } = rotateProcessorKey(undefined, file, within(10));
      assert.deepEqual(keys, { current: entered });
      assert.ok(entered.key.equals(PAIRS.b.publicKey));
      assert.equal(entered.expiresAt, expiresAt);
    }
  });

  it('replaces the old one immediately, or is pending', () => {
    const atOnce = rotateProcessorKey(old, key, within(0));
    assert.deepEqual(atOnce.keys, { current: atOnce.entered });
    const later = rotateProcessorKey(old, key, within(10));
    assert.deepEqual(later.keys, {
      current: old.current,
      next: { value: later.entered, from: NOW + 10 * MINUTE },
    });
    const third = rotateProcessorKey(later.keys, Buffer.from(publicPem(PAIRS.c)), within(20));
    assert.deepEqual(third.keys, {
      current: old.current,
      next: { value: third.entered, from: NOW + 20 * MINUTE },
    });
  });

  it('is rejected with a certificate that has expired or is not valid yet, and when it is private', async () => {
    const refused = (file: Uint8Array, now = NOW) => refusal(() => rotateProcessorKey(old, file, { now, from: now }));
    assert.equal(await refused(certificate, expiryOf(FIRST.b)), 'the processor certificate has expired');
    assert.equal(await refused(certificate, NOW - 2 * DAY), 'the processor certificate is not valid yet');
    assert.match(await refused(Buffer.from(privatePem(PAIRS.b))), /private key/);
    assert.match(await refused(Buffer.from('text')), /^expected an RSA public key/);
  });
});
