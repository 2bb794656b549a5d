import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildSettingDetails } from './setting-details.ts';

const isPublic = (name: string): boolean => name !== 'secret';

test('settings are audited by name, with the values of those that are not secret', () => {
  const [before, after] = [
    { 'base-url': 'https://one.example', secret: 'old', other: 'x', gone: 'y' },
    { 'base-url': 'https://two.example', secret: 'new', other: 'x', fresh: 'z' },
  ];
  assert.deepEqual(buildSettingDetails(['base-url', 'secret', 'gone', 'fresh'], before, after, isPublic), {
    settings: ['base-url', 'secret', 'gone', 'fresh'],
    old_values: ['base-url=https://one.example', 'secret=(secret)', 'gone=y'],
    new_values: ['base-url=https://two.example', 'secret=(changed)', 'fresh=z'],
  });
});

test('settings that were not changed are not audited, and card numbers are truncated', () => {
  assert.deepEqual(buildSettingDetails([], {}, { a: 'b' }, isPublic), { settings: [] });
  assert.deepEqual(buildSettingDetails(['id'], {}, { id: '4111111111111111' }, isPublic).new_values, [
    'id=411111******1111',
  ]);
});
