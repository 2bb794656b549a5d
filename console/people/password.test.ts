import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Failure } from '../../src/kernel/failure.ts';
import { assertStrongPassword } from './password.ts';

const ANA = { email: 'ana.lopez@shop.example', name: 'Ana López' };

const refusal = async (password: string): Promise<string> => {
  const error = await assertStrongPassword(password, ANA).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) return '';
  assert.ok(error instanceof Failure);
  assert.equal(error.code, 'invalid_field');
  assert.equal(error.field, 'password');
  assert.equal(error.message.includes(password), false);
  return error.message;
};

describe('a password', () => {
  test('has 12 to 128 characters, however many bytes they take', async () => {
    assert.match(await refusal('xK9#mQ2$vL7'), /12 to 128/);
    assert.equal(await refusal('xK9#mQ2$vL7!'), '');
    assert.match(await refusal('🂡🂢🂣🂤🂥🂦🂧🂨🂩🂪🂫'), /12 to 128/);
    const long = Array.from({ length: 128 }, (_, index) => String.fromCodePoint(0x4e00 + ((index * 7919) % 9000)));
    assert.equal(await refusal(long.join('')), '');
    assert.match(await refusal(`${long.join('')}x`), /12 to 128/);
  });

  test('is not a common one', async () => {
    for (const known of [
      'password1234',
      'qwertyuiop12',
      '123456789012',
      'aaaaaaaaaaaa',
      'letmeinletmein',
      'P@ssw0rd1234',
    ])
      assert.match(await refusal(known), /too easy to guess/, known);
  });

  test('does not consist of names of the user or the service', async () => {
    for (const own of ['ana.lopez@shop.example', 'analopez2026', 'cardvault2026!', 'Cardvault1234'])
      assert.match(await refusal(own), /too easy to guess/, own);
  });

  test('is rated by its beginning, because a long one would delay the service', async () => {
    const good = 'wide river 71 stones';
    assert.equal(await refusal(`${good}${'a'.repeat(100)}`), '');
    assert.match(await refusal(`${'a'.repeat(100)}${good}`), /too easy to guess/);
  });

  test('may consist of dictionary words, without special characters', async () => {
    assert.equal(await refusal('wide river 71 stones'), '');
    assert.equal(await refusal('correct horse battery staple'), '');
  });
});
