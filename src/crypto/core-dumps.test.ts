import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mayDumpCore } from './core-dumps.ts';

/** A row of the limits as Linux writes them. */
const limits =
  (core: string): (() => string) =>
  () =>
    [
      'Limit                     Soft Limit           Hard Limit           Units     ',
      'Max stack size            8388608              unlimited            bytes     ',
      ...(core === '' ? [] : [`Max core file size        ${core.padEnd(20)} unlimited            bytes     `]),
      '',
    ].join('\n');

describe('core dumps', () => {
  test('are off when the soft limit is 0', () => assert.equal(mayDumpCore(limits('0')), false));

  test('are on with any other limit', () => {
    for (const limit of ['unlimited', '1', '10']) assert.equal(mayDumpCore(limits(limit)), true, limit);
  });

  test('are unknown where the system does not report it', () => {
    assert.equal(mayDumpCore(limits('')), undefined);
    assert.equal(
      mayDumpCore(() => ''),
      undefined,
    );
  });

  test('are known on Linux', { skip: process.platform !== 'linux' && 'this is no Linux' }, () => {
    assert.equal(typeof mayDumpCore(), 'boolean');
  });
});
