import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { checkProgram, type FileFacts, listFaultsOfOwnFile, listFaultsOfSecret } from './files.ts';

const file = (mode: number, uid = 998, gid = 998): FileFacts => ({ path: '/data/x', mode, uid, gid });
const alone = { user: 998, group: undefined };
const shared = { user: 998, group: 50 };

describe('rules about files', () => {
  test('files of the service belong to its user, and to the configured group', () => {
    const advice = (facts: FileFacts, access = alone as typeof alone | typeof shared): (string | undefined)[] =>
      listFaultsOfOwnFile('permissions', facts, access).map((fault) => {
        assert.equal(fault.state, 'problem');
        return fault.advice;
      });
    assert.deepEqual(advice(file(0o600)), []);
    assert.deepEqual(advice(file(0o644)), ['chmod go-rwx /data/x']);
    assert.deepEqual(advice(file(0o604)), ['chmod o-rwx /data/x']);
    assert.deepEqual(advice(file(0o640)), ['chmod g-rwx /data/x']);
    assert.deepEqual(advice(file(0o600, 0)), ['chown 998 /data/x']);
    assert.deepEqual(advice(file(0o660, 998, 50), shared), []);
    assert.deepEqual(advice(file(0o660, 998, 51), shared), ['chmod g-rwx /data/x']);
    assert.deepEqual(advice(file(0o666, 998, 50), shared), ['chmod o-rwx /data/x']);
  });

  test('secrets of the operator may belong to root, and to a group that reads', () => {
    const states = (facts: FileFacts): string[] =>
      listFaultsOfSecret('permissions', facts, alone).map(({ state }) => state);
    assert.deepEqual(states(file(0o600)), []);
    assert.deepEqual(states(file(0o400, 0, 0)), []);
    assert.deepEqual(states(file(0o640, 0, 7)), ['warning']);
    assert.deepEqual(states(file(0o660, 0, 7)), ['problem']);
    assert.deepEqual(states(file(0o604)), ['problem']);
    assert.deepEqual(states(file(0o600, 1000)), ['problem']);
  });

  test('the program cannot be changed by others', () => {
    assert.equal(checkProgram([file(0o755), file(0o644)]).state, 'ok');
    assert.equal(checkProgram([file(0o755), file(0o646)]).state, 'problem');
    assert.equal(checkProgram([file(0o1777)]).state, 'ok');
  });
});
