import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY, MINUTE, SECOND } from '../kernel/clock.ts';
import { checkOffset, checkSynchronization, checkTrust } from './time.ts';

describe('rules about the clock', () => {
  test('a difference to the database is a problem where the clock of the machine decides', () => {
    assert.equal(checkOffset(500, true).state, 'ok');
    assert.equal(checkOffset(-30 * SECOND, false).state, 'warning');
    const problem = checkOffset(30 * SECOND, true);
    assert.deepEqual([problem.state, problem.message], ['problem', 'this machine is 30.0 s ahead of the database']);
  });

  test('only a synchronized clock is fine', () => {
    assert.deepEqual(
      [true, false, undefined].map((each) => checkSynchronization(each).state),
      ['ok', 'warning', 'warning'],
    );
  });

  test('trusted time follows what the service has found', () => {
    const now = 100 * DAY;
    const trusted = { at: now - MINUTE, since: 0 };
    const distrust = { reason: 'ahead', at: now - SECOND, expected: 0 } as const;
    assert.equal(checkTrust({ trusted }, now).state, 'ok');
    assert.equal(checkTrust({ trusted, distrust }, now).state, 'problem');
    assert.equal(checkTrust({ trusted, distrust: { ...distrust, at: now - DAY } }, now).state, 'ok', 'an old finding');
    assert.equal(checkTrust({ trusted: { ...trusted, at: now + DAY } }, now).state, 'problem');
    assert.equal(checkTrust({ trusted: { ...trusted, at: now - DAY } }, now).state, 'warning');
    assert.equal(checkTrust({}, now).state, 'warning');
  });
});
