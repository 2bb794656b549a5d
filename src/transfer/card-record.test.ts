import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { anyText, type Field, plainText } from '../http/fields.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type CardValues, parseCard, type SourceFormat } from './card-record.ts';

const OWN_IMPORT = `import:${'4111111111111111'.repeat(2)}`;
const DEFAULTS = {
  ...({ scheme: 7, isPersistent: false, bin: 6, now: 0 } as const),
  creator: { id: OWN_IMPORT, name: 'import' },
};
const PAN = '4111111111111111';

/** The field of the fault, or nothing. */
const faultOf = (values: CardValues, format: SourceFormat): string => {
  const parsed = parseCard({ pan: PAN, ...values }, DEFAULTS, format);
  return 'fault' in parsed ? parsed.fault.field : '';
};

const accepts = (field: Field<string>, text: string): boolean => {
  try {
    return field.parse(text) === text;
  } catch {
    return false;
  }
};

describe('texts of a card', () => {
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', '\0', '\n', '\x7f', '\ud800', '\udc00', '😀'), minLength: 1 }),
    fc
      .tuple(fc.constantFrom('a', '\ud800', '😀'), fc.integer({ min: 250, max: 260 }))
      .map(([sign, count]) => sign.repeat(count)),
  );

  test('in an export are those that requests of the API may have', () => {
    const name = plainText(LIMITS.nameCharacters, 'A name');
    const tag = anyText(LIMITS.tagCharacters, 'A tag');
    fc.assert(
      fc.property(text, (each) => {
        assert.equal(faultOf({ name: each }, 'export'), accepts(name, each) ? '' : 'name');
        assert.equal(faultOf({ tags: [each] }, 'export'), accepts(tag, each) ? '' : 'tags');
      }),
      { numRuns: 1000 },
    );
  });

  test('of other systems are valid Unicode without U+0000', () => {
    for (const format of ['csv', 'jsonl'] as const)
      for (const broken of ['\ud800', 'a\udc00', 'a\0']) {
        assert.equal(faultOf({ name: broken }, format), 'name');
        assert.equal(faultOf({ tags: [broken] }, format), 'tags');
        assert.equal(faultOf({ created_by: { user_id: 'key', name: broken } }, format), 'created_by');
      }
  });
});

describe('the creator of a token', () => {
  const fault = (creator: unknown): string => faultOf({ created_by: creator }, 'export');

  test('may have an id of cardvault whose digits pass as a card number, and a name with digits', () => {
    for (const user_id of ['key_30569309025904', 'key_4222222222222a', 'person_30569309025904', OWN_IMPORT])
      for (const name of ['1', 'checkout', '1111 till']) assert.equal(fault({ user_id, name }), '', user_id);
    // The end of the id and the beginning of the name are no number.
    assert.equal(fault({ user_id: 'key_aaaaaa41111111', name: '11111111' }), '');
    assert.equal(fault({ user_id: 'till 41111111', name: '11111111' }), '');
    assert.equal(faultOf({ created_by: 'till' }, 'csv'), '');
  });

  test('has no card number in its name, nor in an id of another system', () => {
    for (const user_id of ['key_30569309025904', 'key_aaaaaaaaaaaaaa', undefined])
      assert.equal(fault({ user_id, name: `till ${PAN}` }), 'created_by');
    for (const user_id of [PAN, `key_${PAN}`, `import:${PAN}`, 'key_30569309025904 ', `user_${PAN}`])
      assert.equal(fault({ user_id, name: 'till' }), 'created_by', user_id);
    assert.equal(faultOf({ created_by: PAN }, 'csv'), 'created_by');
    assert.equal(fault({ user_id: 'key\n', name: 'till' }), 'created_by');
  });
});
