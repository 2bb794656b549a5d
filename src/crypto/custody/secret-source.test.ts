import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { LIMITS } from '../../kernel/limits.ts';
import { CustodyError } from '../custody.ts';
import { readSecret, type SecretSource } from './secret-source.ts';

const folder = mkdtempSync(join(tmpdir(), 'cardvault-secret-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const write = (name: string, text: string, mode = 0o600): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
};
const source = (more: Partial<SecretSource> = {}): SecretSource => ({
  what: 'the passphrase of the root key',
  setting: 'CARDVAULT_ROOT_KEY_PASSPHRASE_FILE',
  file: undefined,
  credentialsFolder: undefined,
  credential: 'cardvault-root-key-passphrase',
  ...more,
});
const read = async (more: Partial<SecretSource>, ask?: () => Promise<string>): Promise<string> =>
  (await readSecret(source(more), ask)).toString();

describe('the source of a secret', () => {
  test('is the file, then the credential of systemd, then the terminal', async () => {
    const file = write('passphrase', 'from the file\r\n\n');
    const credential = write('cardvault-root-key-passphrase', 'from systemd\n');
    const ask = async () => 'from the terminal';
    assert.equal(await read({ file, credentialsFolder: folder }, ask), 'from the file');
    assert.equal(await read({ credentialsFolder: folder }, ask), 'from systemd');
    rmSync(credential);
    assert.equal(await read({ credentialsFolder: folder }, ask), 'from the terminal');
    await assert.rejects(read({ credentialsFolder: folder }), /CARDVAULT_ROOT_KEY_PASSPHRASE_FILE.*systemd credential/);
  });

  test('is refused when others can read it, or when it is missing, empty or too long', async () => {
    for (const [file, message] of [
      [write('open', 'secret words', 0o640), /can be read by others.*chmod 600/],
      [join(folder, 'missing'), /cannot be read \(ENOENT\)/],
      [write('empty', '\n'), /is empty/],
      [write('long', 'x'.repeat(LIMITS.custodySecretBytes + 1)), /more than 1024 bytes/],
    ] as const)
      await assert.rejects(read({ file }), (error) => {
        assert.ok(error instanceof CustodyError);
        assert.match(error.message, message);
        return !error.message.includes('secret words');
      });
  });
});
