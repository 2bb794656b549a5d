import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chooseForm } from './card-form-files.ts';

const file = { body: Buffer.from('body'), gzip: Buffer.from('gzip'), brotli: Buffer.from('brotli') };

test('the best encoding that the client accepts is chosen, and none that it excludes', () => {
  for (const [accepted, expected] of [
    [undefined, undefined],
    ['', undefined],
    ['identity, deflate', undefined],
    ['gzip, deflate, br, zstd', 'br'],
    ['GZIP;q=0.5, BR;q=0.1', 'br'],
    ['br;q=0, gzip', 'gzip'],
    ['br; q=0.000, gzip;q=0', undefined],
    ['x-br, brotli', undefined],
  ] as const)
    assert.equal(chooseForm(file, accepted).encoding, expected, accepted);
  assert.equal(chooseForm(file, 'br').body, file.brotli);
});
