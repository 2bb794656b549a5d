import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DAY } from '../kernel/clock.ts';
import { dueMark } from './expiry-marks.ts';

const END = 100 * DAY;
const key = { expiresAt: END, marks: [14, 1] };

test('each mark is due once it has passed', () => {
  assert.equal(dueMark(key, { seenAt: 0 }, END - 15 * DAY), undefined);
  assert.equal(dueMark(key, { seenAt: 0 }, END - 14 * DAY), END - 14 * DAY);
  assert.equal(dueMark(key, { seenAt: 0, toldAt: END - 14 * DAY }, END - 2 * DAY), undefined);
  assert.equal(dueMark(key, { seenAt: 0, toldAt: END - 14 * DAY }, END - DAY / 2), END - DAY);
});

test('after a standstill the newest mark alone is due, and none after the end', () => {
  assert.equal(dueMark(key, { seenAt: 0 }, END - DAY / 2), END - DAY);
  assert.equal(dueMark(key, { seenAt: 0 }, END), undefined);
});

test('a mark that was past when the date was seen is never due', () => {
  assert.equal(dueMark(key, { seenAt: END - 10 * DAY }, END - 9 * DAY), undefined);
  assert.equal(dueMark(key, { seenAt: END - 10 * DAY }, END - DAY), END - DAY);
});
