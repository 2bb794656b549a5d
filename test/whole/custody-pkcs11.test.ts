import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createSecretKey } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { keyCheckValue } from '../../src/crypto/custody.ts';
import { runWithSettings } from '../fixtures/command.ts';
import { databaseSettings, dropDatabase } from '../fixtures/database.ts';
import { installLibrary } from '../fixtures/installed-library.ts';
import { newDirectory, removeDirectory } from '../fixtures/service-process.ts';
import { onlyLong } from '../scope.ts';

const MODULES = ['/usr/lib/softhsm/libsofthsm2.so', '/usr/lib/x86_64-linux-gnu/softhsm/libsofthsm2.so'];
const PIN = '73519468';

/** Returns the module of SoftHSM2, which is installed from Debian where the test may do that. */
function findModule(): string | undefined {
  const find = (): string | undefined => MODULES.find((path) => existsSync(path));
  if (find() === undefined && process.geteuid?.() === 0)
    spawnSync('apt-get', ['install', '-y', '--no-install-recommends', 'softhsm2'], { timeout: 240_000 });
  return find();
}

describe('custody in a PKCS#11 token', { skip: onlyLong, timeout: 600_000 }, () => {
  let directory: string;
  let libraries: string | undefined;
  let missing: string | undefined;
  let module: string | undefined;

  before(() => {
    directory = newDirectory();
    module = findModule();
    if (module === undefined) {
      missing = 'SoftHSM2 is not installed, and cannot be installed here';
      return;
    }
    const installed = installLibrary('pkcs11js');
    if ('reason' in installed) {
      missing = installed.reason;
      return;
    }
    libraries = installed.folder;
    const tokens = join(directory, 'tokens');
    mkdirSync(tokens);
    const configuration = join(directory, 'softhsm2.conf');
    writeFileSync(configuration, `directories.tokendir = ${tokens}\nobjectstore.backend = file\n`);
    process.env['SOFTHSM2_CONF'] = configuration;
    const token = ['--init-token', '--free', '--label', 'card vault', '--so-pin', '12345678', '--pin', PIN];
    assert.equal(spawnSync('softhsm2-util', token).status, 0);
  });
  after(async () => {
    removeDirectory(directory);
    if (libraries !== undefined) rmSync(libraries, { recursive: true, force: true });
    await dropDatabase(directory);
  });

  test('opens a vault whose root key was moved there, with the PIN alone', async (t) => {
    if (missing !== undefined) return t.skip(missing);
    const pin = join(directory, 'pin');
    writeFileSync(pin, `${PIN}\n`, { mode: 0o600 });
    const settings = {
      CARDVAULT_DATA_DIR: directory,
      CARDVAULT_LIBRARIES: libraries ?? '',
      ...(await databaseSettings(directory)),
    };
    const run = (more: Record<string, string>, ...args: string[]) => runWithSettings({ ...settings, ...more }, ...args);
    assert.equal((await run({}, 'migrate')).code, 0);
    const root = readFileSync(join(directory, 'root.key'), 'utf8').trim();
    const uri = `pkcs11:${module}?token=card%20vault&object=cardvault`;
    const move = ['keyring', 'custody', 'move', '--to', uri, '--file', 'root.sealed', '--secret-file', pin, '--json'];
    const moved = await run({}, ...move);
    assert.equal(moved.code, 0, moved.err);
    assert.equal(moved.json.key_check_value, keyCheckValue(createSecretKey(root, 'hex')));
    const custody = { CARDVAULT_ROOT_KEY: uri, CARDVAULT_ROOT_KEY_PASSPHRASE_FILE: pin };
    const listed = await run(custody, 'account', 'list');
    assert.equal(listed.code, 0, listed.err);

    const wrongPin = join(directory, 'wrong-pin');
    writeFileSync(wrongPin, '00000000\n', { mode: 0o600 });
    const wrong = await run({ ...custody, CARDVAULT_ROOT_KEY_PASSPHRASE_FILE: wrongPin }, 'account', 'list');
    assert.match(wrong.err, /CKR_PIN_INCORRECT/);
    const other = await run({ ...custody, CARDVAULT_ROOT_KEY: uri.replace('=cardvault', '=other') }, 'account', 'list');
    assert.match(other.err, /no AES key with the label other/);
    const file = join(directory, 'root.sealed');
    const text = readFileSync(file, 'utf8');
    assert.ok(!text.includes(root));
    writeFileSync(file, text.replace(moved.json.key_check_value, '00000000'), { mode: 0o600 });
    assert.match((await run(custody, 'account', 'list')).err, /did not open the root key/);
  });
});
