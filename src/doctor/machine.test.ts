import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkCoreDumps, checkMemoryReaders, checkNode, checkOpenFiles, checkSwap, checkUser } from './machine.ts';

const limits = (core: string, files: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax core file size        ${core}                    0                    bytes\nMax open files            ${files}                 1048576              files\n`;

describe('rules about the machine', () => {
  test('Node is new enough and supported for long', () => {
    assert.deepEqual(
      ['v24.21.0', 'v26.0.0', 'v25.1.0', 'v22.9.0'].map((version) => checkNode(version).state),
      ['ok', 'ok', 'warning', 'problem'],
    );
  });

  test('root is no user of the service', () => {
    assert.deepEqual([checkUser(0, true).state, checkUser(0, false).state], ['problem', 'problem']);
    assert.deepEqual([checkUser(998, true).state, checkUser(undefined, false).state], ['ok', 'ok']);
  });

  test('core dumps are forbidden by the limit, and by the program that gets them', () => {
    assert.equal(checkCoreDumps(limits('0', '1024'), 'core').state, 'ok');
    assert.equal(checkCoreDumps(limits('unlimited', '1024'), 'core').state, 'problem');
    assert.equal(checkCoreDumps('', '').state, 'warning');
    assert.equal(checkCoreDumps(limits('0', '1'), '|/usr/lib/systemd/systemd-coredump %P %u').state, 'ok');
    const other = checkCoreDumps(limits('0', '1'), '|/usr/share/apport/apport -p%p');
    assert.deepEqual([other.state, other.message.includes('/usr/share/apport/apport')], ['warning', true]);
  });

  test('swap space is absent, in memory or encrypted', () => {
    const head = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';
    const encrypted = (device: string): boolean => device === '/dev/dm-1';
    assert.equal(checkSwap(head, encrypted).state, 'ok');
    assert.equal(checkSwap(`${head}/dev/zram0 partition 1 0 100\n/dev/dm-1 partition 1 0 -2\n`, encrypted).state, 'ok');
    const open = checkSwap(`${head}/dev/dm-1 partition 1 0 -2\n/swap.img file 1 0 -3\n`, encrypted);
    assert.deepEqual(
      [open.state, open.message.includes('/swap.img'), open.message.includes('dm-1')],
      ['warning', true, false],
    );
    assert.equal(checkSwap(`${head}/dev/sda2 partition 1 0 -2\n`, () => undefined).state, 'warning');
    assert.equal(checkSwap(undefined, encrypted).state, 'warning');
  });

  test('few open files and readable memory are pointed out', () => {
    assert.deepEqual(
      ['1024', '4096', 'unlimited'].map((files) => checkOpenFiles(limits('0', files)).state),
      ['warning', 'ok', 'ok'],
    );
    assert.deepEqual(
      ['0\n', '1\n', '2\n', '3\n', '4\n', ''].map((scope) => checkMemoryReaders(scope).state),
      ['warning', 'ok', 'ok', 'ok', 'warning', 'warning'],
    );
  });
});
