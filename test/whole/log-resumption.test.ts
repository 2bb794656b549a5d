import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { runWithSettings } from '../fixtures/command.ts';

/** Commands about the whole database, and what they leave in the audit log. */
describe('a vault that was backed up, restored and copied', () => {
  let directory: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  const run = (...args: string[]) =>
    runWithSettings({ CARDVAULT_DATA_DIR: directory, CARDVAULT_OPERATOR: 'Ana' }, ...args, '--json');
  const done = async (...args: string[]) => {
    const { code, json, err, out } = await run(...args);
    assert.equal(code, 0, err + out);
    return json;
  };
  const records = async (action: string, at = directory) => {
    const { json } = await runWithSettings({ CARDVAULT_DATA_DIR: at }, 'audit', 'export', '--json');
    return json.filter((record: { action: string }) => record.action === action);
  };

  test('records the user of the backup, also in the backup, and the user of the restore', async () => {
    await done('account', 'create', '--name', 'A');
    const backup = join(directory, 'backup.db');
    await done('backup', backup, '--plain');
    const [created, ...others] = await records('vault.backed-up');
    assert.deepEqual([created.actor.name, created.detail, others], ['Ana', { what: 'backup.db' }, []]);
    await done('account', 'create', '--name', 'Lost');
    const ends = (await done('audit', 'verify')).heads;
    await done('restore', backup, '--force');
    const [restored, ...more] = await records('vault.restored');
    assert.deepEqual([restored.actor.name, restored.detail.what, more], ['Ana', 'backup.db', []]);
    assert.match(restored.detail.sha256, /^[0-9a-f]{64}$/);
    assert.equal((await records('vault.backed-up')).length, 1);
    // The end in the backup, where the log continues, and not that of the database that was replaced.
    const [service = ''] = restored.detail.ends;
    assert.equal(service, `/1 ${created.sequence} ${created.hash}`);
    assert.ok(ends[0].sequence > created.sequence);
    const { resumptions, ok } = await done('audit', 'verify');
    assert.equal(ok, true);
    assert.deepEqual(
      resumptions.map(({ action, operator, what }: Record<string, string>) => [action, operator, what]),
      [['vault.restored', 'Ana', 'backup.db']],
    );
    const text = await runWithSettings({ CARDVAULT_DATA_DIR: directory }, 'audit', 'verify');
    assert.match(text.out, /\nrestored from the backup backup\.db at 20\S+Z by Ana\n/);
  });

  test('records once in both databases that it was copied, and both remain equal', async () => {
    const from = `sqlite:${join(directory, 'cardvault.db')}`;
    const target = join(directory, 'elsewhere', 'cardvault.db');
    const first = await done('copy', '--from', from, '--to', `sqlite:${target}`);
    assert.deepEqual([first.copied, first.recorded], [true, true]);
    assert.equal((await done('copy', '--from', from, '--to', `sqlite:${target}`)).copied, false);
    const inTarget = await runWithSettings(
      { CARDVAULT_DATA_DIR: directory, CARDVAULT_DATABASE_URL: `sqlite:${target}` },
      'audit',
      'verify',
      '--json',
    );
    const inSource = await done('audit', 'verify');
    assert.deepEqual(inTarget.json.resumptions, inSource.resumptions);
    assert.deepEqual([inSource.digest, inSource.resumptions.length], [inTarget.json.digest, 2]);
    const [, { what, operator }] = inSource.resumptions;
    assert.deepEqual([what, operator], ['SQLite cardvault.db', 'Ana']);
  });

  test('can be copied without its root key, with a notice that no record was written', async () => {
    const from = `sqlite:${join(directory, 'cardvault.db')}`;
    const keyless = join(directory, 'keyless');
    const to = `sqlite:${join(directory, 'second.db')}`;
    const { code, json } = await runWithSettings(
      { CARDVAULT_DATA_DIR: keyless },
      'copy',
      '--from',
      from,
      '--to',
      to,
      '--json',
    );
    assert.deepEqual([code, json.copied, json.recorded], [0, true, false]);
  });
});
