import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { describeOperator, identifyOperator } from './operator-identity.ts';

const ana = () => ({ uid: 1001, username: 'ana' });

describe('the operator of a command', () => {
  test('is the user of the operating system', () => {
    const { actor } = identifyOperator(undefined, ana);
    assert.deepEqual(actor, { type: 'operator', id: 'uid:1001', name: 'ana', source: 'os-user' });
    assert.equal(describeOperator(actor), 'recorded in the audit log as operator ana (user of the operating system)');
  });

  test('has the configured name, and still the id of the user', () => {
    const { actor } = identifyOperator('Olga', ana);
    assert.deepEqual(actor, { type: 'operator', id: 'uid:1001', name: 'Olga', source: 'setting' });
    assert.equal(describeOperator(actor), 'recorded in the audit log as operator Olga (CARDVAULT_OPERATOR)');
  });

  test('has a displayable name whatever the user directory returns', () => {
    const { actor } = identifyOperator(undefined, () => ({ uid: 7, username: 'a\u202ena' }));
    assert.equal(actor.name, 'a\\u{202e}na');
  });

  test('is identified in the test process as well', () => {
    const { actor } = identifyOperator(undefined);
    assert.equal(actor.id, `uid:${process.geteuid?.()}`);
    assert.ok(actor.name !== undefined && actor.name !== '');
  });
});
