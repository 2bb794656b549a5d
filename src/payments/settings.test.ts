import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DAY, MINUTE, SECOND } from '../kernel/clock.ts';
import { Failure } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { explain, formatReason } from '../kernel/reasons.ts';
import {
  COMMON_SETTINGS,
  effectiveSettings,
  mergeSettings,
  oneOf,
  parseDuration,
  redactedSettings,
  type SettingTable,
  text,
  url,
} from './settings.ts';

const TABLE: SettingTable = {
  ...COMMON_SETTINGS,
  'merchant-id': text(
    { en: 'Merchant', es: 'Merchant' },
    /^[a-z0-9_]{1,30}$/,
    explain('valueVisibleUpTo', { max: 30 }),
    { required: true },
  ),
  'shared-secret': text({ en: 'Secret', es: 'Secret' }, /^[A-Za-z0-9+/=]+$/, explain('valueBase64', { min: 12 }), {
    required: true,
    secret: true,
  }),
  'base-url': url({ en: 'Where it is', es: 'Where it is' }, { defaultValue: 'https://example.com' }),
};
const REQUIRED = { 'merchant-id': 'shop', 'shared-secret': 'c2VjcmV0' };

const refusal = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.code, 'usage');
    return error.message;
  }
  return assert.fail('was accepted');
};

describe('merging settings', () => {
  it('changes the named settings and keeps the others', () => {
    const merged = mergeSettings(TABLE, REQUIRED, { 'merchant-id': 'other', 'opened-expiry': '30s' });
    assert.deepEqual(merged, { ...REQUIRED, 'merchant-id': 'other', 'opened-expiry': '30s' });
    assert.deepEqual(REQUIRED, { 'merchant-id': 'shop', 'shared-secret': 'c2VjcmV0' });
    assert.deepEqual(mergeSettings(TABLE, merged, {}), merged);
  });

  it('removes a setting with an empty value, so that the default applies again', () => {
    const merged = mergeSettings(
      TABLE,
      { ...REQUIRED, 'opened-expiry': '30s' },
      { 'opened-expiry': '', 'erase-sad': '' },
    );
    assert.deepEqual(merged, REQUIRED);
    assert.equal(effectiveSettings(TABLE, merged)['opened-expiry'], '24h');
  });

  it('names every setting that is missing', () => {
    assert.equal(
      refusal(() => mergeSettings(TABLE, {}, {})),
      'missing: merchant-id, shared-secret',
    );
    assert.equal(
      refusal(() => mergeSettings(TABLE, REQUIRED, { 'merchant-id': '' })),
      'missing: merchant-id',
    );
  });

  it('rejects a name that does not exist, without repeating it', () => {
    for (const name of ['s3cr3t', 'toString', '__proto__', 'constructor', '']) {
      const changes = Object.fromEntries([
        ['erase-sad', 'true'],
        [name, 'x'],
      ]);
      const message = refusal(() => mergeSettings(TABLE, REQUIRED, changes));
      assert.match(message, /^setting 2 does not exist; there are authorization-expiry, base-url, erase-sad, /);
      assert.ok(!message.includes('s3cr3t'));
    }
  });

  it('rejects an invalid value, and states what is valid', () => {
    assert.equal(
      refusal(() => mergeSettings(TABLE, REQUIRED, { 'opened-expiry': 's3cr3t' })),
      'opened-expiry: expected 1s to 30d, as 30s, 15m, 24h or 7d',
    );
    for (const value of ['a\nb', 'a\u0000b', '\ud800', 'a'.repeat(31)])
      assert.equal(
        refusal(() => mergeSettings(TABLE, REQUIRED, { 'merchant-id': value })),
        'merchant-id: expected up to 30 visible ASCII characters',
      );
  });

  it('accepts values up to the limit, well-formed and without control characters', () => {
    const table: SettingTable = { any: text({ en: 'Any', es: 'Any' }, /./s, explain('valueVisible'), {}) };
    const longest = 'a'.repeat(LIMITS.processorSettingCharacters);
    assert.deepEqual(mergeSettings(table, {}, { any: longest }), { any: longest });
    for (const value of [`${longest}a`, 'a\nb', '\ud800', '\u007f'])
      assert.equal(
        refusal(() => mergeSettings(table, {}, { any: value })),
        'any: expected visible ASCII without blanks',
      );
  });
});

describe('effective settings', () => {
  it('are the configured values, or else the defaults of the decisions', () => {
    assert.deepEqual(effectiveSettings(COMMON_SETTINGS, {}), {
      'opened-expiry': '24h',
      'authorization-expiry': '7d',
      'erase-sad': 'true',
      'payment-scheme': '7',
      'timeout-ms': '30000',
      'recovery-delay-ms': '60000',
      'recovery-max': '1h',
    });
    assert.equal(effectiveSettings(TABLE, { ...REQUIRED, 'payment-scheme': '1' })['payment-scheme'], '1');
    assert.equal('merchant-id' in effectiveSettings(TABLE, {}), false);
  });

  it('are shown without secrets', () => {
    const shown = redactedSettings(TABLE, REQUIRED);
    assert.equal(shown['shared-secret'], '(set)');
    assert.equal(shown['merchant-id'], 'shop');
    assert.equal(shown['base-url'], 'https://example.com');
    assert.equal('shared-secret' in redactedSettings(TABLE, { 'merchant-id': 'shop' }), false);
    assert.doesNotMatch(JSON.stringify(shown), /c2VjcmV0/);
  });

  it('accept each default', () => {
    for (const [name, { defaultValue: fallback, accepts }] of Object.entries(COMMON_SETTINGS))
      assert.ok(fallback !== undefined && accepts(fallback), name);
  });
});

describe('a duration', () => {
  it('is a whole number of seconds, minutes, hours or days', () => {
    assert.equal(parseDuration('30s'), 30 * SECOND);
    assert.equal(parseDuration('15m'), 15 * MINUTE);
    assert.equal(parseDuration('24h'), DAY);
    assert.equal(parseDuration('7d'), 7 * DAY);
    for (const none of ['', 's', '7', '7w', '30 s x'])
      assert.ok(Number.isNaN(parseDuration(none)) || none === 's', none);
  });

  it('is from a second up to its maximum', () => {
    const { accepts, expected } = COMMON_SETTINGS['recovery-max'];
    for (const good of ['1s', '604800s', '10080m', '168h', '7d']) assert.equal(accepts(good), true, good);
    for (const bad of ['', '1s\n', ' 1s', '1 s', ...'0s 604801s 10081m 169h 8d 01s 1.5h -1s 1 s 1S 1e3s ١s'.split(' ')])
      assert.equal(accepts(bad), false, bad);
    assert.equal(formatReason(expected), '1s to 7d, as 30s, 15m, 24h or 7d');
  });
});

describe('other formats', () => {
  it('whole numbers are within their bounds', () => {
    const { accepts, expected } = COMMON_SETTINGS['timeout-ms'];
    for (const good of ['50', '51', '300000']) assert.equal(accepts(good), true, good);
    for (const bad of ['', ' 50', '50\n', ...'49 0 300001 050 1e3 50.0 -50 +50 0x50 99999999999'.split(' ')])
      assert.equal(accepts(bad), false, bad);
    assert.equal(formatReason(expected), 'a whole number of 50 to 300000');
    assert.equal(COMMON_SETTINGS['recovery-delay-ms'].accepts('0'), true);
  });

  it('choices are exactly those listed', () => {
    const { accepts, expected } = oneOf({ en: 'x', es: 'x' }, ['jwt', 'http-signature'], {});
    const choices = ['jwt', 'http-signature'];
    assert.deepEqual([...choices, 'JWT', 'jwt ', '', 'jwt,http-signature'].filter(accepts), choices);
    assert.equal(formatReason(expected), 'one of jwt, http-signature');
  });

  it('URLs have https, or http for this machine only', () => {
    const { accepts } = url({ en: 'x', es: 'x' }, {});
    for (const good of [
      'https://api.example.com',
      'https://api.example.com:8443/v1/',
      'http://localhost:8080',
      'http://127.0.0.1',
      'http://127.255.0.9:80/x',
      'http://[::1]:8080/',
    ])
      assert.equal(accepts(good), true, good);
    for (const bad of [
      '',
      'example.com',
      'http://example.com',
      'http://10.0.0.1',
      'http://128.0.0.1',
      'http://127.0.0.1.example.com',
      'http://localhost.example.com',
      'https://user@example.com',
      'https://:secret@example.com',
      'https://example.com/?x=1',
      'https://example.com/?',
      'https://example.com/#x',
      'https://example.com/#',
      'https://example.com ',
      ' https://example.com',
      'https://example.com/a b',
      'https://example.com\\@example.org',
      'ftp://localhost',
      'file:///etc/passwd',
      'javascript:alert(1)',
    ])
      assert.equal(accepts(bad), false, bad);
  });
});
