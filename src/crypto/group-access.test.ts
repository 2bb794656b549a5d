import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { resolveGroupId, shareWithGroup } from './group-access.ts';

const folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const own = process.getegid?.() ?? -1;

describe('a group', () => {
  const groups = (): string => 'root:x:0:\nvault:x:1200:ana,otto\nbroken:x::\n\n';

  test('is found by its name or its number', () => {
    assert.deepEqual(
      [resolveGroupId('vault', groups), resolveGroupId('root', groups), resolveGroupId('4711', groups)],
      [1200, 0, 4711],
    );
  });

  test('that does not exist is rejected, without its name', () => {
    for (const name of ['vaul', 'broken', 'x'])
      assert.throws(
        () => resolveGroupId(name, groups),
        /^GroupError: CARDVAULT_ROOT_KEY_GROUP: there is no such group/,
      );
    assert.throws(() => resolveGroupId('vault', () => ''), /no such group/);
  });

  test('is assigned to a file with the requested mode', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '', { mode: 0o600 });
    shareWithGroup(file, own, 0o660);
    assert.deepEqual([statSync(file).mode & 0o7777, statSync(file).gid], [0o660, own]);
  });

  test('is not assigned through a symbolic link', () => {
    const [target, link] = [join(folder, 'target'), join(folder, 'link')];
    writeFileSync(target, '');
    chmodSync(target, 0o600);
    symlinkSync(target, link);
    assert.throws(() => shareWithGroup(link, own, 0o660), /cannot be given to the group .* \(ELOOP\)/);
    assert.equal(statSync(target).mode & 0o777, 0o600);
  });
});
