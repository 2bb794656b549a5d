import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from '../kernel/failure.ts';
import {
  type ConfiguredSettings,
  effectiveSettings,
  mergeSettings,
  redactedSettings,
  SETTING_NAMES,
} from './settings.ts';

const DEFAULTS = {
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
};
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  'jose.signature': ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  'jose.key-management': ['RSA-OAEP-256', 'RSA-OAEP'],
  'jose.content': ['A256GCM', 'A128GCM', 'A256CBC-HS512', 'A128CBC-HS256'],
  'jose.payload': ['nested', 'plain'],
  'wssec.order': ['encrypt-sign', 'sign-encrypt'],
  'wssec.content': ['AES-256-GCM', 'AES-256-CBC'],
  'wssec.signature': ['RSA-SHA256', 'RSA-SHA512'],
  'wssec.key-transport': ['RSA-OAEP', 'RSA-OAEP-SHA256', 'RSA-1_5'],
  'wssec.reference': ['binary-security-token', 'subject-key-identifier'],
  'wssec.password-type': ['PasswordDigest', 'PasswordText'],
  'wssec.preset': ['redeban'],
};
const LOGIN = { 'wssec.username': 'shop', 'wssec.password': 'hunter2 & <x>' };

function fault(changes: ConfiguredSettings, old: ConfiguredSettings = {}): string {
  try {
    mergeSettings(old, changes);
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.code, 'usage');
    return error.message;
  }
  return assert.fail(`accepted ${JSON.stringify(changes)}`);
}

describe('settings', () => {
  it('are listed in order', () => {
    const names = [...Object.keys(CHOICES), 'wssec.username', 'wssec.password'].sort();
    assert.deepEqual(SETTING_NAMES, names);
  });

  it('have their defaults where no value is set', () => {
    assert.deepEqual(effectiveSettings({}), DEFAULTS);
  });

  it('accept each of their values; the default is the first', () => {
    for (const [name, choices] of Object.entries(CHOICES)) {
      for (const choice of choices) {
        const merged = mergeSettings({}, { [name]: choice });
        assert.deepEqual(merged, { [name]: choice });
        assert.equal((effectiveSettings(merged) as ConfiguredSettings)[name], choice);
      }
      if (name !== 'wssec.preset') assert.equal((DEFAULTS as ConfiguredSettings)[name], choices[0]);
    }
  });

  it('accept no other value', () => {
    for (const [name, choices] of Object.entries(CHOICES)) {
      for (const choice of ['secret', ` ${choices[0]}`, choices[0]?.toLowerCase() ?? '', 'toString', '__proto__']) {
        if (choices.includes(choice)) continue;
        assert.equal(fault({ [name]: choice }), `${name}: expected one of ${choices.join(', ')}`);
      }
    }
  });

  it('accept no other name, and the error does not repeat the input', () => {
    for (const name of ['secret', 'JOSE.SIGNATURE', 'toString', '__proto__', 'constructor', '']) {
      const changes = Object.fromEntries([[name, 'hunter2']]);
      assert.equal(fault(changes), `setting 1 does not exist; there are ${SETTING_NAMES.join(', ')}`);
      assert.match(fault(Object.fromEntries([[name, '']])), /^setting 1 does not exist; /);
      assert.match(fault({ 'jose.payload': 'plain', ...changes }), /^setting 2 does not exist; /);
    }
  });
});

describe('changes', () => {
  it('merge into the configured settings', () => {
    const old = { 'jose.signature': 'PS512', 'jose.payload': 'plain' };
    const merged = mergeSettings(old, { 'jose.payload': 'nested', 'wssec.order': 'sign-encrypt' });
    assert.deepEqual(merged, { 'jose.signature': 'PS512', 'jose.payload': 'nested', 'wssec.order': 'sign-encrypt' });
    assert.deepEqual(old, { 'jose.signature': 'PS512', 'jose.payload': 'plain' });
    assert.deepEqual(mergeSettings(old, {}), old);
  });

  it('with an empty value remove a setting', () => {
    assert.deepEqual(mergeSettings({ 'jose.signature': 'PS512' }, { 'jose.signature': '', 'jose.payload': '' }), {});
    assert.deepEqual(mergeSettings(LOGIN, { 'wssec.username': '', 'wssec.password': '' }), {});
    assert.deepEqual(mergeSettings({ 'wssec.preset': 'redeban' }, { 'wssec.preset': '' }), {});
  });

  it('with one invalid setting among them change nothing', () => {
    const old = { 'jose.signature': 'PS512' };
    fault({ 'jose.signature': 'RS256', 'jose.payload': 'x' }, old);
    assert.deepEqual(old, { 'jose.signature': 'PS512' });
  });

  it('never leave a username without a password', () => {
    assert.equal(fault({ 'wssec.username': 'shop' }), 'wssec.username needs wssec.password');
    assert.equal(fault({ 'wssec.password': '' }, LOGIN), 'wssec.username needs wssec.password');
    assert.deepEqual(mergeSettings({}, LOGIN), LOGIN);
    assert.deepEqual(mergeSettings({}, { 'wssec.password': 'x' }), { 'wssec.password': 'x' });
    assert.deepEqual(mergeSettings({ 'wssec.password': 'x' }, { 'wssec.username': 'y' }), {
      'wssec.password': 'x',
      'wssec.username': 'y',
    });
  });

  it('accept texts of 1 to 255 characters that XML allows, and do not repeat them in errors', () => {
    for (const name of ['wssec.username', 'wssec.password']) {
      const set = (text: string) => ({ ...LOGIN, [name]: text });
      for (const text of ['x'.repeat(255), 'ñ 😀 <&>"\'', ' ', '\ufffd']) {
        assert.equal(mergeSettings({}, set(text))[name], text);
      }
      for (const text of ['x'.repeat(256), 'a\nb', '\t', '\u0000', '\u007f', '\u0085', '\ud800x', '\ufffe', '\uffff']) {
        assert.equal(fault(set(text)), `${name}: expected 1 to 255 characters without control characters`);
      }
    }
  });
});

describe('the preset redeban', () => {
  const REDEBAN = {
    'wssec.order': 'encrypt-sign',
    'wssec.key-transport': 'RSA-1_5',
    'wssec.content': 'AES-256-CBC',
    'wssec.signature': 'RSA-SHA512',
    'wssec.password-type': 'PasswordText',
  };

  it('sets the documented settings only', () => {
    const preset = { 'wssec.preset': 'redeban' };
    assert.deepEqual(effectiveSettings(preset), { ...DEFAULTS, ...REDEBAN, ...preset });
  });

  it('is overridden by explicit settings, also by one that equals the default', () => {
    for (const name of Object.keys(REDEBAN)) {
      const other =
        CHOICES[name]?.find((choice) => choice !== (REDEBAN as ConfiguredSettings)[name]) ?? assert.fail(name);
      const settings = { 'wssec.preset': 'redeban', [name]: other };
      assert.deepEqual(effectiveSettings(settings), { ...DEFAULTS, ...REDEBAN, ...settings });
    }
  });
});

describe('redacted settings', () => {
  it('are the effective ones, with (set) for the password', () => {
    assert.deepEqual(redactedSettings({}), DEFAULTS);
    const shown = redactedSettings({ ...LOGIN, 'jose.signature': 'PS256' });
    assert.deepEqual(shown, {
      ...DEFAULTS,
      'jose.signature': 'PS256',
      'wssec.username': 'shop',
      'wssec.password': '(set)',
    });
    assert.ok(!JSON.stringify(shown).includes('hunter2'));
  });
});
