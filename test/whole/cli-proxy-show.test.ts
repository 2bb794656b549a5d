import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { Search } from '../fixtures/canaries.ts';
import { type CliFixture, openCliFixture } from '../fixtures/cli-fixture.ts';
import type { CommandResult } from '../fixtures/command.ts';
import { newKeyPair, privatePem, publicPem, type RsaKeyPair } from '../fixtures/rsa-key-pairs.ts';

const PASSWORD = 'S3cret-Of-WS-Security';
const [processor, merchant, nextProcessor, nextMerchant] = [newKeyPair(), newKeyPair(), newKeyPair(), newKeyPair()];

describe('cardvault proxy show', () => {
  let desk: CliFixture;
  let account: string;
  before(async () => {
    desk = openCliFixture();
    account = await desk.newAccount();
    const password = `wssec.password=@${desk.file(PASSWORD)}`;
    await configure('--setting', password, '--setting', 'wssec.username=user');
    await configure(...publicKey(processor), ...privateKey(merchant));
  });
  after(() => desk.close());

  const publicKey = (pair: RsaKeyPair): string[] => ['--processor-public-key', desk.file(publicPem(pair))];
  const privateKey = (pair: RsaKeyPair): string[] => ['--merchant-private-key', desk.file(privatePem(pair))];
  const outputs: string[] = [];
  const proxy = async (command: string, ...more: string[]): Promise<CommandResult> => {
    const ran = await desk.proxy(command, account, ...more);
    assert.equal(ran.code, 0, ran.err);
    assert.equal(ran.err, '');
    outputs.push(ran.out);
    return ran;
  };
  const configure = (...more: string[]): Promise<CommandResult> => proxy('configure', ...more);

  test('--json has exactly this shape, also as the output of configure', async () => {
    const { json } = await proxy('show', '--json');
    assert.deepEqual(Object.keys(json), [
      'account',
      'environment',
      'processor_public_key',
      'merchant_private_key',
      'merchant_certificate',
      'settings',
    ]);
    assert.deepEqual([json.account, json.environment], [account, 'sandbox']);
    const { processor_public_key: key, merchant_private_key: own, merchant_certificate: certificate } = json;
    const ofKey = ['kid', 'fingerprint', 'bits', 'public_key'];
    assert.deepEqual(Object.keys(key), [...ofKey, 'subject_key_identifier', 'expires_at', 'next']);
    assert.deepEqual(Object.keys(own), [...ofKey, 'next']);
    assert.deepEqual(Object.keys(certificate), [
      'fingerprint',
      'subject',
      'issuer',
      'serial_number',
      'not_before',
      'expires_at',
      'self_signed',
      'pem',
      'next',
    ]);
    assert.deepEqual([key.public_key, own.public_key], [publicPem(processor), publicPem(merchant)]);
    assert.equal(certificate.subject, `CN=${account}`);
    assert.ok(new X509Certificate(certificate.pem).publicKey.equals(merchant.publicKey));
    assert.match(certificate.expires_at, /^20[0-9-]{8}T[0-9:.]{12}Z$/);
    assert.deepEqual(json.settings, {
      'jose.signature': 'RS256',
      'jose.key-management': 'RSA-OAEP-256',
      'jose.content': 'A256GCM',
      'jose.payload': 'nested',
      'wssec.order': 'encrypt-sign',
      'wssec.content': 'AES-256-GCM',
      'wssec.signature': 'RSA-SHA256',
      'wssec.key-transport': 'RSA-OAEP',
      'wssec.reference': 'binary-security-token',
      'wssec.password-type': 'PasswordDigest',
      'wssec.username': 'user',
      'wssec.password': '(set)',
    });
    const again = await configure('--setting', 'jose.payload=', '--json');
    assert.deepEqual(again.json, json);
  });

  test('the text output has fingerprints, expiries, settings and the certificate', async () => {
    const { json } = await proxy('show', '--json');
    const { out } = await proxy('show');
    for (const part of [
      json.processor_public_key.fingerprint,
      json.merchant_private_key.fingerprint,
      json.merchant_certificate.fingerprint,
      json.merchant_certificate.expires_at,
      json.merchant_certificate.pem.trimEnd(),
      'RSA 2048 bits',
    ])
      assert.ok(out.includes(part), part);
    for (const [name, value] of Object.entries(json.settings))
      assert.match(out, new RegExp(`^${name} +${String(value).replace(/[()]/g, '\\$&')}$`, 'm'));
    assert.throws(() => JSON.parse(out));
    assert.equal((await configure('--setting', 'jose.payload=')).out, out);
  });

  test('the other environment has no configuration', async () => {
    const { json } = await proxy('show', '--environment', 'production', '--json');
    assert.deepEqual(
      [json.environment, json.processor_public_key, json.merchant_private_key, json.merchant_certificate],
      ['production', null, null, null],
    );
    assert.match((await proxy('show', '--environment', 'production')).out, /processor public key +none/);
  });

  test('with an overlap both values are listed, also in text output', async () => {
    const before = (await proxy('show', '--json')).json;
    const began = Date.now();
    const { json } = await configure(
      ...publicKey(nextProcessor),
      ...privateKey(nextMerchant),
      '--overlap',
      '60',
      '--json',
    );
    for (const name of ['processor_public_key', 'merchant_private_key', 'merchant_certificate']) {
      const { next, ...current } = json[name];
      assert.deepEqual({ ...current, next: null }, before[name]);
      assert.notEqual(next.fingerprint, current.fingerprint);
      const { from, ...shown } = next;
      assert.deepEqual(Object.keys({ ...shown, next }), Object.keys(before[name]));
      assert.ok(Math.abs(Date.parse(from) - began - 3_600_000) < 10_000, from);
    }
    const { out } = await proxy('show');
    assert.ok(
      out.includes(json.processor_public_key.next.fingerprint) &&
        out.includes(`from ${json.processor_public_key.next.from}`),
    );
    assert.ok(out.includes(json.merchant_certificate.pem.trimEnd()));
    assert.ok(out.includes(json.merchant_certificate.next.pem.trimEnd()));
  });

  test('remove deletes the entire configuration, and requires one', async () => {
    await configure('--environment', 'production', ...publicKey(processor), '--json');
    const { code, err } = await desk.proxy('remove', await desk.newAccount(), '--force', '--json');
    assert.equal(code, 1);
    assert.match(JSON.parse(err).error, /there is no such configuration/);
    const unsure = await desk.proxy('remove', account, '--json');
    assert.equal(unsure.code, 2);
    assert.match(JSON.parse(unsure.err).error, /deletes the private key of the merchant permanently; .*--force/);
    assert.notEqual((await proxy('show', '--json')).json.merchant_private_key, null);
    const { json } = await proxy('remove', '--force', '--json');
    assert.deepEqual(
      [json.processor_public_key, json.merchant_private_key, json.merchant_certificate],
      [null, null, null],
    );
    assert.equal('wssec.password' in json.settings, false);
    assert.deepEqual((await proxy('show', '--json')).json, json);
    assert.notEqual((await proxy('show', '--environment', 'production', '--json')).json.processor_public_key, null);
  });

  test('no output contains a secret', () => {
    assert.ok(outputs.length >= 12);
    const keys = [processor, merchant, nextProcessor, nextMerchant].map((pair) => pair.privateKey);
    const search = new Search(['PRIVATE KEY', PASSWORD], keys);
    assert.deepEqual(search.found(Buffer.from(outputs.join('\n'))), []);
  });
});
