import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { containsPan } from '../kernel/pan.ts';
import { buildOperationRef, type OperationRefFormat } from './operation-ref.ts';

const ID = 'abcdefghijklmnopqrstuvwxy';
const FORMAT: OperationRefFormat = { maxCharacters: 50, disallowed: /[^A-Za-z0-9_.#-]/g };
const refOf = (reference: string | undefined) => buildOperationRef(ID, reference, FORMAT);

describe('the operation reference', () => {
  it('is the merchant’s reference and the id', () => {
    assert.equal(refOf('A-1001'), `A-1001.${ID}`);
    assert.equal(refOf('2026.11#A_1'), `2026.11#A_1.${ID}`);
  });

  it('is the id alone without a reference, and for a processor without a format', () => {
    for (const reference of [undefined, '', ' ', '¡…!', '--']) assert.equal(refOf(reference), ID);
    assert.equal(buildOperationRef(ID, 'A-1001', undefined), ID);
  });

  it('has the allowed characters of the reference, from the first letter or digit on', () => {
    assert.equal(refOf('Pedido n.º 12 / año'), `Pedidon.12ao.${ID}`);
    assert.equal(refOf('-#A-1'), `A-1.${ID}`);
  });

  it('is cut to the length of the format, and the id never is', () => {
    assert.equal(refOf('x'.repeat(255)), `${'x'.repeat(24)}.${ID}`);
    assert.equal(buildOperationRef(ID, 'A-1', { ...FORMAT, maxCharacters: 20 }), ID);
  });

  it('omits a reference that reads as a card number, also when it does without its separators or its end', () => {
    for (const reference of [
      '4111111111111111',
      'order 4111 1111 1111 1111',
      'A4111-1111-1111-1111',
      '4111/1111/1111/1111',
      // Too long for a card number, until it is cut.
      `${'x'.repeat(8)}4111111111111111999`,
      'x4111111111111111y',
    ])
      assert.equal(refOf(reference), ID, reference);
    assert.equal(refOf('4111111111111112'), `4111111111111112.${ID}`);
  });

  it('is always accepted by the processor, unique by its id, and no card number', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.stringMatching(/^[0-9 -]{0,40}$/)), (reference) => {
        const ref = refOf(reference);
        assert.match(ref, /^[A-Za-z0-9_.#-]{1,50}$/);
        assert.ok(ref.endsWith(ID));
        assert.ok(!containsPan(ref));
      }),
    );
  });
});
