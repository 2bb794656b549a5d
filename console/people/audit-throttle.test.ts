import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { HOUR, MINUTE } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { BY_TEST, openPeopleFixture, overDatabase, type PeopleFixture } from '../../test/fixtures/people-fixture.ts';
import { AuditThrottle } from './audit-throttle.ts';

describe('a repeated event', () => {
  let fixture: PeopleFixture;
  let repeats: AuditThrottle;
  let run = 0;
  before(async () => {
    fixture = await openPeopleFixture();
  });
  after(() => fixture.stop());
  beforeEach(() => {
    run++;
    repeats = new AuditThrottle(fixture.core);
  });

  const note = (who: string, requestId = 'request') =>
    repeats.record([who], { actor: { type: 'person', id: `${who}-${run}` }, requestId }, (times) => [
      {
        action: 'access.denied',
        outcome: 'role',
        account: '',
        environment: '',
        detail: { route: '/', ...(times && { times }) },
      },
    ]);
  /** Returns the records of a user in this run: their counts and request ids. */
  const recorded = async (who: string): Promise<string[]> =>
    (await fixture.records(''))
      .filter(({ actor }) => actor.id === `${who}-${run}`)
      .map(({ detail, request_id }) => `${detail?.['times'] ?? 'first'} ${request_id}`);

  test('is recorded again after the clock was temporarily ahead', async () => {
    fixture.advance(200 * HOUR);
    await note('ana', '1');
    fixture.advance(-200 * HOUR);
    await note('ana', '2');
    assert.deepEqual(await recorded('ana'), ['first 2', 'first 1']);
  });

  test('is recorded immediately, and then as a count after some minutes', async () => {
    await note('ana', '1');
    assert.deepEqual(await recorded('ana'), ['first 1']);
    for (const request of ['2', '3', '4']) await note('ana', request);
    await note('ben', '5');
    await repeats.flush();
    assert.deepEqual([await recorded('ana'), await recorded('ben')], [['first 1'], ['first 5']]);
    fixture.advance(5 * MINUTE);
    await repeats.flush();
    await repeats.flush();
    assert.deepEqual([await recorded('ana'), await recorded('ben')], [['first 1', '3 4'], ['first 5']]);
    await note('ana', '6');
    fixture.advance(5 * MINUTE);
    await repeats.flush();
    assert.deepEqual(await recorded('ana'), ['first 1', '3 4', '1 6'], 'no more than one in that time');
    fixture.advance(5 * MINUTE);
    await repeats.flush();
    await note('ana', '7');
    assert.deepEqual(await recorded('ana'), ['first 1', '3 4', '1 6', 'first 7']);
  });

  test('is recorded with its count, also without a flush before it occurs again', async () => {
    for (const request of ['1', '2', '3']) await note('ana', request);
    fixture.advance(5 * MINUTE);
    await note('ana', '4');
    assert.deepEqual(await recorded('ana'), ['first 1', '2 3', 'first 4']);
  });

  test('is one record for many concurrent events, and counts all of them at the end', async () => {
    await Promise.all(Array.from({ length: 50 }, () => note('ana', '1')));
    assert.deepEqual(await recorded('ana'), ['first 1']);
    await Promise.all([repeats.flush({ all: true }), repeats.flush({ all: true })]);
    assert.deepEqual(await recorded('ana'), ['first 1', '49 1']);
  });

  test('is recorded each time, and never omitted, when there are more kinds than can be counted', async () => {
    const others = Array.from({ length: LIMITS.throttledAuditEvents }, (_, index) => `other-${index}`);
    await Promise.all(others.map((who) => repeats.record([who], BY_TEST, () => [])));
    await note('ana', '1');
    await note('ana', '2');
    assert.deepEqual(await recorded('ana'), ['first 1', 'first 2']);
    fixture.advance(5 * MINUTE);
    await repeats.flush();
    for (const request of ['3', '4']) await note('ana', request);
    assert.deepEqual(await recorded('ana'), ['first 1', 'first 2', 'first 3']);
  });

  test('is rejected while it cannot be recorded, and still counted', async () => {
    const { database } = fixture.core;
    const failing = { isAway: true };
    const away = Object.create(database, {
      commit: { value: (unit: never) => (failing.isAway ? Promise.reject(new Error('away')) : database.commit(unit)) },
    });
    repeats = new AuditThrottle(overDatabase(fixture.core, away));
    await assert.rejects(note('ana', '1'), /away/);
    await assert.rejects(note('ana', '2'), /away/);
    await assert.rejects(repeats.flush(), /away/);
    failing.isAway = false;
    await note('ana', '3');
    assert.deepEqual(await recorded('ana'), ['2 2', 'first 3']);
  });
});
