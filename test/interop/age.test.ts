import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parseRecipients, readAgeFile, readIdentities, writeAgeFile } from '../../src/crypto/age-file.ts';
import { runInProcess } from '../fixtures/command.ts';
import { absent } from '../receivers/install.ts';

/** Files of cardvault and of the tool `age` are the same format. */
describe('the tool age', { skip: absent('age') }, () => {
  let directory: string;
  let recipient: string;
  const inFolder = (name: string): string => join(directory, name);
  const age = (program: string, args: readonly string[], input?: Buffer): Buffer => {
    const { status, stdout, stderr } = spawnSync(program, args, { input, maxBuffer: 64 * 1024 * 1024 });
    assert.equal(status, 0, stderr.toString());
    return stdout;
  };

  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-age-'));
    age('age-keygen', ['-o', inFolder('identity')]);
    recipient = age('age-keygen', ['-y', inFolder('identity')])
      .toString()
      .trim();
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  for (const size of [0, 1, 65_536, 65_537, 1_000_000])
    test(`reads ${size} bytes of cardvault, and cardvault those of age`, async () => {
      const content = randomBytes(size);
      const path = inFolder(`ours-${size}.age`);
      await writeAgeFile({ path, recipients: parseRecipients([recipient], '-r'), content: [content] });
      assert.ok(age('age', ['--decrypt', '-i', inFolder('identity'), path]).equals(content));
      const foreign = inFolder(`theirs-${size}.age`);
      writeFileSync(foreign, age('age', ['-r', recipient], content));
      const chunks: Buffer[] = [];
      for await (const chunk of readAgeFile(foreign, await readIdentities(inFolder('identity')))) chunks.push(chunk);
      assert.ok(Buffer.concat(chunks).equals(content));
    });

  test('with tar unpacks a backup', async () => {
    const data = inFolder('data');
    assert.equal((await runInProcess(data, 'account', 'create', '--name', 'A', '--json')).code, 0);
    const file = inFolder('backup.age');
    assert.equal((await runInProcess(data, 'backup', file, '--recipient', recipient, '--json')).code, 0);
    const archive = age('age', ['--decrypt', '-i', inFolder('identity'), file]);
    age('tar', ['-x', '-C', directory], archive);
    const manifest = JSON.parse(readFileSync(inFolder('manifest.json'), 'utf8'));
    assert.deepEqual([manifest.format, manifest.rows.accounts], ['cardvault backup 1', 1]);
    assert.equal(readFileSync(inFolder('cardvault.db')).subarray(0, 15).toString(), 'SQLite format 3');
  });
});
