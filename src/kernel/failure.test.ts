import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FAILURES, Failure, type FailureCode, invalidField } from './failure.ts';

describe('a failure', () => {
  it('contains the text of its code', () => {
    for (const [code, text] of Object.entries(FAILURES)) {
      const failure = new Failure(code as FailureCode);
      assert.equal(failure.message, text);
      assert.equal(failure.code, code);
      assert.equal(failure.field, undefined);
      assert.equal(failure.name, 'Failure');
      assert.ok(failure instanceof Error);
    }
  });

  it('of a field starts with the path of the field', () => {
    const failure = invalidField('chd[3].exp', 'expiryShort');
    assert.equal(failure.message, 'chd[3].exp: expected MM/YY');
    assert.equal(failure.field, 'chd[3].exp');
    assert.equal(failure.code, 'invalid_field');
    assert.equal(new Failure('unknown_token', { field: 'token' }).message, 'token: no such token');
  });

  it('keeps its cause out of its text', () => {
    const cause = new Error('private: 4111111111111111');
    const failure = new Failure('internal', { cause });
    assert.equal(failure.cause, cause);
    assert.equal(failure.message, 'Internal error.');
    assert.ok(!JSON.stringify(failure).includes('4111'));
  });
});

describe('the texts of failures', () => {
  it('are sentences, or what follows a field; no two are equal', () => {
    const texts = Object.values(FAILURES);
    for (const text of texts) assert.match(text, /^([A-Z].*\.|[a-z].*[a-z])$/);
    assert.equal(new Set(texts).size, texts.length);
  });
});
