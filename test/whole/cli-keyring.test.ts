import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { HOUR } from '../../src/kernel/clock.ts';
import { type CommandResult, runAt } from '../fixtures/command.ts';
import { newDirectory, removeDirectory } from '../fixtures/service-process.ts';

interface Key {
  readonly id: string;
  readonly purpose: string;
  readonly version: number;
  readonly state: string;
  readonly check_value: string;
  readonly sealed: number | null;
}

describe('keyring commands', { timeout: 120_000 }, () => {
  const directory = newDirectory();
  let passed = 0;
  const now = (): number => Date.now() + passed;
  const run = (...args: string[]): Promise<CommandResult> =>
    runAt(now, { CARDVAULT_DATA_DIR: directory, CARDVAULT_OPERATOR: 'Ana', CARDVAULT_WORKERS: '1' }, ...args);
  const done = async (...args: string[]) => {
    const { code, out, err, json } = await run(...args, '--json');
    assert.equal(code, 0, err + out);
    return json;
  };
  const keys = async (purpose: string): Promise<Key[]> =>
    (await done('keyring', 'status')).filter((key: Key) => key.purpose === purpose);
  const backup = async (name: string): Promise<string> => (await done('backup', join(directory, name), '--plain')).id;
  before(async () => {
    await done('migrate');
    const { id } = await done('account', 'create', '--name', 'Store');
    await done('payments', 'enable', '--account', id, '--environment', 'sandbox', '--setting', 'opened-expiry=1h');
  });
  after(() => removeDirectory(directory));

  test('a replaced data key is destroyed after a newer backup and the end of older ones, with evidence', async () => {
    const old = await backup('old.db');
    const { rotations } = await done('keyring', 'rotate', 'data', '--purpose', 'payments', '--wait');
    assert.deepEqual(
      rotations.map(({ version }: Key) => version),
      [2],
    );
    const [former, current] = await keys('payments');
    assert.deepEqual([former?.state, former?.sealed, current?.state, current?.sealed], ['retiring', 0, 'current', 1]);
    passed += 2 * HOUR;
    const kept = async () =>
      (await done('keyring', 'destroy', 'all')).kept.map(({ obstacle }: { obstacle: string }) => obstacle);
    assert.deepEqual(await kept(), ['there is no verified backup from after its rotation']);
    await backup('new.db');
    assert.deepEqual(await kept(), ['1 backups from before its rotation have not ended']);
    const refused = await run('keyring', 'destroy', former?.id ?? '');
    assert.equal(refused.code, 2);
    assert.match(refused.err, /is kept: 1 backups from before its rotation have not ended/);
    rmSync(join(directory, 'old.db'));
    await done('backup', 'end', old);
    const { destroyed } = await done('keyring', 'destroy', former?.id ?? '');
    assert.deepEqual(
      destroyed.map(({ id }: Key) => id),
      [former?.id],
    );
    assert.deepEqual(
      (await keys('payments')).map(({ state }) => state),
      ['destroyed', 'current'],
    );
    const log = (await run('audit', 'export')).out;
    assert.match(log, new RegExp(`keyring\\.destroyed.*${former?.id}.*${former?.check_value}`));
    assert.equal((await done('audit', 'verify')).ok, true);
  });

  test('the root key is replaced, and a backup of before is named when the former one is destroyed', async () => {
    const [before] = await keys('root');
    const rotated = await done('keyring', 'rotate', 'root');
    assert.deepEqual([rotated.state, rotated.former_check_value], ['rotated', before?.check_value]);
    assert.equal((await keys('root'))[0]?.check_value, rotated.check_value);
    assert.equal((await done('keyring', 'rotate', 'root')).state, 'rotated-before');
    const refused = await run('keyring', 'destroy', 'root');
    assert.match(
      refused.err,
      /the former root key [0-9a-f]{8} is kept: there is no verified backup from after its rotation/,
    );
    assert.ok(existsSync(join(directory, 'root.key.previous')));
    const { unreadable_backups: unreadable } = await done('keyring', 'destroy', 'root', '--destroy-now');
    assert.deepEqual(
      unreadable.map(({ file }: { file: string }) => file),
      [join(directory, 'new.db')],
    );
    assert.ok(!existsSync(join(directory, 'root.key.previous')));
    assert.equal((await done('audit', 'verify')).ok, true);
  });

  test('options that do not belong to the keys are refused, and change nothing', async () => {
    const mistakes: [RegExp, string[]][] = [
      [/expected root, wrapping, data/, ['nothing']],
      [/--wait: not for keyring rotate root/, ['root', '--wait']],
      [/--emergency: not for keyring rotate data/, ['data', '--emergency']],
      [/no key is selected/, ['data', '--purpose', 'tokens']],
      [/there is no API key/, ['api-keys']],
    ];
    const before = await done('keyring', 'status');
    for (const [message, args] of mistakes) {
      const { code, err } = await run('keyring', 'rotate', ...args);
      assert.equal(code, 2, args.join(' '));
      assert.match(err, message);
    }
    const states = (found: Key[]): string[] => found.map(({ id, version, state }) => `${id} ${version} ${state}`);
    assert.deepEqual(states(await done('keyring', 'status')), states(before));
  });
});
