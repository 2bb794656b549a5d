import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { newKeyPair } from '../../test/fixtures/rsa-key-pairs.ts';
import { createSelfSigned } from './certificate.ts';
import { InvalidKeyError, parseCertificate, parsePrivateKey, parsePublicKey } from './rsa-keys.ts';

/** Key files as tools write them and as attackers change them. */
const { publicKey, privateKey } = newKeyPair();
const SPKI = publicKey.export({ type: 'spki', format: 'der' });
const PKCS1 = publicKey.export({ type: 'pkcs1', format: 'der' });
const PKCS8 = privateKey.export({ type: 'pkcs8', format: 'der' });
const PRIVATE_PKCS1 = privateKey.export({ type: 'pkcs1', format: 'der' });
const CERTIFICATE = Buffer.from(await createSelfSigned(privateKey, 'test', Date.UTC(2026, 0, 15)));

const LOCKED = 'Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00112233445566778899AABBCCDDEEFF\n\n';
const pem = (label: string, der: Buffer, headers = ''): string =>
  `-----BEGIN ${label}-----\n${headers}${der.toString('base64').replace(/(.{64})/g, '$1\n')}\n-----END ${label}-----\n`;
const ATTRIBUTES = 'Bag Attributes\n    friendlyName: a key\n    localKeyID: 54 69 6D 65\nsubject=CN = x\n\n';
const UNKNOWN = pem('PARAMETERS', Buffer.from('unknown'));

const NO_PUBLIC_KEY = 'expected an RSA public key: PEM, DER, JWK or certificate';
const NO_CERTIFICATE = 'expected an X.509 certificate: PEM or DER';
const PATIENCE_MS = 10_000;

function fault(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof InvalidKeyError, String(error));
    return error.message;
  }
  return assert.fail('accepted');
}

describe('PEM with headers of legacy encryption', () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const SCRIPT = `
    import { readFileSync } from 'node:fs';
    import * as keys from ${JSON.stringify(new URL('./rsa-keys.ts', import.meta.url).href)};
    try {
      keys[process.argv[1]](readFileSync(process.argv[2]), undefined);
      console.log('accepted');
    } catch (error) {
      console.log(error.name + ': ' + error.message);
    }`;

  /** Returns the output of a process that OpenSSL could ask for a passphrase: its input is open and stays empty. */
  function outputOf(reader: string, text: string): Promise<string> {
    const file = join(folder, `${reader}.pem`);
    writeFileSync(file, text);
    return new Promise((resolve, reject) => {
      const args = ['--input-type=module', '--eval', SCRIPT, reader, file];
      // In a new session the process has no terminal, and OpenSSL asks on the standard input.
      const child = spawn(process.execPath, args, { detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
      let output = '';
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (chunk: string) => {
          output += chunk;
        });
      const cut = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
      child.on('error', reject);
      child.on('close', (code) => {
        clearTimeout(cut);
        child.stdin.destroy();
        resolve(code === 0 ? output : `it did not end by itself: ${output}`);
      });
    });
  }

  const locked: readonly [reader: string, what: string, text: string, message: string][] = [
    ['parsePublicKey', 'PUBLIC KEY', pem('PUBLIC KEY', SPKI, LOCKED), NO_PUBLIC_KEY],
    ['parsePublicKey', 'RSA PUBLIC KEY', pem('RSA PUBLIC KEY', PKCS1, LOCKED), NO_PUBLIC_KEY],
    ['parsePublicKey', 'text and PUBLIC KEY', ATTRIBUTES + pem('PUBLIC KEY', SPKI, LOCKED), NO_PUBLIC_KEY],
    ['parsePublicKey', 'CERTIFICATE', pem('CERTIFICATE', CERTIFICATE, LOCKED), NO_PUBLIC_KEY],
    ['parsePublicKey', 'another block', UNKNOWN + pem('PUBLIC KEY', SPKI, LOCKED), NO_PUBLIC_KEY],
    ['parseCertificate', 'CERTIFICATE', pem('CERTIFICATE', CERTIFICATE, LOCKED), NO_CERTIFICATE],
    [
      'parsePrivateKey',
      'RSA PRIVATE KEY, written unusually',
      pem('RSA PRIVATE KEY', PRIVATE_PKCS1, LOCKED.replace('4,', '4 ,')),
      'expected an RSA private key: PEM, DER or JWK',
    ],
  ];
  for (const [reader, what, text, message] of locked) {
    it(`is rejected by ${reader} without a prompt: ${what}`, async () => {
      assert.equal(await outputOf(reader, text), `InvalidKeyError: ${message}\n`);
    });
  }

  it('is read in such a process without these headers', async () => {
    assert.equal(await outputOf('parsePublicKey', pem('PUBLIC KEY', SPKI)), 'accepted\n');
  });
});

describe('PEM of several blocks', () => {
  it('is no public key when it contains a private one', () => {
    for (const [label, der] of [
      ['PRIVATE KEY', PKCS8],
      ['RSA PRIVATE KEY', PRIVATE_PKCS1],
    ] as const) {
      for (const first of [UNKNOWN, `${ATTRIBUTES}${UNKNOWN}`, pem('DH PARAMETERS', Buffer.from('x'))])
        assert.equal(
          fault(() => parsePublicKey(Buffer.from(first + pem(label, der)))),
          NO_PUBLIC_KEY,
        );
      assert.equal(
        fault(() => parsePublicKey(Buffer.from(ATTRIBUTES + pem(label, der)))),
        'this is a private key; expected a public one',
      );
    }
  });
});

describe('text before PEM', () => {
  it('is skipped', () => {
    for (const before of [
      ATTRIBUTES,
      ATTRIBUTES.replaceAll('\n', '\r\n'),
      '\n\n',
      'Key Attributes: <No Attributes>\n',
    ]) {
      for (const [label, der] of [
        ['PRIVATE KEY', PKCS8],
        ['RSA PRIVATE KEY', PRIVATE_PKCS1],
      ] as const)
        assert.ok(parsePrivateKey(Buffer.from(before + pem(label, der)), undefined).equals(privateKey));
      const certificate = Buffer.from(before + pem('CERTIFICATE', CERTIFICATE));
      assert.ok(parseCertificate(certificate).raw.equals(CERTIFICATE));
      assert.ok(parsePublicKey(certificate).equals(publicKey));
      for (const [label, der] of [
        ['PUBLIC KEY', SPKI],
        ['RSA PUBLIC KEY', PKCS1],
      ] as const)
        assert.ok(parsePublicKey(Buffer.from(before + pem(label, der))).equals(publicKey));
    }
  });

  it('does not hide that a key is encrypted', () => {
    const encrypted = { cipher: 'aes-256-cbc', passphrase: 'correct horse' } as const;
    for (const type of ['pkcs8', 'pkcs1'] as const) {
      const bytes = Buffer.from(ATTRIBUTES + privateKey.export({ type, format: 'pem', ...encrypted }));
      assert.ok(parsePrivateKey(bytes, 'correct horse').equals(privateKey));
      assert.equal(
        fault(() => parsePrivateKey(bytes, undefined)),
        'the private key is encrypted: its passphrase is needed',
      );
    }
  });
});

describe('PKCS#12', () => {
  const HINT = 'this is PKCS#12; convert its key to PEM first: openssl pkcs12 -in FILE -nocerts -nodes';
  const rest = Buffer.alloc(300, 0x30);
  const pkcs12With = (...bytes: readonly number[]): Buffer => Buffer.concat([Buffer.from(bytes), rest]);

  it('is rejected with the command that converts it, whatever the encoding of its length', () => {
    for (const length of [[0x7f], [0x80], [0x81, 0xff], [0x82, 0x0a, 0x0a], [0x83, 0x0a, 0x0d, 0x00]]) {
      const bytes = pkcs12With(0x30, ...length, 0x02, 0x01, 0x03);
      for (const passphrase of [undefined, 'correct horse'])
        assert.equal(
          fault(() => parsePrivateKey(bytes, passphrase)),
          HINT,
        );
    }
  });

  it('is recognized in no other version or structure', () => {
    for (const bytes of [
      pkcs12With(0x30, 0x82, 1, 1, 0x02, 0x01, 0x00),
      pkcs12With(0x31, 0x82, 1, 1, 0x02, 0x01, 0x03),
    ])
      assert.equal(
        fault(() => parsePrivateKey(bytes, undefined)),
        'expected an RSA private key: PEM, DER or JWK',
      );
  });

  it('is recognized in a file that OpenSSL created', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    try {
      writeFileSync(join(folder, 'both.pem'), pem('PRIVATE KEY', PKCS8) + pem('CERTIFICATE', CERTIFICATE));
      const args = ['pkcs12', '-export', '-in', 'both.pem', '-out', 'both.p12', '-passout', 'pass:correct horse'];
      const { error, status, stderr } = spawnSync('openssl', args, { cwd: folder, encoding: 'utf8', input: '' });
      if (error !== undefined) return t.skip('there is no openssl on this machine');
      assert.equal(status, 0, stderr);
      const bytes = readFileSync(join(folder, 'both.p12'));
      assert.equal(
        fault(() => parsePrivateKey(bytes, 'correct horse')),
        HINT,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
