import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Cache, costAwareTtl } from './cache.ts';

describe('Cache', () => {
  /** Returns a loader that returns the next of the given values, at times that the test sets. */
  function startCache(
    values: readonly string[],
    options: { ttlMs?: number | ((ms: number) => number); max?: number } = {},
  ) {
    let now = 0;
    const rest = [...values];
    const stales: (string | undefined)[] = [];
    const cache = new Cache<string, string>({
      clock: () => now,
      max: options.max ?? 10,
      ttlMs: options.ttlMs ?? 2000,
      isCacheable: (value) => value !== 'none',
    });
    const load = async (stale: string | undefined): Promise<string> => {
      stales.push(stale);
      const next = rest.shift();
      if (next === undefined) throw new Error('nothing to load');
      return next;
    };
    const at = (time: number, key = 'key'): Promise<string> => {
      now = time;
      return cache.get(key, load);
    };
    return { cache, at, stales, setTime: (time: number) => (now = time) };
  }

  test('loads again after the TTL, and gives the loader the expired value', async () => {
    const { at, stales } = startCache(['one', 'two']);
    assert.deepEqual([await at(0), await at(1999), await at(2000), await at(3999)], ['one', 'one', 'two', 'two']);
    assert.deepEqual(stales, [undefined, 'one']);
  });

  test('loads once for all concurrent callers', async () => {
    const { at } = startCache(['one']);
    assert.deepEqual(await Promise.all([at(0), at(0)]), ['one', 'one']);
  });

  test('loads again after the clock was set back', async () => {
    const { at } = startCache(['one', 'two']);
    assert.deepEqual([await at(5000), await at(4999)], ['one', 'two']);
  });

  test('caches neither errors nor what is not cacheable', async () => {
    const { at } = startCache(['none', 'one']);
    assert.deepEqual([await at(0), await at(0)], ['none', 'one']);
    await assert.rejects(at(2000), /nothing to load/);
    await assert.rejects(at(2000), /nothing to load/);
  });

  test('deletes one key and keeps the others', async () => {
    const { at, cache } = startCache(['one', 'two', 'three']);
    assert.deepEqual([await at(0), await at(0, 'other')], ['one', 'two']);
    cache.delete('key');
    assert.deepEqual([await at(0), await at(0, 'other')], ['three', 'two']);
  });

  test('peeks at values that are loaded and fresh', async () => {
    const { at, cache, setTime } = startCache(['one']);
    assert.equal(cache.peek('key'), undefined);
    const loading = at(0);
    assert.equal(cache.peek('key'), undefined);
    await loading;
    assert.equal(cache.peek('key'), 'one');
    setTime(2000);
    assert.equal(cache.peek('key'), undefined);
    cache.set('key', 'two');
    assert.equal(cache.peek('key'), 'two');
  });

  test('drops values that have expired, and keeps the others', async () => {
    const { at, cache, stales } = startCache(['one', 'two', 'three', 'four']);
    await at(0);
    await at(1500, 'other');
    cache.dropExpired();
    assert.deepEqual([cache.peek('key'), cache.peek('other')], ['one', 'two']);
    await at(2500, 'third');
    cache.dropExpired();
    assert.equal(cache.peek('other'), 'two');
    await at(2600);
    assert.equal(stales.at(-1), undefined, 'the loader gets no value that was dropped');
  });

  test('drops the oldest value beyond its maximum, and none for a value that is not cacheable', async () => {
    const { at, cache } = startCache(['one', 'two', 'none', 'three'], { max: 2 });
    await at(0, 'a');
    await at(0, 'b');
    await at(0, 'c');
    assert.deepEqual(
      ['a', 'b', 'c'].map((key) => cache.peek(key)),
      ['one', 'two', undefined],
    );
    await at(0, 'd');
    assert.deepEqual(
      ['a', 'b', 'd'].map((key) => cache.peek(key)),
      [undefined, 'two', 'three'],
    );
  });

  test('caches slow loads for longer', async () => {
    let now = 0;
    const cache = new Cache<string, number>({ clock: () => now, max: 10, ttlMs: costAwareTtl });
    const load = (tookMs: number) => async () => {
      now += tookMs;
      return now;
    };
    assert.equal(await cache.get('slow', load(500)), 500);
    now = 500 + 49_999;
    assert.equal(cache.peek('slow'), 500);
    now = 500 + 50_000;
    assert.equal(cache.peek('slow'), undefined);
    now = 0;
    await cache.get('fast', load(1));
    now = 10_000;
    assert.equal(cache.peek('fast'), 1);
    now = 10_001;
    assert.equal(cache.peek('fast'), undefined);
  });
});
