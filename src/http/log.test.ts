import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeError } from './log.ts';

describe('the description of an error in the log', () => {
  test('has its type, its code and where it was thrown', () => {
    const found = describeError(Object.assign(new TypeError('a message'), { code: 'ERR_A' }));
    assert.equal(found.error, 'TypeError ERR_A');
    assert.match(found.frames?.[0] ?? '', /^at .*log\.test\.ts:[0-9]+:[0-9]+\)?$/);
    assert.equal(describeError('text').error, 'string');
  });

  test('has nothing of its message, also when that has lines like those of a stack', () => {
    const digits = '4111111111111111';
    for (const message of [digits, `a\n    at ${digits} (file:///a.ts:1:1)\n    at ${digits}`, '']) {
      const described = describeError(new Error(message));
      assert.equal(JSON.stringify(described).includes(digits), false, message);
      assert.match(described.frames?.[0] ?? '', /log\.test\.ts/);
    }
  });
});
