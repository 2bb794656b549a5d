import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { effectiveSettings, mergeSettings, redactedSettings } from '../../settings.ts';
import { buildBaseUrl, CYBERSOURCE_SETTINGS } from './client.ts';

const REQUIRED = {
  'merchant-id': 'mymid',
  'key-id': '08c94330-f618-42a3-b09d-e1e43be5efda',
  'shared-secret': 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
};

describe('settings', () => {
  test('with the required values are accepted, and the secret is redacted', () => {
    assert.deepEqual(effectiveSettings(CYBERSOURCE_SETTINGS, mergeSettings(CYBERSOURCE_SETTINGS, {}, REQUIRED)), {
      ...REQUIRED,
      auth: 'jwt',
      'soft-decline': 'reverse',
    });
    assert.equal(redactedSettings(CYBERSOURCE_SETTINGS, REQUIRED)['shared-secret'], '(set)');
  });

  for (const name of Object.keys(REQUIRED)) {
    test(`without ${name} are rejected`, () => {
      const { [name as 'key-id']: _, ...rest } = REQUIRED;
      assert.throws(() => mergeSettings(CYBERSOURCE_SETTINGS, {}, rest), { code: 'usage' });
    });
  }

  test('with invalid values are rejected', () => {
    for (const [name, value] of [
      ['merchant-id', 'my mid'],
      ['merchant-id', 'mid"'],
      ['key-id', 'kid",'],
      ['shared-secret', 'not base64!'],
      ['shared-secret', 'AAAA'],
      ['shared-secret', 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY'],
      ['auth', 'basic'],
      ['soft-decline', 'ignore'],
      ['base-url', 'http://example.com'],
    ] as const)
      assert.throws(() => mergeSettings(CYBERSOURCE_SETTINGS, REQUIRED, { [name]: value }), { code: 'usage' }, name);
  });
});

test('have the host of the environment by default', () => {
  assert.equal(buildBaseUrl(undefined, 'sandbox'), 'https://apitest.cybersource.com');
  assert.equal(buildBaseUrl(undefined, 'production'), 'https://api.cybersource.com');
  assert.equal(buildBaseUrl('https://api.in.cybersource.com/', 'production'), 'https://api.in.cybersource.com');
});
