import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkFileSystem, checkFlush, checkSpace, findMount, parseMounts } from './disk.ts';

const MOUNTS = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /tmp rw,nosuid - tmpfs tmpfs rw
24 22 0:30 / /srv/card\\040vault rw - nfs4 nas:/x rw,vers=4.2
25 22 8:2 / /var/lib/x ro,relatime - xfs /dev/sda2 ro
26 22 8:3 / /var/lib/x/data rw shared:2 master:1 - btrfs /dev/sda3 rw
broken line
`;

describe('rules about the disk', () => {
  const mounts = parseMounts(MOUNTS);
  const typeAt = (path: string): string | undefined => findMount(mounts, path)?.type;

  test('a folder is on the file system with the longest name', () => {
    assert.equal(mounts.length, 5);
    assert.equal(typeAt('/var/lib/cardvault'), 'ext4');
    assert.equal(typeAt('/tmp/x'), 'tmpfs');
    assert.equal(typeAt('/tmpx'), 'ext4');
    assert.equal(typeAt('/srv/card vault/data'), 'nfs4');
    assert.equal(typeAt('/var/lib/x/data'), 'btrfs');
    assert.equal(findMount(mounts, '/var/lib/x/other')?.isReadOnly, true);
    assert.equal(findMount([], '/'), undefined);
  });

  test('memory, networks, containers and read-only file systems keep no database', () => {
    const state = (type: string, isDatabase: boolean, isReadOnly = false): string =>
      checkFileSystem('/data', { point: '/data', type, isReadOnly }, isDatabase).state;
    for (const type of ['ext4', 'xfs', 'btrfs', 'zfs']) assert.equal(state(type, true), 'ok');
    for (const type of ['tmpfs', 'ramfs']) assert.equal(state(type, false), 'problem');
    for (const type of ['nfs', 'nfs4', 'cifs', '9p', 'fuse.sshfs', 'ceph'])
      assert.deepEqual([state(type, true), state(type, false)], ['problem', 'warning'], type);
    assert.equal(state('overlay', true), 'warning');
    assert.equal(state('ext4', true, true), 'problem');
    assert.equal(checkFileSystem('/data', undefined, true).state, 'ok');
  });

  test('space and flushes are enough', () => {
    const gib = 2 ** 30;
    assert.deepEqual(
      [checkSpace('/d', 50 * gib, 100 * gib), checkSpace('/d', 5 * gib, 100 * gib), checkSpace('/d', gib / 2, gib)].map(
        ({ state }) => state,
      ),
      ['ok', 'warning', 'problem'],
    );
    assert.deepEqual(
      [0.001, 0.05, 3, 50, 500].map((milliseconds) => checkFlush(milliseconds).state),
      ['warning', 'ok', 'ok', 'warning', 'problem'],
    );
  });
});
