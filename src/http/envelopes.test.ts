import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fastJson from 'fast-json-stringify';
import { faultsOf } from '../../test/fixtures/json-schema.ts';
import { Failure, invalidField } from '../kernel/failure.ts';
import { ENVELOPES, type Family } from './envelopes.ts';

const FAMILIES = Object.keys(ENVELOPES) as Family[];
const DATA = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] };

describe('the envelope of a family', () => {
  it('contains the data of a success', () => {
    const data = { id: 'x' };
    assert.deepEqual(
      FAMILIES.map((family) => [family, ENVELOPES[family].success(data)]),
      [
        ['vault', { status_code: 200, status: 'success', desc: 'Success', data }],
        ['proxy', { status: 200, data }],
        ['payments', data],
        ['console', data],
      ],
    );
  });

  it('names a failure', () => {
    const failure = invalidField('amount', 'bytesUpTo', { max: 7 });
    const message = 'amount: expected at most 7 bytes';
    assert.deepEqual(
      FAMILIES.map((family) => [family, ENVELOPES[family].failure(failure, 400)]),
      [
        ['vault', { status_code: 400, status: 'fail', desc: message, data: '' }],
        ['proxy', { status_code: 400, status: 'fail', description: message, data: '' }],
        [
          'payments',
          { status: 'Fail', message, data: { code: 'invalid_field', description: message, path: 'amount' } },
        ],
        [
          'console',
          {
            code: 'invalid_field',
            reason: 'bytesUpTo',
            values: { max: 7 },
            message: 'expected at most 7 bytes',
            field: 'amount',
          },
        ],
      ],
    );
    const ours = ENVELOPES.payments.failure(new Failure('internal'), 500);
    const { message: text } = new Failure('internal');
    assert.deepEqual(ours, { status: 'Error', message: text, data: { code: 'internal', description: text, path: '' } });
  });

  for (const family of FAMILIES) {
    it(`is written and described alike: ${family}`, () => {
      const { success, successSchema, failure, failureSchema } = ENVELOPES[family];
      const schema = successSchema(DATA);
      assert.deepEqual(faultsOf(schema, success({ id: 'x' })), []);
      assert.deepEqual(JSON.parse(fastJson(schema)(success({ id: 'x', undeclared: 1 }))), success({ id: 'x' }));
      assert.deepEqual(faultsOf(failureSchema, failure(new Failure('access_denied'), 403)), []);
      assert.notDeepEqual(faultsOf(failureSchema, {}), []);
    });
  }
});
