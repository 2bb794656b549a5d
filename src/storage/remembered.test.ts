import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Tenant } from '../kernel/environment.ts';
import { Remembered } from './remembered.ts';

const TENANT: Tenant = { account: 'acc', environment: 'sandbox' };

describe('what is remembered of a tenant', () => {
  /** A reader that finds what is next, and what it was given of before. */
  function reader(found: readonly string[]) {
    let now = 0;
    const rest = [...found];
    const befores: (string | undefined)[] = [];
    const remembered = new Remembered<string>(
      () => now,
      (each) => each !== 'none',
    );
    return {
      befores,
      remembered,
      at: (time: number, tenant = TENANT) => {
        now = time;
        return remembered.get(tenant, async (before) => {
          befores.push(await before);
          const next = rest.shift();
          if (next === undefined) throw new Error('nothing to read');
          return next;
        });
      },
    };
  }

  test('is read again after 2 seconds, with what was read before', async () => {
    const { at, befores } = reader(['one', 'two']);
    assert.deepEqual([await at(0), await at(1999), await at(2000), await at(3999)], ['one', 'one', 'two', 'two']);
    assert.deepEqual(befores, [undefined, 'one']);
  });

  test('is read once for all who ask meanwhile', async () => {
    const { at } = reader(['one']);
    assert.deepEqual(await Promise.all([at(0), at(0)]), ['one', 'one']);
  });

  test('is read again when the clock was put back', async () => {
    const { at } = reader(['one', 'two']);
    assert.deepEqual([await at(5000), await at(4999)], ['one', 'two']);
  });

  test('is nothing where nothing was found, or reading failed', async () => {
    const { at } = reader(['none', 'one']);
    assert.deepEqual([await at(0), await at(0)], ['none', 'one']);
    await assert.rejects(at(2000), /nothing to read/);
    await assert.rejects(at(2000), /nothing to read/);
  });

  test('is forgotten on request, and of one account in one environment only', async () => {
    const { at, remembered } = reader(['one', 'two', 'three', 'four']);
    const others: Tenant[] = [
      { ...TENANT, account: 'other' },
      { ...TENANT, environment: 'production' },
    ];
    assert.deepEqual([await at(0), await at(0, others[0]), await at(0, others[1])], ['one', 'two', 'three']);
    remembered.forget(TENANT);
    assert.deepEqual([await at(0), await at(0, others[0]), await at(0, others[1])], ['four', 'two', 'three']);
  });
});
