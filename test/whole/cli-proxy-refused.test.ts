import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DAY } from '../../src/kernel/clock.ts';
import { type CliFixture, openCliFixture, resultOf } from '../fixtures/cli-fixture.ts';
import type { CommandResult } from '../fixtures/command.ts';
import { newCertificate, newKeyPair, privatePem, publicPem, type RsaKeyPair } from '../fixtures/rsa-key-pairs.ts';

const PASSPHRASE = 'passphrase of the key, é';
const processor = newKeyPair();
const merchant = newKeyPair();
const other = newKeyPair();

describe('cardvault proxy configure rejects, without a change:', () => {
  let desk: CliFixture;
  before(() => {
    desk = openCliFixture();
  });
  after(() => desk.close());

  const file = (content: string | Uint8Array): string => desk.file(content);
  const newAccount = (): Promise<string> => desk.newAccount();
  const proxy = (command: string, of: string, ...more: string[]): Promise<CommandResult> =>
    desk.proxy(command, of, ...more);
  let of: string;
  let unchanged: string;
  const certificateFile = async (pair: RsaKeyPair, days = 0): Promise<string> =>
    file((await newCertificate(pair, Date.now() + days * DAY)).raw);
  const own = (): string[] => privateFile(merchant);
  const encryptedKey = (): string =>
    file(
      merchant.privateKey.export({
        type: 'pkcs8',
        format: 'pem',
        cipher: 'aes-256-cbc',
        passphrase: PASSPHRASE,
      }) as string,
    );
  const publicFile = (pair: RsaKeyPair): string[] => ['--processor-public-key', file(publicPem(pair))];
  const privateFile = (pair: RsaKeyPair): string[] => ['--merchant-private-key', file(privatePem(pair))];
  const show = async (): Promise<string> => (await proxy('show', of, '--json')).out;
  const setting = (text: string): string[] => ['--setting', text];

  const refusals: readonly [what: string, args: () => string[] | Promise<string[]>, error: RegExp][] = [
    ['nothing to change', () => [], /nothing to change/],
    ['an overlap alone', () => ['--overlap', '5'], /nothing to change/],
    ['a public key of 1024 bits', () => publicFile(newKeyPair(1024)), /2048 to [0-9]+ bits, this one has 1024/],
    ['a private key of 1024 bits', () => privateFile(newKeyPair(1024)), /2048 to [0-9]+ bits, this one has 1024/],
    [
      'a public key of a curve',
      () => publicFile(generateKeyPairSync('ec', { namedCurve: 'P-256' })),
      /expected an RSA key/,
    ],
    [
      'a private key of a curve',
      () => privateFile(generateKeyPairSync('ec', { namedCurve: 'P-384' })),
      /expected an RSA key/,
    ],
    ['Ed25519', () => privateFile(generateKeyPairSync('ed25519')), /expected an RSA key/],
    ['RSA-PSS', () => privateFile(generateKeyPairSync('rsa-pss', { modulusLength: 2048 })), /expected an RSA key/],
    ['a private key as public one', () => ['--processor-public-key', own()[1] ?? ''], /this is a private key/],
    [
      'a private key as public one, PKCS#8 DER',
      () => ['--processor-public-key', file(merchant.privateKey.export({ type: 'pkcs8', format: 'der' }))],
      /private key|expected an RSA public key/,
    ],
    [
      'a private key as public one, PKCS#1 DER',
      () => ['--processor-public-key', file(merchant.privateKey.export({ type: 'pkcs1', format: 'der' }))],
      /private key|expected an RSA public key/,
    ],
    [
      'a private JWK as public one',
      () => ['--processor-public-key', file(JSON.stringify(merchant.privateKey.export({ format: 'jwk' })))],
      /this is a private key/,
    ],
    [
      'a public key as private one',
      () => ['--merchant-private-key', file(publicPem(merchant))],
      /expected an RSA private key/,
    ],
    ['text', () => ['--merchant-private-key', file('SecretText')], /expected an RSA private key/],
    ['an empty file', () => ['--processor-public-key', file('')], /expected an RSA public key/],
    ['a file that is too large', () => ['--processor-public-key', file('x'.repeat(65_537))], /at most 65536 bytes/],
    ['a missing file', () => ['--processor-public-key', join(desk.files, 'nothing')], /nothing/],
    ['a directory', () => ['--merchant-private-key', desk.files], /./],
    [
      'an encrypted key without a passphrase',
      () => ['--merchant-private-key', encryptedKey()],
      /encrypted: its passphrase is needed/,
    ],
    [
      'another passphrase',
      () => ['--merchant-private-key', encryptedKey(), '--passphrase-file', file('another')],
      /passphrase is incorrect/,
    ],
    [
      'a missing passphrase file',
      () => ['--merchant-private-key', encryptedKey(), '--passphrase-file', join(desk.files, 'nothing')],
      /nothing/,
    ],
    [
      'key and certificate that do not fit',
      async () => [...own(), '--merchant-certificate', await certificateFile(other)],
      /belongs to another private key/,
    ],
    [
      'a certificate alone that does not fit',
      async () => ['--merchant-certificate', await certificateFile(other)],
      /belongs to another private key/,
    ],
    [
      'an expired certificate',
      async () => [...own(), '--merchant-certificate', await certificateFile(merchant, -2000)],
      /merchant certificate has expired/,
    ],
    [
      'a certificate of the future',
      async () => [...own(), '--merchant-certificate', await certificateFile(merchant, 10)],
      /merchant certificate is not valid yet/,
    ],
    [
      "an expired certificate of the processor's",
      async () => ['--processor-public-key', await certificateFile(merchant, -2000)],
      /processor certificate has expired/,
    ],
    ['a certificate that is none', () => ['--merchant-certificate', file('text')], /expected an X.509 certificate/],
    [
      'an unknown setting',
      () => setting('jose.secret=SecretText'),
      /setting 1 does not exist; there are jose\.content, /,
    ],
    ['a setting without =', () => setting('jose.signature'), /expected NAME=VALUE/],
    ['a setting without name', () => setting('=x'), /expected NAME=VALUE/],
    ...[
      ['jose.signature', 'HS256'],
      ['jose.signature', 'rs256'],
      ['jose.key-management', 'RSA1_5'],
      ['jose.content', 'A192GCM'],
      ['jose.payload', 'clear'],
      ['wssec.order', 'sign'],
      ['wssec.content', 'AES-128-CBC'],
      ['wssec.signature', 'RSA-SHA1'],
      ['wssec.key-transport', 'RSA'],
      ['wssec.reference', 'issuer-serial'],
      ['wssec.preset', 'other'],
      ['wssec.password-type', 'clear'],
    ].map(([name = '', value]): [string, () => string[], RegExp] => [
      `${name}=${value}`,
      () => setting(`${name}=${value}`),
      new RegExp(`^${name.replaceAll('.', '\\.')}: expected one of `),
    ]),
    ['a user without a password', () => setting('wssec.username=u'), /wssec\.username needs wssec\.password/],
    [
      'a password with a line feed',
      () => setting(`wssec.password=@${file('a\nSecretText\n')}`),
      /wssec\.password: expected 1 to 255 characters/,
    ],
    [
      'a password that is too long',
      () => setting(`wssec.password=@${file('SecretText'.repeat(30))}`),
      /wssec\.password: expected 1 to 255/,
    ],
    ['a missing password file', () => setting(`wssec.password=@${join(desk.files, 'nothing')}`), /nothing/],
    [
      'a good setting beside a bad key',
      () => [...setting('jose.payload=plain'), ...publicFile(newKeyPair(1024))],
      /1024/,
    ],
    [
      'a good key beside a bad setting',
      () => [...setting('jose.payload=clear'), ...publicFile(other)],
      /jose\.payload/,
    ],
    ['an overlap that is none', () => [...publicFile(other), '--overlap', '1h'], /expected minutes, 0 to 43200/],
    ['an overlap too long', () => [...publicFile(other), '--overlap', '43201'], /expected minutes, 0 to 43200/],
  ];
  before(async () => {
    of = await newAccount();
    await resultOf(proxy('configure', of, ...own(), ...publicFile(processor), '--json'));
    unchanged = await show();
  });
  for (const [what, args, error] of refusals) {
    test(what, async () => {
      const { code, out, err } = await proxy('configure', of, ...(await args()), '--json');
      const before = unchanged;
      unchanged = await show();
      assert.equal(unchanged, before);
      assert.ok(code === 1 || code === 2, String(code));
      assert.equal(out, '');
      const text: string = JSON.parse(err).error;
      assert.match(text, error);
      assert.ok(!text.includes('SecretText') && !text.includes(PASSPHRASE));
      assert.doesNotMatch(text, /\n +at |BEGIN/);
    });
  }

  test('an unknown account or environment, on every command', async () => {
    for (const command of ['configure', 'show', 'remove']) {
      const more = { configure: setting('jose.payload=plain'), remove: ['--force'] }[command] ?? [];
      const unknown = await proxy(command, 'acct_0000000000', ...more, '--json');
      assert.equal(unknown.code, 1);
      assert.match(JSON.parse(unknown.err).error, /there is no such account/);
      const args = ['proxy', command, '--account', of, ...more, '--json'];
      assert.match((await desk.run(...args)).err, /--environment/);
      assert.match((await desk.run(...args, '--environment', 'test')).err, /expected sandbox or production/);
    }
  });

  test('a certificate without a key', async () => {
    const { code, err } = await proxy(
      'configure',
      await newAccount(),
      '--merchant-certificate',
      await certificateFile(merchant),
      '--json',
    );
    assert.equal(code, 1);
    assert.match(JSON.parse(err).error, /needs its private key/);
  });
});
