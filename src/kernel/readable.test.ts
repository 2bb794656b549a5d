import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Failure } from './failure.ts';
import { mustBeReadable, mustBeSeen, withUnseenShown } from './readable.ts';

/** The text of the refusal, which names the field and holds nothing of the value; undefined for none. */
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

describe('what people type for others to read', () => {
  it('looks as it is', () => {
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
    for (const sign of [...unseen, '\u2060', '\u2066', '\u2069', '\ufeff', '\ud800', '\u{e0041}'])
      for (const text of [sign, `${sign}Ana`, `An${sign}a`, `Ana${sign}`])
        for (const read of [mustBeSeen, mustBeReadable])
          assert.equal(refusal(read, text), 'name: expected no signs that are not seen', escape(text));
  });

  it('holds no card number, in no disguise', () => {
    for (const text of [
      '4111111111111111',
      'till 4111 1111 1111 1111',
      '4111.1111.1111.1111',
      '４１１１１１１１１１１１１１１１',
    ]) {
      assert.equal(refusal(mustBeReadable, text), 'name: expected no card number', text);
      assert.equal(refusal(mustBeSeen, text), undefined);
    }
  });

  it('is in any language', () => {
    for (const text of ['', 'Ana María López-Núñez', 'Ольга', 'Ελένη', '山田 太郎', 'نور', 'till ❤️ 4', '12/29', '4111'])
      assert.equal(refusal(mustBeReadable, text), undefined, text);
  });

  it('is shown with the numbers of the signs that are not seen', () => {
    assert.equal(withUnseenShown('till \u202egnp\n\u{e0041}'), 'till \\u{202e}gnp\\u{a}\\u{e0041}');
    assert.equal(withUnseenShown('Ana ❤️'), 'Ana ❤️');
  });
});
