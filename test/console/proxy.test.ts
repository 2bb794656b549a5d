import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { en } from '../../console/web/src/text/en.ts';
import { es } from '../../console/web/src/text/es.ts';
import { approve, executeApproval, listApprovals, setDualControl } from '../../console/wire/approvals.ts';
import { listAudit } from '../../console/wire/audit.ts';
import { configureProxy, removeProxy, showProxy } from '../../console/wire/proxy.ts';
import { keyFingerprint } from '../../src/crypto/rsa-keys.ts';
import { HOUR, MINUTE } from '../../src/kernel/clock.ts';
import { certificateFingerprint } from '../../src/proxy/proxy-configuration.ts';
import { newCertificate, newKeyPair, privatePem, publicPem } from '../fixtures/rsa-key-pairs.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import {
  type AccountUser,
  assertRefused,
  assertUnknown,
  executedResult,
  newAccountUser,
  successData,
} from './account-user.ts';

const [PROCESSOR, MERCHANT, LATER] = [newKeyPair(), newKeyPair(), newKeyPair()];
const SECRET = 'Kx7-only-for-the-token';

interface Setting {
  readonly name: string;
  readonly value: string | null;
}

describe('the proxy in the console', { timeout: 120_000 }, () => {
  let service: TestService;

  before(async () => {
    service = await startTestService();
  });
  after(() => service.stop());

  const both = { processor_public_key: publicPem(PROCESSOR), merchant_private_key: privatePem(MERCHANT) };
  const fresh = async (): Promise<AccountUser> => newAccountUser(service, await service.newAccount());
  const configured = async (desk: AccountUser, body: object) =>
    executedResult(await desk.call(configureProxy, { body }));

  test('without a configuration there are no keys, and every setting has its default', async () => {
    const desk = await fresh();
    const { settings, ...keys } = successData(await desk.call(showProxy));
    assert.deepEqual(keys, { processor_public_keys: [], merchant_private_keys: [], merchant_certificates: [] });
    assert.equal(settings.length, 13);
    const named = (name: string) => settings.find((each: Setting) => each.name === name);
    assert.deepEqual(named('jose.payload'), {
      name: 'jose.payload',
      description: 'What is encrypted: the signed payload (nested), or the payload as it is (plain)',
      is_set: false,
      value: null,
      default_value: 'nested',
      expected: { reason: 'valueChoice', values: { words: 'nested, plain' } },
      choices: ['nested', 'plain'],
      is_secret: false,
    });
    const { description: _about, ...password } = named('wssec.password');
    assert.deepEqual(password, {
      name: 'wssec.password',
      is_set: false,
      value: null,
      default_value: null,
      expected: { reason: 'valueCharacters', values: { min: 1, max: 255 } },
      choices: [],
      is_secret: true,
    });
  });

  test('a created certificate contains the id of the account and not its name, as the form for an account says', async () => {
    const desk = await newAccountUser(service, await service.newAccount('Harbour Books'));
    await configured(desk, both);
    const [certificate] = successData(await desk.call(showProxy)).merchant_certificates;
    assert.equal(certificate.subject, `CN=${desk.account}`);
    assert.ok(!Buffer.from(certificate.pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64').includes('Harbour Books'));
    assert.match(en.operator.accounts.nameHint, / Certificates contain the id of the account\.$/);
    assert.match(es.operator.accounts.nameHint, / Los certificados contienen el id de la cuenta\.$/);
  });

  test('keys and settings are accepted, and private keys and passwords are never returned', async () => {
    const desk = await fresh();
    const settings = [
      { name: 'wssec.preset', value: 'redeban' },
      { name: 'wssec.username', value: 'shop' },
      { name: 'wssec.password', value: SECRET },
    ];
    await configured(desk, { ...both, settings });
    const response = await desk.call(showProxy);
    const shown = successData(response);
    assert.deepEqual(shown.processor_public_keys, [
      { fingerprint: keyFingerprint(PROCESSOR.publicKey), bits: 2048, from: null },
    ]);
    assert.deepEqual(shown.merchant_private_keys, [
      {
        fingerprint: keyFingerprint(MERCHANT.publicKey),
        bits: 2048,
        from: null,
        public_key: publicPem(MERCHANT),
      },
    ]);
    const [certificate, ...others] = shown.merchant_certificates;
    assert.deepEqual(others, []);
    assert.match(certificate.pem, /^-----BEGIN CERTIFICATE-----/);
    assert.match(certificate.subject, new RegExp(desk.account));
    assert.ok(Date.parse(certificate.expires_at) > service.now());
    const set = shown.settings.filter((each: { is_set: boolean }) => each.is_set);
    assert.deepEqual(
      set.map(({ name, value }: Setting) => [name, value]),
      [
        ['wssec.username', 'shop'],
        ['wssec.password', null],
        ['wssec.preset', 'redeban'],
      ],
    );
    // Values of the preset are effective where no setting overrides them.
    assert.equal(shown.settings.find(({ name }: Setting) => name === 'wssec.content').default_value, 'AES-256-CBC');
    assert.ok(!response.text.includes('PRIVATE KEY') && !response.text.includes(SECRET));
  });

  test('an absent member is unchanged, an empty value removes a setting, and a key can be pending beside the active one', async () => {
    const desk = await fresh();
    await configured(desk, { ...both, settings: [{ name: 'jose.payload', value: 'plain' }] });
    const certificate = await newCertificate(LATER, service.now());
    const after = await configured(desk, {
      merchant_private_key: privatePem(LATER),
      merchant_certificate: certificate.toString(),
      settings: [{ name: 'jose.payload' }],
      overlap_minutes: 60,
    });
    const [inUse, waiting] = after.merchant_private_keys;
    assert.deepEqual(
      [inUse.fingerprint, inUse.from, waiting.fingerprint],
      [keyFingerprint(MERCHANT.publicKey), null, keyFingerprint(LATER.publicKey)],
    );
    assert.ok(Math.abs(Date.parse(waiting.from) - service.now() - HOUR) < MINUTE);
    assert.equal(after.merchant_certificates[1].fingerprint, certificateFingerprint(certificate));
    assert.equal(after.merchant_certificates[1].from, waiting.from);
    assert.equal(after.processor_public_keys.length, 1);
    assert.equal(after.settings.find(({ name }: Setting) => name === 'jose.payload').is_set, false);
  });

  test('an invalid value is reported with its field, not repeated, and changes nothing', async () => {
    const desk = await fresh();
    await configured(desk, both);
    const before = successData(await desk.call(showProxy));
    const encrypted = MERCHANT.privateKey
      .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: SECRET })
      .toString();
    const short = newKeyPair(1024);
    const other = (await newCertificate(LATER, service.now())).toString();
    const wrong: readonly [string, object][] = [
      ['processor_public_key', { processor_public_key: SECRET }],
      ['processor_public_key', { processor_public_key: privatePem(MERCHANT) }],
      ['processor_public_key', { processor_public_key: publicPem(short) }],
      ['merchant_private_key', { merchant_private_key: SECRET }],
      ['merchant_private_key', { merchant_private_key: publicPem(MERCHANT) }],
      ['merchant_private_key', { merchant_private_key: encrypted }],
      ['merchant_private_key', { merchant_private_key: encrypted, passphrase: 'another one' }],
      ['merchant_certificate', { merchant_certificate: SECRET }],
      ['merchant_certificate', { merchant_certificate: other }],
      ['merchant_certificate', { merchant_private_key: privatePem(MERCHANT), merchant_certificate: other }],
      ['overlap_minutes', { merchant_private_key: privatePem(LATER), overlap_minutes: 43_201 }],
      ['settings', { settings: [{ name: SECRET, value: 'x' }] }],
      ['settings', { settings: [{ name: 'jose.payload', value: SECRET }] }],
      ['settings', { settings: [{ name: 'wssec.username', value: SECRET }] }],
      ['settings[1].name', { settings: [{ name: 'jose.payload' }, { name: 'jose.payload', value: SECRET }] }],
    ];
    for (const [field, body] of wrong) {
      const response = await desk.call(configureProxy, { body });
      assertRefused(response, 'invalid_field', field, SECRET);
      assert.doesNotMatch(response.text, /BEGIN/);
    }
    assertRefused(await desk.call(configureProxy, { body: {} }), 'not_possible');
    assert.deepEqual(successData(await desk.call(showProxy)), before);
    assert.ok(!service.log.some((line) => line.includes(SECRET)));
  });

  test('an encrypted key is decrypted with its passphrase', async () => {
    const desk = await fresh();
    const encrypted = MERCHANT.privateKey
      .export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: SECRET })
      .toString();
    const { merchant_private_keys: keys } = await configured(desk, {
      merchant_private_key: encrypted,
      passphrase: SECRET,
    });
    assert.equal(keys[0].fingerprint, keyFingerprint(MERCHANT.publicKey));
  });

  test('removal erases everything, is audited with the user, and is rejected without a configuration', async () => {
    const desk = await fresh();
    assertRefused(await desk.call(removeProxy), 'not_possible');
    await configured(desk, both);
    assert.deepEqual(executedResult(await desk.call(removeProxy)), { done: true });
    assert.deepEqual(successData(await desk.call(showProxy)).merchant_private_keys, []);
    const { records } = successData(await desk.call(listAudit, { body: { action: 'proxy.', actor: desk.person.id } }));
    assert.deepEqual(
      records.map(({ action }: { action: string }) => action),
      ['proxy.removed', 'proxy.configured'],
    );
  });

  test('a configuration that was changed in the database cannot be shown, and can be removed', async () => {
    const desk = await fresh();
    await configured(desk, both);
    await service.core.database.commit({
      writes: [
        { sql: 'update proxy_configurations set revision = 7 where account = ?account', rows: [[desk.account]] },
      ],
    });
    assertRefused(await desk.call(showProxy), 'not_possible');
    executedResult(await desk.call(removeProxy));
    assert.deepEqual(successData(await desk.call(showProxy)).merchant_private_keys, []);
  });

  test('changes require the second factor, and apply to the account and environment of the path', async () => {
    const desk = await fresh();
    await configured(desk, both);
    const stranger = await fresh();
    const elsewhere = { params: { account: desk.account } };
    assertUnknown(
      await stranger.call(showProxy, elsewhere),
      await stranger.call(configureProxy, { ...elsewhere, body: both }),
      await stranger.call(removeProxy, elsewhere),
    );
    const production = successData(await desk.call(showProxy, { params: { environment: 'production' } }));
    assert.deepEqual(production.merchant_private_keys, []);
    service.advance(6 * MINUTE);
    assertRefused(await desk.call(configureProxy, { body: both }), 'step_up_required');
    assertRefused(await desk.call(removeProxy), 'step_up_required');
  });

  test('in production another user has to approve, and sees fingerprints and values that are not secret', async () => {
    const account = await service.newAccount();
    const environment = 'production';
    const [owner, second] = [
      await newAccountUser(service, account, { environment }),
      await newAccountUser(service, account, { environment }),
    ];
    await owner.person.stepUp();
    executedResult(await owner.call(setDualControl, { body: { dual_control: true } }));
    const settings = [
      { name: 'jose.payload', value: 'plain' },
      { name: 'wssec.username', value: 'shop' },
      { name: 'wssec.password', value: SECRET },
    ];
    const refused = await owner.call(configureProxy, { body: { processor_public_key: SECRET } });
    assertRefused(refused, 'invalid_field', 'processor_public_key', SECRET);
    const approval = successData(await owner.call(configureProxy, { body: { ...both, settings } }));
    assert.equal(approval.result, null);
    assert.deepEqual(successData(await owner.call(showProxy)).processor_public_keys, []);
    const list = await second.call(listApprovals);
    const [waiting] = successData(list).approvals;
    assert.deepEqual(waiting.summary, [
      { name: 'processor_public_key', value: keyFingerprint(PROCESSOR.publicKey) },
      { name: 'merchant_private_key', value: keyFingerprint(MERCHANT.publicKey) },
      { name: 'jose.payload', value: 'plain' },
      { name: 'wssec.username', value: 'shop' },
      { name: 'wssec.password', value: '(secret)' },
      { name: 'overlap_minutes', value: '0' },
    ]);
    assert.ok(!list.text.includes(SECRET) && !list.text.includes('PRIVATE KEY'));
    await second.person.stepUp();
    successData(await second.call(approve, { params: { id: approval.approval } }));
    successData(await owner.call(executeApproval, { params: { id: approval.approval } }));
    const shown = successData(await owner.call(showProxy));
    assert.equal(shown.merchant_private_keys[0].fingerprint, keyFingerprint(MERCHANT.publicKey));
    // Removals are listed as well, so that the approver sees them.
    const gone = [{ name: 'wssec.username' }, { name: 'wssec.password', value: '' }];
    const removal = successData(await owner.call(configureProxy, { body: { settings: gone } }));
    const removalApproval = successData(await second.call(listApprovals)).approvals.find(
      ({ id }: { id: string }) => id === removal.approval,
    );
    assert.deepEqual(removalApproval.summary, [
      { name: 'wssec.username', value: '(removed)' },
      { name: 'wssec.password', value: '(removed)' },
      { name: 'overlap_minutes', value: '0' },
    ]);
  });
});
