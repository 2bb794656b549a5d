import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { LIMITS } from '../../kernel/limits.ts';
import { type Custody, CustodyError, keyCheckValue } from '../custody.ts';
import { keyFileCustody } from './key-file.ts';
import { passphraseSealing } from './passphrase.ts';
import { previousPath } from './replacement.ts';
import { readKeyCheckValue, sealedFileCustody } from './sealed-file.ts';

const PASSPHRASE = 'eleven orange tractors';
const COST = { n: 16, r: 8, p: 1 };

const folder = mkdtempSync(join(tmpdir(), 'cardvault-custody-'));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(folder, String(files++), 'root.sealed');
const custodyOf = (file: string, passphrase = PASSPHRASE): Custody =>
  sealedFileCustody(
    file,
    passphraseSealing(async () => Buffer.from(passphrase), COST),
  );
const newKey = () => createSecretKey(randomBytes(32));
const exported = (custody: Custody): Promise<string> =>
  custody.open().then(({ root }) => root.export().toString('hex'));
const change = (file: string, edit: (content: Record<string, unknown>) => unknown): void =>
  writeFileSync(file, JSON.stringify(edit(JSON.parse(readFileSync(file, 'utf8')))));
const errorOf = async (custody: Custody): Promise<string> => {
  const error = await custody.open().then(
    () => assert.fail('the file was opened'),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof CustodyError, String(error));
  assert.ok(!error.message.includes(PASSPHRASE));
  return error.message;
};

describe('custody with a passphrase', () => {
  test('opens with the passphrase, and the file contains no part of the key', async () => {
    const file = newFile();
    const root = newKey();
    await custodyOf(file).create(root);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const text = readFileSync(file, 'utf8');
    const secret = root.export();
    for (const form of ['hex', 'base64', 'latin1'] as const)
      assert.ok(!text.includes(secret.toString(form).slice(0, 20)));
    assert.equal(await exported(custodyOf(file)), secret.toString('hex'));
    assert.equal(readKeyCheckValue(file), keyCheckValue(root));
    assert.deepEqual(Object.keys(JSON.parse(text)), ['cardvault', 'format', 'kind', 'key_check_value', 'sealed']);
  });

  test('is not replaced by a key under a passphrase that was not typed twice', async () => {
    const file = newFile();
    const typed = [PASSPHRASE, `${PASSPHRASE}x`, PASSPHRASE];
    await custodyOf(file).create();
    const before = readFileSync(file, 'utf8');
    const custody = sealedFileCustody(
      file,
      passphraseSealing(async () => Buffer.from(typed.shift() ?? ''), COST),
    );
    await custody.open();
    await assert.rejects(custody.replaceRootKey(newKey()), CustodyError);
    assert.deepEqual([readFileSync(file, 'utf8'), existsSync(previousPath(file))], [before, false]);
  });

  test('does not open with another passphrase', async () => {
    const file = newFile();
    await custodyOf(file).create();
    assert.match(await errorOf(custodyOf(file, `${PASSPHRASE} `)), /does not open the root key file/);
  });

  test('does not open when any member was changed', async () => {
    const original = newFile();
    await custodyOf(original).create();
    const text = readFileSync(original, 'utf8');
    const edits: readonly [string, (sealed: Record<string, unknown>) => object][] = [
      ['kind', () => ({ kind: 'pkcs11' })],
      ['format', () => ({ format: 2 })],
      ['check value', () => ({ key_check_value: '00000000' })],
      ['cost', (sealed) => ({ sealed: { ...sealed, n: 32 } })],
      ['salt', (sealed) => ({ sealed: { ...sealed, salt: randomBytes(16).toString('base64') } })],
      ['nonce', (sealed) => ({ sealed: { ...sealed, nonce: randomBytes(12).toString('base64') } })],
      ['key', (sealed) => ({ sealed: { ...sealed, key: randomBytes(48).toString('base64') } })],
      ['key length', (sealed) => ({ sealed: { ...sealed, key: 'AAAA' } })],
      ['no sealed key', () => ({ sealed: undefined })],
    ];
    for (const [what, edit] of edits) {
      const file = newFile();
      await custodyOf(file).create();
      writeFileSync(file, text);
      change(file, (content) => ({ ...content, ...edit(content['sealed'] as Record<string, unknown>) }));
      assert.ok(await errorOf(custodyOf(file)), what);
    }
  });

  test('refuses a cost beyond the limits before it does the work', async () => {
    const file = newFile();
    await custodyOf(file).create();
    for (const cost of [{ n: 2 ** 30 }, { n: LIMITS.custodyScryptWork, p: 2 }, { n: 3 }, { r: 0 }, { p: '1' }]) {
      change(file, (content) => ({ ...content, sealed: { ...(content['sealed'] as object), ...COST, ...cost } }));
      assert.match(await errorOf(custodyOf(file)), /beyond the limits/, JSON.stringify(cost));
    }
  });

  test('takes no short passphrase', async () => {
    const file = newFile();
    await assert.rejects(custodyOf(file, 'fifteen letters').create(), /at least 16 characters/);
    assert.equal(existsSync(file), false);
  });

  test('says so when the file contains a root key in clear', async () => {
    const file = newFile();
    await keyFileCustody(file).create();
    const secret = readFileSync(file, 'utf8').trim();
    const message = await errorOf(custodyOf(file));
    assert.match(message, /in clear.*CARDVAULT_ROOT_KEY=file:/);
    assert.ok(!message.includes(secret));
  });

  test('uses the cost of the documentation unless a test sets another', async () => {
    const file = newFile();
    const custody = sealedFileCustody(
      file,
      passphraseSealing(async () => Buffer.from(PASSPHRASE)),
    );
    await custody.create();
    const { n, r, p } = JSON.parse(readFileSync(file, 'utf8')).sealed;
    assert.deepEqual([n, r, p], [2 ** 17, 8, 1]);
    assert.ok(n * r * p <= LIMITS.custodyScryptWork);
    assert.ok((await custody.open()).root);
  });
});

describe('replacing the root key', () => {
  for (const [kind, custodyFor] of [
    ['file', (file: string) => keyFileCustody(file)],
    ['passphrase', (file: string) => custodyOf(file)],
  ] as const) {
    test(`keeps the former one until the end: ${kind}`, async () => {
      const file = newFile();
      const custody = custodyFor(file);
      const [first, second] = [newKey(), newKey()];
      await custody.create(first);
      assert.equal((await custody.open()).previous, undefined);
      await custody.replaceRootKey(second);
      const { root, previous } = await custody.open();
      assert.ok(root.equals(second) && previous?.equals(first));
      assert.equal(statSync(previousPath(file)).mode & 0o777, 0o600);
      await assert.rejects(custody.replaceRootKey(newKey()), /not finished/);
      custody.finishReplacement();
      custody.finishReplacement();
      assert.deepEqual(readdirSync(join(file, '..')), ['root.sealed']);
      assert.ok((await custody.open()).root.equals(second));
    });
  }

  test('continues after a crash that left two names of one file', async () => {
    const file = newFile();
    const custody = keyFileCustody(file);
    await custody.create();
    writeFileSync(previousPath(file), readFileSync(file), { mode: 0o600 });
    const next = newKey();
    await custody.replaceRootKey(next);
    assert.ok((await custody.open()).root.equals(next));
  });
});
