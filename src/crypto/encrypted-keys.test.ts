import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createCipheriv, createHash, pbkdf2Sync, scryptSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { base64, keyError, pem } from '../../test/fixtures/key-encodings.ts';
import { newKeyPair } from '../../test/fixtures/rsa-key-pairs.ts';
import { inScope } from '../../test/scope.ts';
import { LIMITS } from '../kernel/limits.ts';
import { hasAcceptableKdfCost } from './encrypted-keys.ts';
import { InvalidKeyError, parsePrivateKey } from './rsa-keys.ts';

/**
 * The keys that are rejected for their KDF cost would be read without the check, wherever such a key can be created
 * here. A missing check therefore shows as a key that was read, and not as a slow test.
 */
const { privateKey } = newKeyPair();
const PKCS8 = privateKey.export({ type: 'pkcs8', format: 'der' });
const PKCS1 = privateKey.export({ type: 'pkcs1', format: 'der' });
const PASSPHRASE = 'correct horse';
const REFUSED = 'the private key cannot be read, the passphrase is incorrect, or the key takes too much work to open';
const MOST = LIMITS.keyIterations;

const SALT = Buffer.alloc(16, 0x5a);
const IV = Buffer.alloc(16, 0x3c);

/** DER. */
const der = (tag: number, ...contents: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(contents);
  const size = content.length;
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
};
const sequence = (...contents: readonly Buffer[]): Buffer => der(0x30, ...contents);
const octets = (content: Buffer): Buffer => der(0x04, content);
const identifier = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const integer = (value: number): Buffer => {
  const hex = value.toString(16);
  const even = hex.length % 2 === 0 ? hex : `0${hex}`;
  return der(0x02, Buffer.from(/^[89a-f]/.test(even) ? `00${even}` : even, 'hex'));
};
const NULL = Buffer.from([0x05, 0x00]);

const AES_256 = sequence(identifier('60864801650304012a'), octets(IV));
const digest = (end: string): Buffer => sequence(identifier(`2a864886f70d02${end}`), NULL);
const SHA_256 = digest('09');
const pbkdf2 = (iterations: number, ...others: readonly Buffer[]): Buffer =>
  sequence(identifier('2a864886f70d01050c'), sequence(octets(SALT), integer(iterations), ...others));
const scrypt = (n: number, r: number, p: number): Buffer =>
  sequence(identifier('2b06010401da47040b'), sequence(octets(SALT), ...[n, r, p].map((each) => integer(each))));
const pbes2 = (derivation: Buffer, cipher = AES_256): Buffer =>
  sequence(identifier('2a864886f70d01050d'), sequence(derivation, cipher));
const pkcs12 = (iterations: number, end = '03'): Buffer =>
  sequence(identifier(`2a864886f70d010c01${end}`), sequence(octets(SALT), integer(iterations)));

const aes = (key: Buffer, content: Buffer): Buffer => {
  const cipher = createCipheriv('aes-256-cbc', key, IV);
  return Buffer.concat([cipher.update(content), cipher.final()]);
};
const key = (iterations: number, hash = 'sha256'): Buffer => pbkdf2Sync(PASSPHRASE, SALT, iterations, 32, hash);
/** A key that opens with the passphrase. */
const locked = (iterations: number): Buffer =>
  sequence(pbes2(pbkdf2(iterations, SHA_256)), octets(aes(key(iterations), PKCS8)));
/** A key that opens with no passphrase. */
const closed = (algorithm: Buffer): Buffer => sequence(algorithm, octets(Buffer.alloc(1216, 0x77)));

const LOCKED = locked(2);
const TOO_MUCH = locked(MOST + 1);

const isRead = (bytes: Uint8Array): boolean => parsePrivateKey(bytes, PASSPHRASE).equals(privateKey);
const encrypted = (content: Buffer): string => pem('ENCRYPTED PRIVATE KEY', content);
const forms = (content: Buffer): Record<string, Buffer> => ({
  PEM: Buffer.from(encrypted(content)),
  'PEM behind text': Buffer.from(`Bag Attributes\r\n    friendlyName: x\r\n${encrypted(content)}`),
  'PEM behind another block': Buffer.from(pem('CERTIFICATE', Buffer.from('x')) + encrypted(content)),
  'PEM with a wrong label': Buffer.from(pem('PRIVATE KEY', content)),
  DER: content,
  base64: base64(content),
  'base64 in lines': Buffer.from(content.toString('base64').replace(/(.{64})/g, '$1\r\n')),
});

describe('a private key under a passphrase', () => {
  it('is decrypted as Node writes it, with each cipher', () => {
    for (const cipher of ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc', 'des-ede3-cbc']) {
      const options = { type: 'pkcs8', cipher, passphrase: PASSPHRASE } as const;
      const content = privateKey.export({ ...options, format: 'der' });
      const { 'PEM with a wrong label': wrong, ...others } = forms(content);
      for (const [form, bytes] of Object.entries(others)) assert.ok(isRead(bytes), `${cipher}, ${form}`);
      assert.equal(
        keyError(() => isRead(wrong as Buffer)),
        REFUSED,
      );
    }
  });

  it('is decrypted with each digest, with the default digest omitted, and with an explicit key length', () => {
    for (const [hash, others] of [
      ['sha1', []],
      ['sha1', [integer(32)]],
      ['sha1', [digest('07')]],
      ['sha224', [digest('08')]],
      ['sha256', [SHA_256]],
      ['sha256', [integer(32), SHA_256]],
      ['sha256', [sequence(identifier('2a864886f70d0209'))]],
      ['sha384', [digest('0a')]],
      ['sha512', [digest('0b')]],
    ] as const) {
      const content = aes(key(2048, hash), PKCS8);
      assert.ok(isRead(sequence(pbes2(pbkdf2(2048, ...others)), octets(content))), hash);
    }
  });

  it('is decrypted with the recommended number of iterations, and rejected with one more', () => {
    assert.equal(MOST, 600_000);
    assert.ok(isRead(locked(MOST)));
    for (const [form, bytes] of Object.entries(forms(TOO_MUCH)))
      assert.equal(
        keyError(() => isRead(bytes)),
        REFUSED,
        form,
      );
  });

  it('is decrypted with four times the scrypt cost of openssl, and rejected with more', () => {
    const withScrypt = (n: number, r: number, p: number): Buffer =>
      sequence(pbes2(scrypt(n, r, p)), octets(aes(scryptSync(PASSPHRASE, SALT, 32, { N: n, r, p }), PKCS8)));
    assert.equal(LIMITS.keyScryptWork, 16_384 * 8 * 4);
    for (const [n, r, p] of [
      [16_384, 8, 1],
      [16_384, 8, 4],
    ] as const)
      assert.ok(isRead(withScrypt(n, r, p)));
    for (const [n, r, p] of [
      [16_384, 8, 5],
      [4096, 1, 129],
    ] as const)
      assert.equal(
        keyError(() => isRead(withScrypt(n, r, p))),
        REFUSED,
      );
  });

  it('with an immense KDF cost is not decrypted, whatever its scheme', () => {
    const immense = 2 ** 31 - 1;
    for (const algorithm of [
      pbes2(pbkdf2(immense, SHA_256)),
      pbes2(pbkdf2(immense)),
      pbes2(scrypt(16_384, 8, immense)),
      pbes2(scrypt(16_384, immense, 8)),
      pbes2(scrypt(2 ** 30, 8, 1)),
      pkcs12(immense, '03'),
      pkcs12(immense, '04'),
      // RC2: OpenSSL runs the KDF before it reports that it does not have the cipher.
      pkcs12(immense, '05'),
    ])
      assert.equal(hasAcceptableKdfCost(closed(algorithm)), false);
  });

  it('is rejected in an unknown scheme, even if OpenSSL would decrypt it', () => {
    for (const cipher of ['camellia-256-cbc', 'aria-256-cbc', 'aes-256-ofb'])
      assert.equal(
        keyError(() => isRead(privateKey.export({ type: 'pkcs8', format: 'der', cipher, passphrase: PASSPHRASE }))),
        REFUSED,
        cipher,
      );
    const truncated = sequence(pbes2(pbkdf2(2, digest('0d'))), octets(aes(key(2, 'sha512-256'), PKCS8)));
    assert.equal(
      keyError(() => isRead(truncated)),
      REFUSED,
    );
  });
});

describe('OpenSSL receives only bytes that were checked', () => {
  const refused = (bytes: Buffer | string, what: string): void =>
    assert.equal(
      keyError(() => isRead(Buffer.from(bytes))),
      REFUSED,
      what,
    );

  it('only complete DER without trailing bytes is decrypted', () => {
    assert.ok(isRead(LOCKED));
    const content = LOCKED.subarray(4);
    const indefinite = Buffer.concat([Buffer.from([0x30, 0x80]), content, Buffer.from([0, 0])]);
    const longer = Buffer.concat([Buffer.from([0x30, 0x83, 0]), LOCKED.subarray(2)]);
    const algorithm = pbes2(pbkdf2(2, SHA_256));
    const body = octets(aes(key(2), PKCS8));
    for (const [what, bytes] of Object.entries({
      'bytes behind': Buffer.concat([LOCKED, Buffer.from([0])]),
      'another key behind': Buffer.concat([LOCKED, TOO_MUCH]),
      'an indefinite length': indefinite,
      'a length of more octets than it needs': longer,
      'an octet string in parts': sequence(algorithm, der(0x24, body)),
      'an element more': sequence(algorithm, body, NULL),
      'an element more in the scheme': sequence(sequence(algorithm.subarray(2), NULL), body),
    })) {
      refused(bytes, what);
      refused(encrypted(bytes), `${what}, PEM`);
    }
  });

  it('the first private key of several blocks is used', () => {
    assert.ok(isRead(Buffer.from(encrypted(LOCKED) + encrypted(TOO_MUCH))));
    refused(encrypted(closed(pbes2(pbkdf2(2)))) + encrypted(TOO_MUCH), 'one that does not open, one of too much work');
    refused(pem('EC PRIVATE KEY', Buffer.from('x')) + encrypted(LOCKED), 'one of another kind first');
  });

  it('legacy PEM encryption is accepted around a key only', () => {
    const secret = Buffer.from(PASSPHRASE);
    const salt = IV.subarray(0, 8);
    const md5 = (...parts: readonly Buffer[]): Buffer => createHash('md5').update(Buffer.concat(parts)).digest();
    const first = md5(secret, salt);
    const oldKey = Buffer.concat([first, md5(first, secret, salt)]);
    const headers = `Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,${IV.toString('hex').toUpperCase()}\n\n`;
    const old = (label: string, content: Buffer): string =>
      pem(label, aes(oldKey, content)).replace('\n\n', '\n').replace('-----\n', `-----\n${headers}`);
    assert.ok(isRead(Buffer.from(old('RSA PRIVATE KEY', PKCS1))));
    assert.ok(isRead(Buffer.from(old('RSA PRIVATE KEY', PKCS1).replaceAll('\n', '\r\n'))));
    // OpenSSL opens both keys in all of these but the first.
    for (const label of ['RSA PRIVATE KEY', 'ENCRYPTED PRIVATE KEY', 'PRIVATE KEY']) refused(old(label, LOCKED), label);
    refused(old('PRIVATE KEY', PKCS8), 'a label that has no old kind');
  });
});

describe('the KDF check with any bytes', () => {
  const count = fc.oneof(
    fc.integer({ min: 1, max: 2 ** 31 - 1 }),
    fc.integer({ min: MOST - 300, max: MOST + 300 }),
    fc.integer({ min: 1, max: 70_000 }),
  );

  it('counts the iterations correctly', () => {
    fc.assert(
      fc.property(count, fc.constantFrom('03', '04'), (iterations, end) => {
        const isWithin = iterations <= MOST;
        assert.equal(hasAcceptableKdfCost(closed(pbes2(pbkdf2(iterations, SHA_256)))), isWithin);
        assert.equal(hasAcceptableKdfCost(closed(pbes2(pbkdf2(iterations)))), isWithin);
        assert.equal(hasAcceptableKdfCost(closed(pkcs12(iterations, end))), isWithin);
      }),
    );
    const nothing = der(0x02, Buffer.alloc(0));
    const negative = der(0x02, Buffer.from([0xff]));
    const many = der(0x02, Buffer.from([0x01, 0, 0, 0, 1]));
    for (const wrong of [integer(0), nothing, negative, many])
      assert.equal(
        hasAcceptableKdfCost(closed(sequence(identifier('2a864886f70d010c0103'), sequence(octets(SALT), wrong)))),
        false,
      );
  });

  it('computes the cost of scrypt correctly', () => {
    const power = fc.integer({ min: 0, max: 30 }).map((exponent) => 2 ** exponent);
    const small = fc.oneof(fc.integer({ min: 1, max: 64 }), power);
    fc.assert(
      fc.property(power, small, small, (n, r, p) =>
        assert.equal(hasAcceptableKdfCost(closed(pbes2(scrypt(n, r, p)))), n * r * p <= LIMITS.keyScryptWork),
      ),
    );
  });

  it('parsing returns the key or rejects the bytes, and throws no other error', () => {
    const position = fc.nat({ max: 130 });
    const change = fc.record({ at: position, cut: fc.nat({ max: 3 }), put: fc.uint8Array({ maxLength: 3 }) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), fc.boolean(), (changes, isPem) => {
        const bytes = changes.reduce(
          (bytes, { at, cut, put }) => Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + cut)]),
          LOCKED,
        );
        try {
          parsePrivateKey(isPem ? Buffer.from(encrypted(bytes)) : bytes, PASSPHRASE);
        } catch (error) {
          assert.ok(error instanceof InvalidKeyError, String(error));
          assert.equal(error.cause, undefined);
        }
        for (const length of changes.map(({ at }) => at))
          assert.equal(hasAcceptableKdfCost(LOCKED.subarray(0, length)), false);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a private key as openssl writes it', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    writeFileSync(join(folder, 'clear.pem'), pem('PRIVATE KEY', PKCS8));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** Undefined when this machine has no openssl. */
  function written(...args: readonly string[]): Buffer | undefined {
    const common = ['-in', 'clear.pem', '-out', 'locked.pem', '-passout', `pass:${PASSPHRASE}`];
    const { error, status, stderr } = spawnSync('openssl', [...args, ...common], {
      cwd: folder,
      encoding: 'utf8',
      input: '',
    });
    if (error !== undefined) return undefined;
    assert.equal(status, 0, stderr);
    return readFileSync(join(folder, 'locked.pem'));
  }

  const oneOfEachScheme = ['', '-scrypt', '-v1 PBE-SHA1-3DES'];
  const others = ['-iter 600000', '-v2 aes-128-cbc -v2prf hmacWithSHA1', '-v2 des3', '-v1 PBE-SHA1-2DES'];
  for (const options of inScope({ usual: oneOfEachScheme, long: [...oneOfEachScheme, ...others] }))
    it(`is decrypted: pkcs8 -topk8 ${options}`, (t) => {
      const bytes = written('pkcs8', '-topk8', ...options.split(' ').filter((option) => option !== ''));
      if (bytes === undefined) return t.skip('there is no openssl on this machine');
      assert.ok(isRead(bytes));
    });

  const tooMuch = ['-scrypt -scrypt_p 5', '-iter 600001', '-v1 PBE-SHA1-3DES -iter 600001'];
  for (const options of inScope({ usual: tooMuch.slice(0, 1), long: tooMuch }))
    it(`is rejected: pkcs8 -topk8 ${options}`, (t) => {
      const bytes = written('pkcs8', '-topk8', ...options.split(' '));
      if (bytes === undefined) return t.skip('there is no openssl on this machine');
      assert.equal(
        keyError(() => isRead(bytes)),
        REFUSED,
      );
    });
});
