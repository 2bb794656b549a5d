import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../kernel/limits.ts';
import { Cache } from '../storage/cache.ts';
import { keepSettings, type UnsealedSettings } from './session-store.ts';

test('settings are kept for a limited time, and large ones never', () => {
  let now = 0;
  const recent = new Cache<string, UnsealedSettings>({ clock: () => now, max: 10, ttlMs: 1000 });
  const keep = (id: string, bytes: number): UnsealedSettings => {
    const unsealed = { created: { id, record: Buffer.alloc(bytes) }, settings: {} } as unknown as UnsealedSettings;
    keepSettings(recent, unsealed);
    return unsealed;
  };
  const usual = keep('usual', LIMITS.recentSessionBytes);
  keep('large', LIMITS.recentSessionBytes + 1);
  assert.deepEqual(recent.peek('usual'), usual);
  assert.equal(recent.peek('large'), undefined);
  now = 1000;
  keep('next', 1);
  // Its time is over also for a clock that was set back.
  now = 0;
  assert.equal(recent.peek('usual'), undefined);
});
