import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHmac, createSecretKey, randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CustodyError, deriveKey, expandKey, extractKey } from '../custody.ts';
import { createRootKey, keyFileCustody, readRootKey } from './key-file.ts';
import { previousPath, removeRemains } from './replacement.ts';

const folder = mkdtempSync(join(tmpdir(), 'cardvault-custody-'));
after(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const newPath = (): string => join(folder, String(files++), 'root.key');

/** The message for the operator. */
function refusal(path: string): string {
  try {
    readRootKey(path);
  } catch (error) {
    assert.ok(error instanceof CustodyError);
    assert.ok(error.message.includes(path));
    return error.message;
  }
  return assert.fail('the file was accepted');
}

describe('createRootKey', () => {
  it('creates 256 random bits that only the owner can read', () => {
    const [path, other] = [newPath(), newPath()];
    createRootKey(path);
    createRootKey(other);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700);
    const text = readFileSync(path, 'utf8');
    assert.match(text, /^[0-9a-f]{64}\n$/);
    assert.notEqual(text, readFileSync(other, 'utf8'));
    assert.equal(readRootKey(path).export().toString('hex'), text.trim());
  });

  it('leaves no other file', () => {
    const path = newPath();
    createRootKey(path);
    createRootKey(path);
    assert.deepEqual(readdirSync(join(path, '..')), ['root.key']);
  });

  it('keeps an existing file, whatever it contains', () => {
    const path = newPath();
    createRootKey(path);
    const text = readFileSync(path, 'utf8');
    createRootKey(path);
    assert.equal(readFileSync(path, 'utf8'), text);
    writeFileSync(path, 'damaged');
    createRootKey(path);
    assert.equal(readFileSync(path, 'utf8'), 'damaged');
  });

  it('succeeds when a crashed process with the same process id left a temporary file', () => {
    const path = newPath();
    createRootKey(path);
    rmSync(path);
    writeFileSync(`${path}.${process.pid}.new`, 'half', { mode: 0o600 });
    createRootKey(path);
    assert.equal(readRootKey(path).symmetricKeySize, 32);
  });

  it('gives several concurrent callers the same key', async () => {
    const path = newPath();
    const module = new URL('./key-file.ts', import.meta.url).href;
    const script = `import { createRootKey, readRootKey } from ${JSON.stringify(module)};
      createRootKey(process.argv[1]);
      process.stdout.write(readRootKey(process.argv[1]).export().toString('hex'));`;
    const make = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const maker = spawn(process.execPath, ['--input-type=module', '--eval', script, path]);
        let output = '';
        maker.stdout.on('data', (chunk: Buffer) => {
          output += chunk.toString();
        });
        maker.on('error', reject);
        maker.on('close', (status) => (status === 0 ? resolve(output) : reject(new Error(`status ${status}`))));
      });
    const keys = await Promise.all([make(), make(), make(), make()]);
    assert.match(keys[0] ?? '', /^[0-9a-f]{64}$/);
    assert.equal(new Set(keys).size, 1);
    assert.deepEqual(readdirSync(join(path, '..')), ['root.key']);
  });
});

describe('readRootKey', () => {
  it('rejects a file that others can read, and names the command that corrects it', () => {
    const path = newPath();
    createRootKey(path);
    for (const mode of [0o640, 0o604, 0o660, 0o644, 0o601, 0o610]) {
      chmodSync(path, mode);
      assert.equal(refusal(path), `the root key file ${path} can be read by others; run: chmod 600 ${path}`);
    }
    for (const mode of [0o600, 0o400]) {
      chmodSync(path, mode);
      assert.equal(readRootKey(path).symmetricKeySize, 32);
    }
  });

  it('reports that the file is missing, and the consequence', () => {
    assert.match(refusal(newPath()), /is missing; without it nothing in the vault can be read: put it back/);
  });

  it('reports that the file is damaged, without its content', () => {
    const path = newPath();
    createRootKey(path);
    const good = readFileSync(path, 'utf8').trim();
    for (const text of [
      '',
      good.slice(1),
      `${good}0`,
      `${good}\n${good}`,
      good.toUpperCase().replace(/[0-9]/g, 'A'),
      `g${good.slice(1)}`,
    ]) {
      writeFileSync(path, text);
      const message = refusal(path);
      assert.ok(message.endsWith('is damaged: expected 64 hexadecimal digits'));
      assert.ok(!message.includes(good.slice(1, 20)));
    }
    writeFileSync(path, `  ${good}\r\n\n`);
    assert.equal(readRootKey(path).export().toString('hex'), good);
  });

  it('rejects a path that is not a file', () => {
    const path = newPath();
    createRootKey(path);
    assert.ok(refusal(join(path, '..')).endsWith('cannot be read'));
    assert.ok(refusal(join(path, 'below')).endsWith('cannot be read'));
  });
});

describe('deriveKey', () => {
  const root = createSecretKey(Buffer.from(Array.from({ length: 32 }, (_, index) => index)));

  it('is HKDF-SHA-256 without salt, with the name of the purpose as info', () => {
    const mac = (key: Uint8Array, data: Uint8Array): Buffer => createHmac('sha256', key).update(data).digest();
    const extracted = mac(Buffer.alloc(32), root.export());
    const expanded = mac(extracted, Buffer.concat([Buffer.from('cardvault wrapping'), Uint8Array.of(1)]));
    assert.deepEqual(deriveKey(root, 'wrapping').export(), expanded);
    assert.deepEqual(expandKey(extractKey(root), 'wrapping').export(), expanded);
  });

  it('returns unrelated keys for different purposes', () => {
    const keys = ['wrapping', 'wrapping ', 'other', ''].map((use) => deriveKey(root, use).export().toString('hex'));
    assert.equal(new Set([...keys, root.export().toString('hex')]).size, 5);
  });
});

describe('a root key that a group may read', () => {
  const own = process.getegid?.() ?? -1;
  const newKey = (mode: number): string => {
    const path = newPath();
    createRootKey(path);
    chmodSync(path, mode);
    return path;
  };
  const refused = (path: string, group: number, what: RegExp): void =>
    assert.throws(
      () => readRootKey(path, group),
      (error) => error instanceof CustodyError && what.test(error.message),
    );

  it('is accepted with that group alone, and with read permission alone', () => {
    for (const mode of [0o640, 0o440, 0o600, 0o400]) assert.ok(readRootKey(newKey(mode), own), mode.toString(8));
    for (const mode of [0o660, 0o650, 0o644, 0o641, 0o642, 0o670, 0o604])
      refused(newKey(mode), own, /allows more than reading by its group; run: chmod 640 /);
    refused(newKey(0o640), own + 1, /another group than CARDVAULT_ROOT_KEY_GROUP; run: chgrp \d+ /);
  });

  it('is rejected without the setting', () => assert.match(refusal(newKey(0o640)), /read by others; run: chmod 600/));

  it('is rejected in a folder that others can change', () => {
    const path = newKey(0o640);
    const directory = join(path, '..');
    for (const [mode, isGood] of [
      [0o750, true],
      [0o770, true],
      [0o2770, true],
      [0o1777, true],
      [0o757, false],
      [0o777, false],
    ] as const) {
      chmodSync(directory, mode);
      if (isGood) assert.ok(readRootKey(path, own), mode.toString(8));
      else refused(path, own, /folder of the root key file can be changed by others; run: chmod go-w /);
    }
    chmodSync(directory, 0o700);
  });

  it('is created with these permissions', () => {
    const path = newPath();
    createRootKey(path, own);
    assert.equal(statSync(path).mode & 0o777, 0o640);
    assert.ok(readRootKey(path, own));
  });

  it('can be read by members who do not own it', {
    skip: process.geteuid?.() !== 0 && 'only root can change owners',
  }, () => {
    const path = newKey(0o640);
    chownSync(path, 61_001, own);
    assert.ok(readRootKey(path, own));
  });
});

describe('the custody of a key file', () => {
  const newKey = () => createSecretKey(randomBytes(32));
  const former = async (path: string): Promise<string | undefined> =>
    (await keyFileCustody(path).open()).previous?.export().toString('hex');

  it('has no former key after a crash within a replacement, which continues', async () => {
    const path = newPath();
    createRootKey(path);
    linkSync(path, previousPath(path));
    assert.equal(await former(path), undefined);
    const text = readFileSync(path, 'utf8').trim();
    await keyFileCustody(path).replaceRootKey(newKey());
    assert.equal(await former(path), text);
  });

  it('is kept when its file is a link, and a crash within a replacement left a second one', () => {
    const path = newPath();
    createRootKey(path);
    const link = `${path}.link`;
    symlinkSync(path, link);
    linkSync(link, previousPath(link));
    const text = readFileSync(path, 'utf8');
    removeRemains(link);
    assert.ok(!existsSync(previousPath(link)));
    symlinkSync(path, previousPath(link));
    keyFileCustody(link).finishReplacement();
    assert.deepEqual([existsSync(previousPath(link)), readFileSync(path, 'utf8')], [false, text]);
  });

  it('has no former key after a crash within its destruction, and replaces the key again', async () => {
    for (const content of [Buffer.alloc(65), Buffer.alloc(0)]) {
      const path = newPath();
      createRootKey(path);
      writeFileSync(previousPath(path), content, { mode: 0o600 });
      assert.equal(await former(path), undefined);
      const text = readFileSync(path, 'utf8').trim();
      await keyFileCustody(path).replaceRootKey(newKey());
      assert.equal(await former(path), text);
    }
  });
});
