import assert from 'node:assert/strict';
import { constants, generateKeyPairSync, type KeyObject, privateDecrypt } from 'node:crypto';
import { describe, it } from 'node:test';
import { countTurns } from '../../test/fixtures/count-turns.ts';
import { locatePlaceholders as marksIn, withValues } from '../../test/fixtures/placeholder-fixtures.ts';
import { newKeyPair } from '../../test/fixtures/rsa-key-pairs.ts';
import type { EncryptionPadding } from '../crypto/rsa.ts';
import { Failure } from '../kernel/failure.ts';
import { encryptValues, isEncrypted, parseEncryption, type ValueEncryption } from './encryption.ts';
import type { LocatedPlaceholder } from './located-placeholder.ts';

const PAIRS = [2048, 3072, 4096].map((bits) => ({ bits, ...newKeyPair(bits) }));
const [{ publicKey, privateKey }] = PAIRS as [(typeof PAIRS)[0]];
const PEM = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const DER = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
const PKCS1 = publicKey.export({ type: 'pkcs1', format: 'der' }).toString('base64');

const PLAIN = '{{a:detokenize}}';
const MARKED = '{{a:detokenize|encrypt}}';

const marksOf = (text: string): LocatedPlaceholder[] => marksIn(text, '/pan');

function toFailure(error: unknown): Failure {
  assert.ok(error instanceof Failure, String(error));
  return error;
}

function failure(act: () => unknown): Failure {
  try {
    act();
  } catch (error) {
    return toFailure(error);
  }
  return assert.fail('nothing was thrown');
}

const rejection = (act: () => Promise<unknown>): Promise<Failure> =>
  act().then(() => assert.fail('nothing was thrown'), toFailure);

const refusal = (header: unknown): Failure =>
  failure(() => parseEncryption(typeof header === 'string' ? header : JSON.stringify(header)));

const decrypted = (padding: EncryptionPadding, key: KeyObject, base64: string): string => {
  const bytes = Buffer.from(base64, 'base64');
  assert.equal(bytes.toString('base64'), base64);
  if (padding === 'pkcs1') return privateDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, bytes).toString();
  const oaepHash = padding === 'oaep-sha1' ? 'sha1' : 'sha256';
  return privateDecrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash }, bytes).toString();
};

describe('the header ft-encryption', () => {
  it('that is absent, empty or null selects OAEP with SHA-256, for marked values, with the key of the account', () => {
    const defaults = { key: undefined, padding: 'oaep-sha256', isPartial: true };
    assert.deepEqual(parseEncryption(undefined), defaults);
    assert.deepEqual(parseEncryption('{}'), defaults);
    assert.deepEqual(parseEncryption('{"key":null,"type":null,"is_partial":null}'), defaults);
    assert.deepEqual(parseEncryption(' { } '), defaults);
  });

  it('selects each padding', () => {
    assert.equal(parseEncryption('{"type":"RSA"}').padding, 'oaep-sha256');
    assert.equal(parseEncryption('{"type":"RSA-OAEP"}').padding, 'oaep-sha1');
    assert.equal(parseEncryption('{"type":"RSA-PKCS1"}').padding, 'pkcs1');
  });

  it('selects encryption of marked values or of all values', () => {
    assert.equal(parseEncryption('{"is_partial":true}').isPartial, true);
    assert.equal(parseEncryption('{"is_partial":false}').isPartial, false);
  });

  it('may contain a key as PEM or as base64 of DER', () => {
    for (const key of [PEM, PEM.replaceAll('\n', '\r\n'), `\n${PEM}`, DER, PKCS1, DER.replace(/(.{64})/g, '$1\n')]) {
      assert.ok(parseEncryption(JSON.stringify({ key })).key?.equals(publicKey), key);
    }
  });

  it('that is not a JSON object is rejected', () => {
    for (const header of ['', 'RSA', '[]', '"RSA"', 'null', '1', '{"type":"RSA"', '{"type":"RSA","type":"RSA"}', DER]) {
      const { code, field, message } = refusal(header);
      assert.deepEqual([code, field], ['invalid_field', 'ft-encryption'], header);
      assert.equal(message, 'ft-encryption: expected a JSON object');
    }
  });

  it('with another member is rejected, without its name', () => {
    for (const header of [{ Key: PEM }, { other: null }, { type: 'RSA', isPartial: false }, '{"__proto__":1}']) {
      const { code, field, message } = refusal(header);
      assert.deepEqual([code, field], ['invalid_field', 'ft-encryption']);
      assert.equal(message, 'ft-encryption: expected no other members than key, type, is_partial');
    }
  });

  it('with another type or is_partial is rejected, by field', () => {
    for (const type of ['rsa', 'RSA ', 'RSA-OAEP-256', '', 1, true, [], ['RSA'], {}]) {
      const { code, field, message } = refusal({ type });
      assert.deepEqual([code, field], ['invalid_field', 'ft-encryption.type'], String(type));
      assert.equal(message, 'ft-encryption.type: expected RSA, RSA-OAEP or RSA-PKCS1');
    }
    for (const isPartial of ['true', 0, 1, '', [], {}]) {
      const { code, field, message } = refusal({ is_partial: isPartial });
      assert.deepEqual([code, field], ['invalid_field', 'ft-encryption.is_partial'], String(isPartial));
      assert.equal(message, 'ft-encryption.is_partial: expected true or false');
    }
  });

  it('without a public RSA key of at least 2048 bits is rejected, by field, without the key', () => {
    const short = newKeyPair(1024).publicKey;
    const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey;
    const keys = [
      ...[1, true, [], {}, '', 'x', 'AAAA', PEM.slice(40), DER.slice(0, -8), 'A'.repeat(70_000)],
      short.export({ type: 'spki', format: 'pem' }),
      curve.export({ type: 'spki', format: 'der' }).toString('base64'),
      privateKey.export({ type: 'pkcs8', format: 'pem' }),
      privateKey.export({ type: 'pkcs1', format: 'pem' }),
    ];
    for (const key of keys) {
      const { code, field, message, cause } = refusal({ key });
      assert.deepEqual([code, field, cause], ['invalid_field', 'ft-encryption.key', undefined], String(key));
      const expectation = 'expected an RSA public key of 2048 bits or more, PEM or base64 of DER';
      assert.equal(message, `ft-encryption.key: ${expectation}`);
    }
  });
});

describe('a value', () => {
  const all = { key: undefined, padding: 'oaep-sha256', isPartial: false } as const;
  const marked = { ...all, isPartial: true };

  async function encrypted(
    marks: LocatedPlaceholder[],
    values: string[],
    encryption: ValueEncryption,
    key = publicKey,
  ): Promise<string[]> {
    const result = await encryptValues(withValues(marks, values), encryption, key);
    assert.deepEqual(
      result.map(({ located: mark }) => mark),
      marks,
    );
    return result.map(({ value }) => value);
  }

  it('is encrypted when it is marked, or when all are', () => {
    const [plain, encrypted] = marksOf(PLAIN + MARKED) as [LocatedPlaceholder, LocatedPlaceholder];
    assert.deepEqual([isEncrypted(plain, marked), isEncrypted(encrypted, marked)], [false, true]);
    assert.deepEqual([isEncrypted(plain, all), isEncrypted(encrypted, all)], [true, true]);
  });

  it('that is not to be encrypted remains unchanged', async () => {
    const [first, second] = await encrypted(marksOf(PLAIN + MARKED), ['4111111111111111', 'b'], marked);
    assert.equal(first, '4111111111111111');
    assert.equal(decrypted('oaep-sha256', privateKey, second ?? ''), 'b');
    const every = await encrypted(marksOf(PLAIN + MARKED), ['a', 'b'], all);
    assert.deepEqual(
      every.map((value) => decrypted('oaep-sha256', privateKey, value)),
      ['a', 'b'],
    );
  });

  it('that equals another one is encrypted differently', async () => {
    const values = await encrypted(marksOf(MARKED + MARKED), ['a', 'a'], marked);
    assert.notEqual(values[0], values[1]);
  });

  for (const [padding, overhead] of [
    ['oaep-sha256', 66],
    ['oaep-sha1', 42],
    ['pkcs1', 11],
  ] as const) {
    it(`with ${padding} may have as many bytes as the key minus ${overhead}, and no more`, async () => {
      for (const { bits, publicKey, privateKey } of PAIRS) {
        const longest = 'é'.repeat((bits / 8 - overhead) >> 1) + 'x'.repeat((bits / 8 - overhead) & 1);
        const encrypt = (value: string) => encrypted(marksOf(MARKED), [value], { ...all, padding }, publicKey);
        for (const value of [longest, '4111111111111111', '']) {
          assert.equal(decrypted(padding, privateKey, (await encrypt(value))[0] ?? ''), value);
        }
        const { code, message } = await rejection(() => encrypt(`${longest}y`));
        assert.equal(code, 'invalid_placeholder');
        assert.equal(message, '/pan: placeholder 1: the value is too long for the encryption key');
      }
    });
  }

  it('that is too long is reported with the number and location of its own placeholder', async () => {
    const encrypt = () => encrypted(marksOf(MARKED + PLAIN + MARKED), ['a', 'x'.repeat(900), 'x'.repeat(900)], marked);
    assert.match((await rejection(encrypt)).message, /^\/pan: placeholder 3: /);
  });

  for (const [bits, least] of [
    [2048, 1],
    [4096, 8],
  ] as const)
    it(`gives other requests ${least} turns or more among a hundred values and a key of ${bits} bits`, async () => {
      const key = PAIRS.find((pair) => pair.bits === bits)?.publicKey;
      const values = Array<string>(100).fill('4111111111111111');
      const { turns } = await countTurns(() => encrypted(marksOf(MARKED.repeat(100)), values, all, key));
      assert.ok(turns >= least, `${turns} turns`);
    });
});
