import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { OperatorError } from '../kernel/operator-error.ts';
import { addKeys } from './ask-secret.ts';

describe('keys of a secret', () => {
  test('are added until Enter, whatever the chunks', () => {
    assert.deepEqual(addKeys('', 'ab'), { text: 'ab', isComplete: false });
    assert.deepEqual(addKeys('ab', 'c d\rrest'), { text: 'abc d', isComplete: true });
    assert.deepEqual(addKeys('', '\n'), { text: '', isComplete: true });
  });

  test('are erased one character at a time', () => {
    assert.deepEqual(addKeys('a🔑', '\u007f'), { text: 'a', isComplete: false });
    assert.deepEqual(addKeys('', '\b\bx'), { text: 'x', isComplete: false });
  });

  test('end with Ctrl-C and Ctrl-D', () => {
    for (const key of ['\u0003', '\u0004']) assert.throws(() => addKeys('secret', key), OperatorError);
  });
});
