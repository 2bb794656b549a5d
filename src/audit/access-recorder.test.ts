import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openPeopleFixture, type PeopleFixture } from '../../test/fixtures/people-fixture.ts';
import { HOUR, MINUTE } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import { AccessRecorder, type LogReading } from './access-recorder.ts';

describe('a read of the audit log', () => {
  let fixture: PeopleFixture;
  before(async () => {
    fixture = await openPeopleFixture();
  });
  after(() => fixture.stop());

  const reader = (id: string) => ({
    origin: { actor: { type: 'person' as const, id, name: 'Ana' } },
    account: '',
    isPassive: false,
  });
  const recorded = async (id: string): Promise<number> =>
    (await fixture.records('')).filter(({ action, actor }) => action === 'audit.read' && actor.id === id).length;

  test('is recorded again, and never omitted, when there are more readers than cache entries', async () => {
    const readers = new AccessRecorder(fixture.core);
    const { clock } = fixture.core;
    const note = (id: string) => readers.record(clock, reader(id), { scope: { account: '' } });
    await note('first');
    await note('first');
    assert.equal(await recorded('first'), 1);
    const others = Array.from({ length: LIMITS.cachedAuditReads }, (_, index) => `other-${index}`);
    await Promise.all(others.map(note));
    await note('first');
    assert.deepEqual([await recorded('first'), await recorded('other-9999')], [2, 1]);
  });

  test('is recorded again after the clock was temporarily ahead', async () => {
    const readers = new AccessRecorder(fixture.core);
    fixture.advance(200 * HOUR);
    await readers.record(fixture.core.clock, reader('jump'), { scope: { account: '' } });
    fixture.advance(-200 * HOUR);
    await readers.record(fixture.core.clock, reader('jump'), { scope: { account: '' } });
    assert.equal(await recorded('jump'), 2);
  });

  test('is continued by the polls of its page for an hour, and not by reads, nor by polls after a pause', async () => {
    const recorder = new AccessRecorder(fixture.core);
    const { clock } = fixture.core;
    const poll = (id: string) => recorder.record(clock, { ...reader(id), isPassive: true }, { scope: { account: '' } });
    await recorder.record(clock, reader('viewer'), { scope: { account: '' } });
    for (let passed = 0; passed < HOUR - 4 * MINUTE; passed += 4 * MINUTE) {
      fixture.advance(4 * MINUTE);
      await poll('viewer');
    }
    assert.equal(await recorded('viewer'), 1);
    fixture.advance(4 * MINUTE);
    await poll('viewer');
    assert.equal(await recorded('viewer'), 2, 'after an hour');
    fixture.advance(6 * MINUTE);
    await poll('viewer');
    assert.equal(await recorded('viewer'), 3, 'after a pause');
    fixture.advance(4 * MINUTE);
    await poll('viewer');
    fixture.advance(4 * MINUTE);
    await recorder.record(clock, reader('viewer'), { scope: { account: '' } });
    assert.equal(await recorded('viewer'), 4, 'a read of the user');
    await poll('other');
    assert.equal(await recorded('other'), 1, 'a poll without a read before it');
  });

  test('is continued by polls of the same list and values alone, and of a read that was no poll', async () => {
    const recorder = new AccessRecorder(fixture.core);
    const { clock } = fixture.core;
    const read = (reading: Partial<LogReading>, isPassive = true) =>
      recorder.record(clock, { ...reader('thief'), isPassive }, { scope: { account: '' }, ...reading });
    const others = [
      { filters: { actor: 'two' } },
      { filters: { actor: 'one', outcome: 'success' } },
      { filters: { outcome: 'one' } },
      { filters: { actor: 'one' }, list: 'production' },
      { filters: { actor: 'one' }, scope: 'everything' as const },
      { filters: { actor: 'one' }, scope: { account: await fixture.newAccount() } },
    ];
    await read({ filters: { actor: 'one', target: undefined } }, false);
    await read({ filters: { actor: 'one' } });
    assert.equal(await recorded('thief'), 1);
    for (const [number, reading] of others.entries()) {
      await read(reading);
      assert.equal(await recorded('thief'), number + 2, JSON.stringify(reading));
    }
    // Polls that nothing of the user precedes are recorded as every read: once in five minutes.
    for (let round = 1; round <= 3; round++) {
      fixture.advance(4 * MINUTE);
      for (const reading of others) await read(reading);
    }
    assert.equal(await recorded('thief'), 1 + 2 * others.length);
    const records = JSON.stringify(await fixture.records(''));
    assert.ok(records.includes('"filters":"actor outcome"'));
  });

  test('is rejected when it cannot be recorded', async () => {
    const other = await openPeopleFixture();
    const readers = new AccessRecorder(other.core);
    await other.stop();
    for (let attempt = 0; attempt < 2; attempt++)
      await assert.rejects(readers.record(other.core.clock, reader('late'), { scope: { account: '' } }));
  });
});
