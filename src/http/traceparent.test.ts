import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { formatTraceParent, parseTraceParent } from './traceparent.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';

describe('traceparent', () => {
  test('the example of the standard is read and written', () => {
    const parent = { traceId: TRACE, spanId: SPAN, isSampled: true };
    assert.deepEqual(parseTraceParent(`00-${TRACE}-${SPAN}-01`), parent);
    assert.equal(formatTraceParent(parent), `00-${TRACE}-${SPAN}-01`);
    assert.equal(formatTraceParent({ ...parent, isSampled: false }), `00-${TRACE}-${SPAN}-00`);
  });

  test('flags of later versions, and members behind them, are accepted', () => {
    assert.equal(parseTraceParent(`00-${TRACE}-${SPAN}-00`)?.isSampled, false);
    assert.equal(parseTraceParent(`00-${TRACE}-${SPAN}-03`)?.isSampled, true);
    assert.equal(parseTraceParent(`01-${TRACE}-${SPAN}-01-what-the-future-brings`)?.traceId, TRACE);
  });

  for (const [name, text] of [
    ['nothing', undefined],
    ['an empty text', ''],
    ['capital digits', `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ['the version ff', `ff-${TRACE}-${SPAN}-01`],
    ['members that the first version lacks', `00-${TRACE}-${SPAN}-01-x`],
    ['an id of zeros', `00-${'0'.repeat(32)}-${SPAN}-01`],
    ['a parent of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['a short id', `00-${TRACE.slice(1)}-${SPAN}-01`],
    ['two values', `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ['a card number as the parent', `00-${TRACE}-4111111111111111-01`],
    ['a card number in the id', `00-a4111111111111111bcdefabcdefabcd-${SPAN}-01`],
    ['a card number in a longer run of digits', `00-a994111111111111111123defabcdefa-${SPAN}-01`],
    ['other characters', `00-${TRACE}-${SPAN}-0g`],
  ] as const)
    test(`${name} is no parent`, () => assert.equal(parseTraceParent(text), undefined));
});
