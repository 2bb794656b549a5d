import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  Decrypter,
  Encrypter,
  generateHybridIdentity,
  generateX25519Identity,
  identityToRecipient,
} from 'age-encryption';
import {
  type AgeFault,
  AgeFileError,
  type Identities,
  parseRecipients,
  readAgeFile,
  readIdentities,
  readRecipientsFile,
  writeAgeFile,
} from './age-file.ts';

const CHUNK = 64 * 1024;

/** A file of `age` 1.1.1, in base64, with a key that was created for it alone. */
const FOREIGN_IDENTITY = 'AGE-SECRET-KEY-12ZSHRSNTKZP2757W82KA58GSL3K0LPRQLKYJ2V0N6YFTU3GG9QUQRSUH34';
const FOREIGN_FILE =
  'YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBZVVFFZVQwVThRY1NKdXVJdW16ZDhvbmd4aEVhcHhyTEZRd2JoVEtI' +
  'MUY4Cm5SM0JtM2FpT2V0NHY4MXVwS2JNeHlRalA1M1M2TlZiazRvczJoWDRwNWcKLS0tIGpYbUw2cXR2b2d1NDVLUGZPU1N1' +
  'bGd0QnN3WVdSZGxIeDRyTHJuUmpST28KqqZSbnuIyfR0cuE2aDIidNlc/ja/eX8K7pjirLAlmXiaxRwz1y9kuZGAhbQfUJR2' +
  'fcfdcA==';

/** Bytes that repeat in no chunk, equal for equal sizes. */
function contentOf(size: number): Buffer {
  const blocks: Buffer[] = [];
  for (let block = 0; block * 32 < size; block++) blocks.push(createHash('sha256').update(`${block}`).digest());
  return Buffer.concat(blocks).subarray(0, size);
}

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('files in the age format', () => {
  let directory: string;
  let identity: string;
  let recipient: string;
  let identities: Identities;
  let count = 0;
  const newPath = (): string => join(directory, `file-${count++}.age`);
  const newKey = async (): Promise<{ identity: string; recipient: string; identities: Identities }> => {
    const key = await generateX25519Identity();
    const file = join(directory, `key-${count++}`);
    writeFileSync(file, `# created: today\n\n${key}\n`);
    return { identity: key, recipient: await identityToRecipient(key), identities: await readIdentities(file) };
  };
  const write = async (content: Uint8Array, recipients = [recipient], path = newPath()) => {
    // Pieces of other sizes than chunks.
    const pieces = function* () {
      for (let at = 0; at < content.length; at += 50_001) yield content.subarray(at, at + 50_001);
    };
    return {
      path,
      written: await writeAgeFile({ path, recipients: parseRecipients(recipients, '-r'), content: pieces() }),
    };
  };
  const read = async (path: string, keys = identities): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    for await (const chunk of readAgeFile(path, keys)) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  const faultOf = async (act: () => Promise<unknown>): Promise<AgeFault> => {
    try {
      await act();
    } catch (error) {
      assert.ok(error instanceof AgeFileError, String(error));
      return error.fault;
    }
    assert.fail('no fault');
  };

  before(async () => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-age-'));
    ({ identity, recipient, identities } = await newKey());
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  for (const size of [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 300_000]) {
    test(`${size} bytes are read as they were written, by the library as well`, async () => {
      const content = contentOf(size);
      const { path, written } = await write(content);
      assert.equal(sha256(await read(path)), sha256(content));
      const bytes = readFileSync(path);
      assert.deepEqual(written, {
        bytes: bytes.length,
        sha256: sha256(bytes),
        contentBytes: size,
        contentSha256: sha256(content),
      });
      const decrypter = new Decrypter();
      decrypter.addIdentity(identity);
      assert.equal(sha256(await decrypter.decrypt(bytes)), sha256(content));
      const encrypter = new Encrypter();
      encrypter.addRecipient(recipient);
      const foreign = newPath();
      writeFileSync(foreign, await encrypter.encrypt(content));
      assert.equal(sha256(await read(foreign)), sha256(content));
    });
  }

  test('a file of the tool age is read', async () => {
    const [path, key] = [newPath(), join(directory, 'foreign')];
    writeFileSync(path, Buffer.from(FOREIGN_FILE, 'base64'));
    writeFileSync(key, FOREIGN_IDENTITY);
    assert.equal((await read(path, await readIdentities(key))).toString(), 'written by age 1.1.1');
  });

  test('are for their user only, and for every recipient alone', async () => {
    const [one, other, stranger] = [await newKey(), await newKey(), await newKey()];
    const { path } = await write(contentOf(100), [one.recipient, other.recipient, one.recipient]);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal(readFileSync(path, 'latin1').split('\n-> X25519 ').length, 3);
    for (const { identities: keys } of [one, other]) assert.deepEqual(await read(path, keys), contentOf(100));
    assert.equal(await faultOf(() => read(path, stranger.identities)), 'wrong-identity');
  });

  test('can be written for post-quantum recipients', async () => {
    const key = await generateHybridIdentity();
    const file = join(directory, 'hybrid');
    writeFileSync(file, key);
    const { path } = await write(contentOf(100), [await identityToRecipient(key)]);
    assert.deepEqual(await read(path, await readIdentities(file)), contentOf(100));
  });

  test('a file that was cut anywhere is no file', async () => {
    const { path } = await write(contentOf(2 * CHUNK + 100));
    const bytes = readFileSync(path);
    const payload = bytes.indexOf('\n--- ') + '\n--- '.length + 43 + 1;
    const cutAt: [number, readonly AgeFault[]][] = [
      [0, ['truncated']],
      [10, ['truncated']],
      [100, ['truncated']],
      [payload, ['truncated']],
      [payload + 16, ['truncated']],
      [payload + 20, ['truncated']],
      [payload + 16 + CHUNK + 16, ['truncated']],
      [payload + 16 + 2 * (CHUNK + 16), ['truncated']],
      [payload + 16 + CHUNK + 300, ['altered']],
      [bytes.length - 1, ['altered']],
    ];
    for (const [size, faults] of cutAt) {
      const cut = newPath();
      writeFileSync(cut, bytes.subarray(0, size));
      assert.ok(faults.includes(await faultOf(() => read(cut))), `at ${size}`);
    }
  });

  test('a file of which any byte was changed or added is no file', async () => {
    const { path } = await write(contentOf(CHUNK + 100));
    const bytes = readFileSync(path);
    const payload = bytes.indexOf('\n--- ') + '\n--- '.length + 43 + 1;
    for (const at of [30, payload - 10, payload, payload + 15, payload + 16, payload + CHUNK, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      const copy = newPath();
      writeFileSync(copy, changed);
      await assert.rejects(read(copy), AgeFileError, `byte ${at}`);
    }
    const longer = newPath();
    writeFileSync(longer, Buffer.concat([bytes, Buffer.alloc(1)]));
    assert.equal(await faultOf(() => read(longer)), 'altered');
  });

  test('a chunk cannot take the place of another one', async () => {
    const { path } = await write(contentOf(3 * CHUNK));
    const bytes = readFileSync(path);
    const start = bytes.indexOf('\n--- ') + '\n--- '.length + 43 + 1 + 16;
    const chunk = (index: number): Buffer =>
      bytes.subarray(start + index * (CHUNK + 16), start + (index + 1) * (CHUNK + 16));
    const swapped = newPath();
    writeFileSync(swapped, Buffer.concat([bytes.subarray(0, start), chunk(1), chunk(0), chunk(2)]));
    assert.equal(await faultOf(() => read(swapped)), 'altered');
    const shortened = newPath();
    writeFileSync(shortened, Buffer.concat([bytes.subarray(0, start), chunk(0), chunk(2)]));
    assert.equal(await faultOf(() => read(shortened)), 'altered');
  });

  test('other files are named as such', async () => {
    const other = newPath();
    for (const [content, fault] of [
      ['no age file', 'no-age-file'],
      [`age-encryption.org/v1\n-> X25519 ${'a'.repeat(70_000)}`, 'no-age-file'],
      ['-----BEGIN AGE ENCRYPTED FILE-----\n', 'no-age-file'],
      ['age-encryption.org/v2\n-> X25519 a\n', 'no-age-file'],
    ] as const) {
      writeFileSync(other, content);
      assert.equal(await faultOf(() => read(other)), fault, content.slice(0, 30));
    }
  });

  test('an existing file is never replaced, and a failure leaves no file', async () => {
    const path = newPath();
    writeFileSync(path, 'precious');
    assert.equal(await faultOf(() => write(contentOf(10), [recipient], path)), 'exists');
    assert.equal(readFileSync(path, 'utf8'), 'precious');
    const failing = async function* () {
      yield contentOf(CHUNK * 2);
      throw new Error('the source failed');
    };
    const target = newPath();
    const recipients = parseRecipients([recipient], '-r');
    await assert.rejects(writeAgeFile({ path: target, recipients, content: failing() }), /the source failed/);
    assert.ok(!existsSync(target));
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.endsWith('.partial')),
      [],
    );
  });

  test('recipients are checked, and errors never repeat them', async () => {
    const bad: readonly [string[], RegExp][] = [
      [['age1qqq'], /^--recipient: has 7 characters, and a key of this type has 62; copy the whole key again$/],
      [[recipient, 'ssh-ed25519 AAAA'], /^--recipient: recipient 2: expected/],
      [[identity], /^--recipient: is a private key; give the public key that starts with age1$/],
      [await Promise.all(Array.from({ length: 21 }, async () => (await newKey()).recipient)), /at most 20 recipients/],
    ];
    for (const [texts, message] of bad)
      assert.throws(
        () => parseRecipients(texts, '--recipient'),
        (error: Error) => message.test(error.message) && texts.every((text) => !error.message.includes(text)),
      );
    const file = join(directory, 'recipients');
    writeFileSync(file, `# team\n${recipient}\n\n`);
    assert.deepEqual(await readRecipientsFile(file), [recipient]);
  });

  test('identities are checked, and errors never repeat them', async () => {
    const file = join(directory, 'identities');
    const damaged = `${identity.slice(0, -1)}${identity.endsWith('Q') ? 'P' : 'Q'}`;
    for (const [content, message] of [
      ['', /contains no identity/],
      ['# nothing\n', /contains no identity/],
      [damaged, /identity 1: is damaged, because its checksum does not match/],
      [`${identity}\n${recipient}`, /identity 2: is a public key/],
      ['age-encryption.org/v1\n-> scrypt', /is encrypted itself; decrypt it first/],
      [`${identity}\n`.repeat(21), /more than 20 identities/],
      ['#'.repeat(70_000), /at most 65536 bytes/],
    ] as const) {
      writeFileSync(file, content);
      await assert.rejects(readIdentities(file), (error: Error) => {
        assert.match(error.message, message);
        return !error.message.includes(damaged.slice(20)) && !error.message.includes(identity.slice(20));
      });
    }
    await assert.rejects(readIdentities(join(directory, 'absent')), /there is no such file/);
  });
});
