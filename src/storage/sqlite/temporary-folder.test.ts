import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { createTemporaryFolder, removeAbandonedFolders } from './temporary-folder.ts';

describe('a temporary folder', () => {
  let parent: string;
  before(() => {
    parent = join(mkdtempSync(join(tmpdir(), 'cardvault-temporary-')), 'temporary');
  });
  after(() => rmSync(join(parent, '..'), { recursive: true, force: true }));

  test('is for its user only, stays while it is in use, and is removed at the end', () => {
    const folder = createTemporaryFolder(parent, 'used');
    assert.equal(statSync(folder.path).mode & 0o777, 0o700);
    writeFileSync(join(folder.path, 'snapshot.db'), 'content');
    removeAbandonedFolders(parent, Date.now() + 86_400_000);
    assert.ok(existsSync(join(folder.path, 'snapshot.db')));
    folder.remove();
    assert.deepEqual(readdirSync(parent), []);
  });

  test('that a process left when it was killed is removed, whatever is in it', () => {
    const left = join(parent, 'left');
    mkdirSync(join(left, 'deep'), { recursive: true });
    writeFileSync(join(left, 'deep', 'snapshot.db'), 'content');
    // The file of the lock remains; the lock does not.
    new DatabaseSync(join(left, 'lock')).close();
    mkdirSync(join(parent, 'without-lock'));
    mkdirSync(join(parent, 'new.starting'));
    removeAbandonedFolders(parent, Date.now());
    assert.deepEqual(readdirSync(parent), ['new.starting']);
    removeAbandonedFolders(parent, Date.now() + 86_400_000);
    assert.deepEqual(readdirSync(parent), []);
  });

  test('need not exist', () => {
    removeAbandonedFolders(join(parent, 'nowhere'), Date.now());
    assert.ok(!existsSync(join(parent, 'nowhere')));
  });
});
