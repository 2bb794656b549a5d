import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertDisplayable, assertUnambiguous, escapeInvisible } from './displayable.ts';
import { Failure } from './failure.ts';

/**
 * Returns the text of the rejection, which names the field and contains nothing of the value; undefined without a
 * rejection.
 */
function refusal(read: (text: string, field: string) => void, text: string): string | undefined {
  try {
    read(text, 'name');
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Failure);
    assert.deepEqual([error.code, error.field], ['invalid_field', 'name']);
    assert.ok(!error.message.includes(text));
    return error.message;
  }
}

describe('a text that users type for other users', () => {
  it('is accepted as it was typed', () => {
    const unseen = [
      '\0',
      '\n',
      '\u007f',
      '\u00ad',
      '\u061c',
      '\u200b',
      '\u200d',
      '\u200e',
      '\u2028',
      '\u2029',
      '\u202e',
    ];
    const blank = [
      '\u034f',
      '\u115f',
      '\u1160',
      '\u3164',
      '\uffa0',
      '\u17b4',
      '\u180b',
      '\u2065',
      '\u2800',
      '\ufffc',
      '\u{1d159}',
    ];
    const ungiven = ['\u0378', '\ufff0', '\uffff', '\ufdd0', '\ue000', '\u{e0080}', '\u{e0100}', '\u{10ffff}'];
    const others = ['\u2060', '\u2066', '\u2069', '\ufe0f', '\ufe00', '\ufeff', '\ud800', '\u{e0041}'];
    for (const character of [...unseen, ...blank, ...ungiven, ...others])
      for (const text of [character, `${character}Ana`, `An${character}a`, `Ana${character}`])
        for (const read of [assertDisplayable, assertUnambiguous])
          assert.equal(refusal(read, text), 'name: contains invisible characters; remove them', escape(text));
  });

  it('contains no number that a card issuer could have issued, and may contain other numbers', () => {
    for (const text of ['4111111111111111', 'till 4111 1111 1111 1111', '3782-822463-10005']) {
      for (const read of [assertDisplayable, assertUnambiguous])
        assert.equal(refusal(read, text), 'name: expected no card number', text);
    }
    // The Luhn check passes for each of them.
    for (const text of ['MID 101230045678001', '573001234567', '000000000000'])
      assert.equal(refusal(assertDisplayable, text), undefined, text);
  });

  it('is in any language', () => {
    for (const text of ['', 'Ana María López-Núñez', 'Ольга', 'Ελένη', '山田 太郎', 'نور', 'till ❤️ 4', '12/29', '4111'])
      assert.equal(refusal(assertDisplayable, text), undefined, text);
  });

  it('may contain the character that selects a colored picture, and only behind a character that has one', () => {
    for (const text of ['Shop ❤️', '☀️ ✈️', '©️', '🛍️'])
      assert.equal(refusal(assertDisplayable, text), undefined, escape(text));
    for (const text of [
      '\ufe0f',
      '❤\ufe0f\ufe0f',
      '😀\ufe0f',
      '★\ufe0f',
      '4\ufe0f',
      '4\ufe0f\u20e3',
      'a\ufe0f',
      '❤ \ufe0f',
      '❤\ufe0e',
    ])
      assert.equal(refusal(assertDisplayable, text), 'name: contains invisible characters; remove them', escape(text));
  });

  it('is unambiguous where it identifies a user', () => {
    for (const text of ['ana@example.com', 'señor.lópez+1@пример.рф', '山田@example.jp'])
      assert.equal(refusal(assertUnambiguous, text), undefined, text);
    for (const text of [
      'ﬁ@example.com',
      'ana@ｅxample.com',
      'anaª@example.com',
      '𝐚na@example.com',
      'ana²@example.com',
      '❤️@example.com',
    ])
      assert.equal(refusal(assertUnambiguous, text), 'name: expected letters in their plain form', text);
  });

  it('is shown with the code points of its invisible characters', () => {
    assert.equal(escapeInvisible('till \u202egnp\n\u{e0041}'), 'till \\u{202e}gnp\\u{a}\\u{e0041}');
    assert.equal(escapeInvisible('ca\u034frla\u3164'), 'ca\\u{34f}rla\\u{3164}');
    assert.equal(escapeInvisible('Ana ❤️ a\ufe0f'), 'Ana ❤️ a\\u{fe0f}');
  });
});
