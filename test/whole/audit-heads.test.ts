import assert from 'node:assert/strict';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runWithSettings } from '../fixtures/command.ts';
import { startTestService } from '../fixtures/test-service.ts';

describe('a service that records the heads of its audit log in a file', () => {
  let directory: string;
  let variables: Record<string, string>;
  const inFolder = (name: string): string => join(directory, name);
  const verify = (...more: string[]) => runWithSettings(variables, 'audit', 'verify', ...more);
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    variables = {
      CARDVAULT_DATA_DIR: directory,
      CARDVAULT_DATABASE_URL: `sqlite:${inFolder('vault.db')}`,
      CARDVAULT_AUDIT_HEADS_FILE: 'heads.jsonl',
    };
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  test('records them before it stops, and logs it', async () => {
    const service = await startTestService({ directory, variables });
    await service.newAccount();
    await service.stop();
    const [line, checkpoint, ...others] = readFileSync(inFolder('heads.jsonl'), 'utf8').trim().split('\n');
    const { digest, chains, heads } = JSON.parse(line ?? '');
    assert.deepEqual([others, chains, heads.length], [[], 2, 2]);
    assert.equal(JSON.parse(JSON.parse(checkpoint ?? '').statement).digest, digest);
    const entry = service.log.map((each) => JSON.parse(each)).find(({ msg }) => msg === 'audit heads');
    assert.deepEqual([entry.digest, entry.count], [digest, 2]);
    const { code, out } = await verify('--heads', inFolder('heads.jsonl'));
    assert.equal(code, 0);
    assert.match(out, /, all in order\n1 signed checkpoint found\n4 noted heads found\nheads {2}SHA-256 /);
  });

  test('shows with the command that an earlier copy was restored, which the database alone cannot show', async () => {
    copyFileSync(inFolder('vault.db'), inFolder('older.db'));
    await runWithSettings(variables, 'account', 'create', '--name', 'Later');
    const { out } = await verify('--json');
    copyFileSync(inFolder('older.db'), inFolder('vault.db'));
    assert.equal((await verify('--json')).json.ok, true);
    const noted = inFolder('noted.json');
    writeFileSync(noted, out);
    const { code, json } = await verify('--heads', noted, '--json');
    assert.deepEqual([code, json.ok], [1, false]);
    assert.match(json.fault, /record [0-9]+: noted at 20.*Z and missing/);
  });

  test('counts the heads that a restore replaced separately, and rejects a file that it cannot parse', async () => {
    await runWithSettings(variables, 'account', 'create', '--name', 'Lost');
    const noted = inFolder('before-restore.json');
    writeFileSync(noted, (await verify('--json')).out);
    assert.equal((await runWithSettings(variables, 'restore', inFolder('older.db'), '--force', '--json')).code, 0);
    const { code, out } = await verify('--heads', noted);
    assert.equal(code, 0);
    assert.match(
      out,
      /restored from the backup older\.db at 20\S+Z by .*\n.* found\n2 noted heads replaced by a restore/,
    );
    writeFileSync(noted, 'nothing\n');
    const malformed = await verify('--heads', noted);
    assert.equal(malformed.code, 2);
    assert.match(malformed.err, /before-restore\.json, line 1: expected a line as the service writes it/);
  });
});
