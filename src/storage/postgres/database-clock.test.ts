import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DatabaseClock } from './database-clock.ts';

const TIME = 1_700_000_000_000;

describe('the time of the database', () => {
  /** Both clocks run together; responses take `there` and `back` milliseconds. */
  const rig = ({ own = 0, there = 10, back = 10 } = {}) => {
    const state = { own, database: TIME, there, back };
    const pass = (time: number): void => {
      state.own += time;
      state.database += time;
    };
    const clock = new DatabaseClock(
      () => state.own,
      async () => {
        pass(state.there);
        const time = state.database;
        pass(state.back);
        return time;
      },
    );
    return { state, pass, clock };
  };

  test('is that of the system clock before the first reading', () => assert.equal(rig({ own: 5 }).clock.now(), 5));

  test('is independent of the system clock', async () => {
    for (const own of [0, TIME, TIME + 86_400_000, -5, 0.25]) {
      const { state, pass, clock } = rig({ own });
      await clock.sync();
      assert.ok(Math.abs(clock.now() - state.database) <= 1);
      pass(999);
      assert.ok(Math.abs(clock.now() - state.database) <= 1);
      assert.ok(Number.isInteger(clock.now()));
    }
  });

  test('is wrong by half of a one-sided delay at most', async () => {
    const { state, clock } = rig({ there: 240, back: 0 });
    await clock.sync();
    assert.equal(clock.now(), state.database + 120);
  });

  test('ignores a late response, unless it is the first', async () => {
    const { state, clock } = rig({ there: 2000, back: 0 });
    await clock.sync();
    assert.equal(clock.now(), state.database + 1000);
    Object.assign(state, { there: 0 });
    await clock.sync();
    assert.equal(clock.now(), state.database);
    Object.assign(state, { there: 5000 });
    await clock.sync();
    assert.equal(clock.now(), state.database);
  });

  test('is correct although the system clock stops and jumps between two readings', async () => {
    const { state, clock } = rig();
    await clock.sync();
    for (const jump of [-3_600_000, 3_600_000, 0]) {
      state.own += jump;
      state.database += 60_000;
      await clock.sync();
      assert.ok(Math.abs(clock.now() - state.database) <= 1);
    }
  });

  test('is correct although the system clock jumps back during a reading', async () => {
    let own = 0;
    let jump = 0;
    const clock = new DatabaseClock(
      () => own,
      async () => {
        own += jump;
        return TIME + own;
      },
    );
    await clock.sync();
    jump = -3_600_000;
    await clock.sync();
    own = 0;
    assert.equal(clock.now(), TIME);
  });

  test("follows a jump of the database's clock", async () => {
    const { state, clock } = rig();
    await clock.sync();
    state.database += 7_200_000;
    await clock.sync();
    assert.ok(Math.abs(clock.now() - state.database) <= 1);
  });

  test('advances by the system clock while the database is unavailable', async () => {
    let away = false;
    let own = 0;
    const clock = new DatabaseClock(
      () => own,
      async () => {
        if (away) throw new Error('away');
        return TIME;
      },
    );
    await clock.sync();
    away = true;
    await assert.rejects(clock.sync());
    own += 5000;
    assert.equal(clock.now(), TIME + 5000);
  });
});
