import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { calculateJwkThumbprint } from 'jose';
import { DAY } from '../../src/kernel/clock.ts';
import { type CliFixture, openCliFixture, resultOf } from '../fixtures/cli-fixture.ts';
import type { CommandResult } from '../fixtures/command.ts';
import { newCertificate, newKeyPair, privatePem, publicPem, type RsaKeyPair } from '../fixtures/rsa-key-pairs.ts';

const PASSPHRASE = 'passphrase of the key, é';
const PASSWORD = 'S3cret-Of-WS-Security';
const processor = newKeyPair();
const merchant = newKeyPair();

const fingerprint = ({ publicKey }: RsaKeyPair): string =>
  createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');

describe('cardvault proxy', () => {
  let desk: CliFixture;
  before(() => {
    desk = openCliFixture();
  });
  after(() => desk.close());

  const file = (content: string | Uint8Array): string => desk.file(content);
  const newAccount = (): Promise<string> => desk.newAccount();
  const proxy = (command: string, of: string, ...more: string[]): Promise<CommandResult> =>
    desk.proxy(command, of, ...more);

  describe('configure accepts', () => {
    const { publicKey, privateKey } = { publicKey: processor.publicKey, privateKey: merchant.privateKey };
    const spki = (): Buffer => publicKey.export({ type: 'spki', format: 'der' });
    const publics: Readonly<Record<string, () => string | Uint8Array | Promise<string | Uint8Array>>> = {
      PEM: () => publicPem(processor),
      'PEM of PKCS#1': () => publicKey.export({ type: 'pkcs1', format: 'pem' }) as string,
      'PEM with blanks around': () => `\r\n\n${publicPem(processor)}\n`,
      DER: spki,
      'DER of PKCS#1': () => publicKey.export({ type: 'pkcs1', format: 'der' }),
      'base64 of DER': () => spki().toString('base64'),
      'base64 of DER in lines': () =>
        spki()
          .toString('base64')
          .replace(/(.{64})/g, '$1\r\n'),
      JWK: () => JSON.stringify(publicKey.export({ format: 'jwk' })),
      'certificate as PEM': async () => (await newCertificate(processor)).toString(),
      'certificate as DER': async () => (await newCertificate(processor)).raw,
      'base64 of a certificate': async () => (await newCertificate(processor)).raw.toString('base64'),
    };
    for (const [form, content] of Object.entries(publics)) {
      test(`a processor key: ${form}`, async () => {
        const of = await newAccount();
        const shown = await resultOf(proxy('configure', of, '--processor-public-key', file(await content()), '--json'));
        const key = shown.processor_public_key;
        assert.equal(key.fingerprint, fingerprint(processor));
        assert.equal(key.bits, 2048);
        assert.equal(key.kid, await calculateJwkThumbprint(publicKey.export({ format: 'jwk' }) as object));
        const expires = Date.parse(key.expires_at);
        if (form.includes('certificate')) assert.ok(expires > Date.now() + 300 * DAY);
        else assert.equal(key.expires_at, null);
        assert.equal(key.next, null);
        assert.deepEqual([shown.merchant_private_key, shown.merchant_certificate], [null, null]);
      });
    }

    const encrypted = { cipher: 'aes-256-cbc', passphrase: PASSPHRASE };
    const privates: Readonly<Record<string, () => string | Uint8Array>> = {
      'PEM of PKCS#8': () => privatePem(merchant),
      'PEM of PKCS#1': () => privateKey.export({ type: 'pkcs1', format: 'pem' }) as string,
      'encrypted PEM of PKCS#8': () => privateKey.export({ type: 'pkcs8', format: 'pem', ...encrypted }) as string,
      'encrypted PEM of PKCS#1': () => privateKey.export({ type: 'pkcs1', format: 'pem', ...encrypted }) as string,
      'encrypted DER of PKCS#8': () => privateKey.export({ type: 'pkcs8', format: 'der', ...encrypted }) as Buffer,
      'DER of PKCS#8': () => privateKey.export({ type: 'pkcs8', format: 'der' }),
      'DER of PKCS#1': () => privateKey.export({ type: 'pkcs1', format: 'der' }),
      'base64 of DER': () => privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
      JWK: () => JSON.stringify(privateKey.export({ format: 'jwk' })),
    };
    for (const [form, content] of Object.entries(privates)) {
      test(`a merchant key: ${form}`, async () => {
        const secret = form.startsWith('encrypted') ? ['--passphrase-file', file(`${PASSPHRASE}\n`)] : [];
        const of = await newAccount();
        const shown = await resultOf(
          proxy('configure', of, '--merchant-private-key', file(content()), ...secret, '--json'),
        );
        assert.equal(shown.merchant_private_key.fingerprint, fingerprint(merchant));
        const own = new X509Certificate(shown.merchant_certificate.pem);
        assert.ok(own.publicKey.equals(merchant.publicKey) && own.verify(own.publicKey));
        assert.equal(shown.processor_public_key, null);
      });
    }

    test('without a certificate one is created, and shown as self-signed', async () => {
      const of = await newAccount();
      const key = file(privatePem(merchant));
      const { merchant_certificate: shown } = await resultOf(
        proxy('configure', of, '--merchant-private-key', key, '--json'),
      );
      assert.deepEqual([shown.subject, shown.issuer], [`CN=${of}`, `CN=${of}`]);
      assert.equal(shown.self_signed, true);
    });

    test('a certificate with its key, and later without it', async () => {
      const of = await newAccount();
      const key = file(privatePem(merchant));
      const first = await newCertificate(merchant);
      const shown = await resultOf(
        proxy(
          'configure',
          of,
          '--merchant-private-key',
          key,
          '--merchant-certificate',
          file(first.toString()),
          '--json',
        ),
      );
      assert.equal(shown.merchant_certificate.pem, first.toString());
      assert.equal(shown.merchant_certificate.fingerprint, createHash('sha256').update(first.raw).digest('hex'));
      assert.equal(shown.merchant_certificate.subject, 'CN=A Merchant');
      assert.equal(shown.merchant_certificate.serial_number, first.serialNumber);
      const same = await resultOf(proxy('configure', of, '--merchant-private-key', key, '--json'));
      assert.deepEqual(same, shown, 'the same key keeps its certificate');
      const second = await newCertificate(merchant);
      const again = await resultOf(proxy('configure', of, '--merchant-certificate', file(second.raw), '--json'));
      assert.equal(again.merchant_certificate.pem, second.toString());
      assert.deepEqual(again.merchant_private_key, shown.merchant_private_key);
    });

    test('settings, which are merged, and removed by an empty value', async () => {
      const of = await newAccount();
      const set = (...settings: string[]): Promise<CommandResult['json']> =>
        resultOf(proxy('configure', of, ...settings.flatMap((each) => ['--setting', each]), '--json'));
      const { settings: first } = await set(
        'jose.signature=PS512',
        'wssec.username=u=v',
        `wssec.password=@${file(`${PASSWORD}\n`)}`,
      );
      assert.equal(first['jose.signature'], 'PS512');
      assert.equal(first['jose.content'], 'A256GCM', 'defaults are shown');
      assert.equal(first['wssec.username'], 'u=v');
      assert.equal(first['wssec.password'], '(set)');
      const { settings: second } = await set('wssec.preset=redeban', 'jose.signature=');
      assert.deepEqual(
        [
          'jose.signature',
          'wssec.key-transport',
          'wssec.content',
          'wssec.signature',
          'wssec.password-type',
          'wssec.order',
        ].map((name) => second[name]),
        ['RS256', 'RSA-1_5', 'AES-256-CBC', 'RSA-SHA512', 'PasswordText', 'encrypt-sign'],
      );
      const { settings: third } = await set('wssec.content=AES-256-GCM');
      assert.equal(third['wssec.content'], 'AES-256-GCM', 'what is set stands above the preset');
      const { settings: last } = await set('wssec.username=', 'wssec.password=', 'wssec.preset=', 'wssec.content=');
      assert.equal('wssec.password' in last || 'wssec.username' in last, false);
      assert.equal(last['wssec.key-transport'], 'RSA-OAEP');
    });
  });
});
