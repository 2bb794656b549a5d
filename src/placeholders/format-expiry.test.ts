import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { formatExpiryAs } from './placeholders.ts';

describe('an expiry in a payload', () => {
  it('has each format, with years of this century', () => {
    const formats = ['MM', 'YY', 'YYYY', 'MM/YY', 'MM/YYYY', 'YYYY/MM', 'YYYY-MM'] as const;
    const written = (month: string, year: string) => formats.map((format) => formatExpiryAs({ month, year }, format));
    assert.deepEqual(written('02', '31'), ['02', '31', '2031', '02/31', '02/2031', '2031/02', '2031-02']);
    assert.deepEqual(written('12', '00'), ['12', '00', '2000', '12/00', '12/2000', '2000/12', '2000-12']);
  });

  it('is MM/YY where no format is given', () => {
    assert.equal(formatExpiryAs({ month: '07', year: '99' }), '07/99');
    assert.equal(formatExpiryAs({ month: '07', year: '99' }, undefined), '07/99');
  });
});
