import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Random } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { chooseRequestId } from './request-id.ts';

const ZEROS: Random = { bytes: (size) => new Uint8Array(size), below: () => 0 };
const OWN = '00000000-0000-4000-8000-000000000000';

describe('a request id', () => {
  it('is that of the client when it is harmless', () => {
    for (const id of [
      'chaos-812-000123',
      '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c',
      '4bf92f3577b34da6a3ce929d0e0e4736',
      '1-67891233-abcdef012345678912345678',
      'order_2026.11.20_0042',
      'x'.repeat(LIMITS.requestIdCharacters),
    ])
      assert.equal(chooseRequestId(id, ZEROS), id);
  });

  it('is a new one when that of the client contains a Luhn-valid run of 12 or more digits', () => {
    for (const id of [
      '4111111111111111',
      '4111-1111-1111-1111',
      'order-5454-5454-5454-5454-7',
      '4111.1111.1111.1111',
      '4111_1111_1111_1111',
      'order.4111-1111_1111.1111',
      'a4111111111111111b',
      '00004111111111111111',
      '000000000000',
    ])
      assert.equal(chooseRequestId(id, ZEROS), OWN, id);
  });

  it('is a new one for anything else', () => {
    const long = 'x'.repeat(LIMITS.requestIdCharacters + 1);
    for (const id of [undefined, '', 'a b', 'a\n', 'é', ['a', 'b'], long, 'cv_production_abc', 'cv_sandbox_abc'])
      assert.equal(chooseRequestId(id, ZEROS), OWN, String(id));
  });
});
