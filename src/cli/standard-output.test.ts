import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classifyOutput } from './standard-output.ts';

const file = { dev: 25n, ino: 9_007_199_254_740_993n };

test('recognizes a terminal, the stream of the journal, and any other file', () => {
  assert.equal(classifyOutput(true, undefined, file), 'terminal');
  assert.equal(classifyOutput(false, '25:9007199254740993', file), 'journal');
  assert.equal(classifyOutput(false, '25:9007199254740992', file), 'other');
  assert.equal(classifyOutput(false, undefined, file), 'other');
});
