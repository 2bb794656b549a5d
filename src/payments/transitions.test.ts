import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  isAllowedTransition,
  REASONS,
  RESPONSE_CODES,
  STATUSES,
  type Status,
  TRANSITIONS,
  type Trigger,
  toFailureStatus,
} from './transitions.ts';

const TRIGGERS: readonly Trigger[] = ['request', 'processor', 'capture', 'refund', 'void', 'expiry'];

/** Every line of the decisions, and what brings it about. */
const LINES: Readonly<Record<string, Readonly<Record<string, readonly Trigger[]>>>> = {
  new: {
    Opened: ['request'],
    Authorized: ['request'],
    Collected: ['request'],
    Declined: ['request'],
    ProcessorError: ['request'],
  },
  Opened: {
    Authorized: ['processor'],
    Collected: ['processor'],
    Declined: ['processor'],
    ProcessorError: ['processor'],
    // By the processor: cancelled at the processor.
    Cancelled: ['void', 'expiry', 'processor'],
  },
  Authorized: {
    // By the processor: captured, voided or failed at the processor.
    Collected: ['capture', 'processor'],
    Voided: ['void', 'expiry', 'processor'],
    Declined: ['processor'],
    ProcessorError: ['processor'],
  },
  Collected: { Collected: ['refund'] },
};

describe('the transition table', () => {
  it('has the rows of the decisions and no others', () => {
    const written = Object.entries(LINES).flatMap(([from, line]) =>
      Object.entries(line).map(([to, by]) => ({ from, to, by })),
    );
    assert.deepEqual(TRANSITIONS, written);
  });

  it('decides every guard: from every status, to every status, by every trigger', () => {
    let allowed = 0;
    for (const from of ['new', ...STATUSES] as const) {
      for (const to of STATUSES) {
        for (const by of TRIGGERS) {
          const expected = LINES[from]?.[to]?.includes(by) ?? false;
          assert.equal(isAllowedTransition(from, to, by), expected, `${from} to ${to} by ${by}`);
          if (expected) allowed++;
        }
      }
    }
    assert.equal(allowed, 20);
  });

  it('allows no transition from a final status, and none to new', () => {
    const ends: readonly Status[] = ['Cancelled', 'Voided', 'Declined', 'ProcessorError'];
    assert.deepEqual(
      STATUSES.filter((status) => !TRANSITIONS.some(({ from }) => from === status)),
      ends,
    );
    assert.ok(TRANSITIONS.every(({ to }) => STATUSES.includes(to)));
  });
});

describe('the statuses and reasons of a payment', () => {
  it('are those of the interface', () => {
    assert.deepEqual(STATUSES, [
      'Opened',
      'Authorized',
      'Collected',
      'Cancelled',
      'Voided',
      'Declined',
      'ProcessorError',
    ]);
    assert.deepEqual(REASONS, {
      Declined: [
        'Rejected',
        'InsufficientFunds',
        'InvalidCard',
        'Referred',
        'ExpiredCard',
        'StolenCard',
        'InvalidData',
        'Antifraud',
      ],
      ProcessorError: ['InvalidConfiguration', 'Undefined', 'ConnectionRejected'],
    });
  });

  it('have the response codes of the decisions', () => {
    const codes =
      'approved 00, Rejected 05, InsufficientFunds 51, InvalidCard 14, InvalidData 12, Referred 01, ExpiredCard 54, StolenCard 43, Antifraud 59, ConnectionRejected 91, InvalidConfiguration 03, Undefined 96';
    assert.deepEqual(RESPONSE_CODES, Object.fromEntries(codes.split(', ').map((pair) => pair.split(' '))));
    for (const reason of [...REASONS.Declined, ...REASONS.ProcessorError])
      assert.match(RESPONSE_CODES[reason], /^\d\d$/);
  });

  it('belong to one status each', () => {
    for (const status of ['Declined', 'ProcessorError'] as const)
      for (const reason of REASONS[status]) assert.deepEqual(toFailureStatus(reason), { status, reason });
  });
});
