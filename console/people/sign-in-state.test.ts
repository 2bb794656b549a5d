import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DAY, HOUR, MINUTE, SECOND } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import {
  consumeChallenge,
  countFactorFailure,
  countFailure,
  isBrowserKnown,
  isLocked,
  lockedUntil,
  newSignInState,
  recordSignIn,
  type SignInState,
  type Source,
  withoutLocks,
} from './sign-in-state.ts';

const START = Date.UTC(2026, 0, 1);
const HOME: Source = { network: '192.0.2.1', browser: 'laptop' };
const at = (network: string, browser?: string): Source => ({ network, browser });
const stranger = (number: number): Source => at(`203.0.${number >> 8}.${number & 255}`);

const fail = (state: SignInState, source: Source, now: number, times = 1): SignInState => {
  let failed = state;
  for (let index = 0; index < times; index++) failed = countFailure(failed, source, now).state;
  return failed;
};

describe('the state of sign-ins', () => {
  const fresh = newSignInState(HOME, START);
  const LIMIT = LIMITS.signInFailures;

  test('locks a known browser only by its failures', () => {
    const elsewhere = fail(fail(fresh, at(HOME.network), START, LIMIT), stranger(1), START, LIMIT);
    assert.equal(isLocked(elsewhere, at(HOME.network), START), true);
    assert.equal(isLocked(elsewhere, HOME, START), false);
    const own = countFailure(fail(elsewhere, HOME, START, LIMIT - 1), HOME, START);
    assert.equal(own.locked, 'browser');
    assert.equal(isLocked(own.state, HOME, START + 30 * MINUTE - 1), true);
    assert.equal(isLocked(own.state, HOME, START + 30 * MINUTE), false);
    assert.equal(lockedUntil(own.state, START), START + 30 * MINUTE);
  });

  test('locks one network, and no others', () => {
    const state = fail(fresh, at(HOME.network), START, LIMIT);
    assert.equal(isLocked(state, at(HOME.network), START), true);
    assert.equal(isLocked(state, stranger(1), START), false, 'failures in a known network slow no others');
    const again = countFailure(state, at(HOME.network), START + 30 * MINUTE);
    assert.deepEqual([again.locked, isLocked(again.state, at(HOME.network), START + 30 * MINUTE)], [undefined, false]);
  });

  test('delays all new networks together, longer each time, and resets after a day', () => {
    let state = fresh;
    let now = START;
    for (let index = 1; index < LIMIT; index++) state = fail(state, stranger(index), now);
    assert.equal(isLocked(state, stranger(99), now), false);
    const first = countFailure(state, stranger(10), now);
    assert.equal(first.locked, 'new-networks');
    state = first.state;
    const delays: number[] = [];
    for (let index = 11; index < 22; index++) {
      const until = lockedUntil(state, now) ?? now;
      delays.push((until - now) / SECOND);
      assert.deepEqual([isLocked(state, stranger(index), until - 1), isLocked(state, HOME, now)], [true, false]);
      now = until;
      assert.equal(isLocked(state, stranger(index), now), false);
      state = fail(state, stranger(index), now);
    }
    assert.deepEqual(delays, [30, 60, 120, 240, 480, 960, 1800, 1800, 1800, 1800, 1800]);
    const later = fail(state, stranger(200), now + DAY);
    assert.equal(isLocked(later, stranger(201), now + DAY), false);
  });

  test('allows a distributed attack some fifty attempts a day', () => {
    let state = fresh;
    let judged = 0;
    for (let minute = 0; minute < 24 * 60; minute++) {
      const now = START + minute * MINUTE;
      if (isLocked(state, stranger(minute), now)) continue;
      judged++;
      state = fail(state, stranger(minute), now);
    }
    assert.ok(judged > 45 && judged < 70, `${judged}`);
    assert.equal(isLocked(state, HOME, START + DAY), false);
  });

  test('is bounded, and failures displace no known network', () => {
    let state = fresh;
    for (let index = 0; index < 3000; index++) state = fail(state, stranger(index), START + index * SECOND);
    assert.equal(state.networks.length, LIMITS.failedNetworksPerUser + 1);
    assert.ok(state.networks.some(({ id, signedInAt }) => id === HOME.network && signedInAt === START));
    for (let index = 0; index < 200; index++)
      state = recordSignIn(state, at(`198.51.100.${index}`, `browser-${index}`), START + HOUR + index);
    assert.equal(state.browsers.length, LIMITS.knownBrowsersPerUser);
    assert.equal(isBrowserKnown(state, at('', 'browser-199'), START + HOUR), true);
    assert.equal(isBrowserKnown(state, HOME, START + HOUR), false);
    const known = state.networks.filter(({ signedInAt }) => signedInAt !== undefined);
    assert.equal(known.length, LIMITS.knownNetworksPerUser);
  });

  test('deletes networks after 90 days, browsers after 180', () => {
    assert.equal(isBrowserKnown(fresh, HOME, START + 180 * DAY - 1), true);
    assert.equal(isBrowserKnown(fresh, HOME, START + 180 * DAY), false);
    assert.equal(isBrowserKnown(fresh, at(HOME.network), START), false);
    const slowed = (now: number) => {
      let state = fresh;
      for (let index = 0; index < LIMIT; index++) state = fail(state, stranger(index), now);
      return isLocked(state, at(HOME.network), now);
    };
    assert.deepEqual([slowed(START + 90 * DAY - 1), slowed(START + 90 * DAY)], [false, true]);
  });

  test('of new networks is reset by a sign-in there, and not by one from another network', () => {
    let state = fresh;
    for (let index = 0; index < LIMIT; index++) state = fail(state, stranger(index), START);
    assert.equal(isLocked(recordSignIn(state, HOME, START), stranger(99), START), true);
    assert.equal(isLocked(recordSignIn(state, stranger(98), START), stranger(99), START), false);
    assert.equal(lockedUntil(withoutLocks(state), START), undefined);
  });

  test('blocks a password after a number of wrong second factors, despite sign-ins and unlocks in between', () => {
    let state = fresh;
    for (let index = 1; index < LIMITS.secondFactorFailures; index++)
      state = withoutLocks(recordSignIn(countFactorFailure(state, START), HOME, START));
    assert.equal(state.passwordBlockedAt, undefined);
    assert.equal(countFactorFailure(state, START + 7).passwordBlockedAt, START + 7);
    assert.equal(fail(state, stranger(1), START, 200).passwordBlockedAt, undefined, 'passwords do not count');
  });

  test('accepts a challenge once, and deletes it when it has expired', () => {
    const used = { challenge: 'one', expiresAt: START + MINUTE };
    const state = consumeChallenge(fresh, used, START);
    assert.ok(state !== undefined);
    assert.equal(consumeChallenge(state, used, START + MINUTE - 1), undefined);
    const next = consumeChallenge(state, { challenge: 'two', expiresAt: START + 2 * MINUTE }, START + MINUTE);
    assert.deepEqual(
      next?.usedChallenges.map(({ challenge }) => challenge),
      ['two'],
    );
  });
});
