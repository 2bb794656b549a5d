import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPasswords, checkSettings } from './settings.ts';

test('settings that are invalid or not recognized are pointed out, without values', () => {
  const problems = ['CARDVAULT_DATADIR: there is no such setting'];
  const found = checkSettings(problems, ['CARDVAULT_DATADIR', 'CARD_VAULT_DATA_DIR', 'cardvault_host', 'PATH']);
  assert.deepEqual(
    found.map(({ state, message }) => [state, message]),
    [
      ['problem', 'CARDVAULT_DATADIR: there is no such setting'],
      ['warning', 'CARD_VAULT_DATA_DIR is ignored'],
      ['warning', 'cardvault_host is ignored'],
    ],
  );
  assert.deepEqual(
    checkSettings([], ['PATH', 'CARDVAULT_HOST']).map(({ message }) => message),
    ['set here: CARDVAULT_HOST'],
  );
  assert.deepEqual(
    checkPasswords(['CARDVAULT_SMTP_URL']).map(({ state }) => state),
    ['warning'],
  );
});
