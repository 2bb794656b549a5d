import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import {
  buildOperation,
  buildOrder,
  buildPayment,
  captured,
  FIRST,
  LIFETIMES,
  NEXT,
  NOW,
  OUTCOMES,
  PAYMENT_STATES,
  processorDetails,
  USD,
} from '../../test/fixtures/payment-fixtures.ts';
import { parsePan } from '../kernel/pan.ts';
import type { CardData, InquiryResult, Order, Outcome, Processor, ProcessorCall, ReversalResult } from './processor.ts';
import { buildHistory, TimedProcessor, toOperationRef } from './timed-processor.ts';

const REVERSED: ReversalResult = { kind: 'reversed' };
const TIMEOUT = 1000;
const TENANT = { account: 'acc', environment: 'sandbox' } as const;
const SETTINGS = { 'timeout-ms': String(TIMEOUT), 'opened-expiry': `${LIFETIMES.opened / 1000}s` };
const card: CardData = {
  pan: parsePan('4111111111111111') ?? assert.fail('a card number'),
  expiry: { month: '12', year: '29' },
  securityCode: undefined,
  holder: undefined,
};
const order = (capture: boolean): Order => buildOrder({ capture, referenceCode: 'A-1' });

type Method = 'authorize' | 'capture' | 'refund' | 'void' | 'inquire' | 'reverse';
type Responses = {
  readonly [M in Method]?: (call: ProcessorCall) => Promise<Outcome | InquiryResult | ReversalResult>;
};

interface Sent {
  readonly method: Method;
  readonly call: ProcessorCall;
  readonly rest: readonly unknown[];
}

/** A processor with these responses, and the calls that it received. */
function asking(
  responses: Responses,
  { sale = true, now = NOW, timeout = TIMEOUT } = {},
): { readonly asking: TimedProcessor; readonly sent: Sent[] } {
  const sent: Sent[] = [];
  const method =
    (name: Method) =>
    (call: ProcessorCall, ...rest: unknown[]) => {
      sent.push({ method: name, call, rest });
      return (responses[name] ?? (() => Promise.reject(new Error('not expected'))))(call);
    };
  const methods = Object.fromEntries(
    (['authorize', 'capture', 'refund', 'void', 'inquire', 'reverse'] as const).map((name) => [name, method(name)]),
  );
  const capabilities = { sale, partialCapture: true, notFoundThreshold: 2 };
  const processor = { ...methods, capabilities, settings: {}, check: () => undefined } as unknown as Processor;
  const settings = { ...SETTINGS, 'timeout-ms': String(timeout) };
  const configured = { name: 'any', processor, settings, accountSince: 0 };
  return { asking: new TimedProcessor({ tenant: TENANT, configured, clock: () => now }), sent };
}

const respondsWith = (response: Outcome | InquiryResult | ReversalResult) => () => Promise.resolve(response);
const never = () => new Promise<never>(() => undefined);
const first = buildOperation({ createdAt: NOW });
const operations = [
  buildOperation({ state: 'accepted', details: { processorId: 'p-1' } }),
  buildOperation({ id: 'refused', type: 'capture', state: 'refused' }),
  buildOperation({ id: 'captured', type: 'capture', state: 'accepted', amount: 2000n }),
  buildOperation({ id: NEXT, type: 'payment_refund', state: 'in_progress', amount: 500n, createdAt: NOW }),
];
const history = buildHistory(buildPayment(), operations, operations[3] ?? first);

describe('the history of an operation', () => {
  it('contains the earlier operations that took effect, with the ids of the processor', () => {
    assert.deepEqual(history, {
      referenceCode: 'A-1',
      operations: [
        {
          type: 'authorization',
          operationId: FIRST,
          operationRef: FIRST,
          processorId: 'p-1',
          amount: { minor: 10_000n, currency: USD },
        },
        {
          type: 'capture',
          operationId: 'captured',
          operationRef: 'captured',
          processorId: undefined,
          amount: { minor: 2000n, currency: USD },
        },
      ],
    });
  });

  it('never contains the operation itself', () => {
    const [opened = first] = operations;
    assert.deepEqual(buildHistory(buildPayment(), operations.slice(0, 1), opened).operations, []);
  });
});

describe('an authorization', () => {
  it('is sent once, with the reference of its operation', async () => {
    const { asking: at, sent } = asking({ authorize: respondsWith(OUTCOMES.approved) });
    assert.equal(await at.authorize(first, order(false), card), OUTCOMES.approved);
    assert.equal(sent.length, 1);
    const [{ call, rest } = assert.fail('nothing was sent')] = sent;
    assert.deepEqual(
      [call.tenant, call.settings, call.operationRef, call.signal.aborted],
      [TENANT, SETTINGS, FIRST, false],
    );
    assert.deepEqual(rest, [order(false), card]);
  });

  it('with a capture is one call where the processor has one', async () => {
    const { asking: at, sent } = asking({ authorize: respondsWith(OUTCOMES.captured) });
    assert.equal(await at.authorize(first, order(true), card), OUTCOMES.captured);
    const none = asking({ authorize: respondsWith(OUTCOMES.approved) });
    assert.equal(await none.asking.authorize(first, order(true), card), OUTCOMES.approved);
    assert.deepEqual(
      [...sent, ...none.sent].map(({ method }) => method),
      ['authorize', 'authorize'],
    );
  });

  it('with a capture is two calls otherwise: the capture follows the approval', async () => {
    const sale = { ...OUTCOMES.approved, captured: captured(10_000n) };
    for (const capture of [OUTCOMES.approved, OUTCOMES.pending] as const) {
      const { asking: at, sent } = asking(
        { authorize: respondsWith(OUTCOMES.approved), capture: respondsWith(capture) },
        { sale: false },
      );
      const outcome = await at.authorize(buildOperation({ type: 'payment', createdAt: NOW }), order(true), card);
      assert.deepEqual(outcome, sale);
      const keys = sent.map(({ method, call }) => [method, call.operationRef]);
      assert.deepEqual(keys, [
        ['authorize', FIRST],
        ['capture', FIRST],
      ]);
      const authorized = {
        type: 'payment',
        operationId: FIRST,
        operationRef: FIRST,
        processorId: processorDetails.processorId,
        amount: order(true).amount,
      };
      assert.deepEqual(sent[1]?.rest, [{ referenceCode: 'A-1', operations: [authorized] }, order(true).amount]);
    }
  });

  it('whose capture is unknown is unknown; one whose capture was not sent remains authorized', async () => {
    for (const capture of [OUTCOMES['not sent'], OUTCOMES.unknown] as const) {
      const { asking: at } = asking(
        { authorize: respondsWith(OUTCOMES.approved), capture: respondsWith(capture) },
        { sale: false },
      );
      const outcome = await at.authorize(first, order(true), card);
      assert.equal(outcome, capture === OUTCOMES.unknown ? capture : OUTCOMES.approved);
    }
  });

  it('whose capture is refused is what the processor then says of its order', async () => {
    const reversed: InquiryResult = { kind: 'reversed', details: {} };
    const notFound: InquiryResult = { kind: 'not-found' };
    const lost = { kind: 'unknown', problem: 'capture' } as const;
    for (const [state, expected] of [
      [OUTCOMES.approved, { ...OUTCOMES.approved, captured: undefined }],
      [OUTCOMES.captured, OUTCOMES.captured],
      [OUTCOMES.refused, OUTCOMES.refused],
      [reversed, lost],
      [notFound, lost],
      [OUTCOMES.pending, lost],
      [OUTCOMES.unknown, lost],
    ] as const) {
      const { asking: at, sent } = asking(
        {
          authorize: respondsWith(OUTCOMES.approved),
          capture: respondsWith(OUTCOMES.refused),
          inquire: respondsWith(state as InquiryResult),
        },
        { sale: false },
      );
      assert.deepEqual(await at.authorize(first, order(true), card), expected);
      assert.equal(sent[2]?.method, 'inquire');
    }
  });

  it('that is not approved, or already captured, is not captured', async () => {
    for (const outcome of [OUTCOMES.refused, OUTCOMES.pending, OUTCOMES.unknown, OUTCOMES.captured] as const) {
      const { asking: at, sent } = asking({ authorize: respondsWith(outcome) }, { sale: false });
      assert.equal(await at.authorize(first, order(true), card), outcome);
      assert.equal(sent.length, 1);
    }
    const without = asking({ authorize: respondsWith(OUTCOMES.approved) }, { sale: false });
    assert.equal(await without.asking.authorize(first, order(false), card), OUTCOMES.approved);
    assert.equal(without.sent.length, 1);
  });
});

describe('further operations', () => {
  it('are sent as their calls, with the history and the amount', async () => {
    const payment = buildPayment(PAYMENT_STATES.Authorized);
    const cases = [
      ['capture', 'capture', true],
      ['payment_refund', 'refund', true],
      ['authorization_void', 'void', false],
      ['expiry', 'void', false],
    ] as const;
    for (const [type, method, hasAmount] of cases) {
      const { asking: at, sent } = asking({ [method]: respondsWith(OUTCOMES.pending) });
      const operation = buildOperation({ type, amount: 700n, createdAt: NOW });
      assert.equal(await at.operate(payment, operation, history), OUTCOMES.pending);
      assert.deepEqual(
        sent.map(({ method: name, call }) => [name, call.operationRef]),
        [[method, NEXT]],
      );
      assert.deepEqual(sent[0]?.rest, hasAmount ? [history, { minor: 700n, currency: USD }] : [history]);
    }
  });

  it('are completed, repeated, inquired about and reversed with their own references', async () => {
    const { asking: at, sent } = asking({
      capture: respondsWith(OUTCOMES.approved),
      void: respondsWith(OUTCOMES.refused),
      inquire: respondsWith(OUTCOMES['not-found']),
      reverse: respondsWith(REVERSED),
    });
    const subject = toOperationRef(buildPayment(), first);
    const amount = { minor: 10_000n, currency: USD };
    assert.equal(await at.captureAuthorized(buildPayment(), first, history), OUTCOMES.approved);
    assert.equal(await at.repeatVoid(buildOperation({ type: 'expiry', createdAt: 0 }), history), OUTCOMES.refused);
    assert.equal(await at.inquire(history, subject), OUTCOMES['not-found']);
    assert.equal(await at.reverse(history, subject), REVERSED);
    assert.deepEqual(
      sent.map(({ method, call, rest }) => [method, call.operationRef, rest]),
      [
        ['capture', FIRST, [history, amount]],
        ['void', NEXT, [history]],
        ['inquire', FIRST, [history, subject]],
        ['reverse', FIRST, [history, subject]],
      ],
    );
  });
});

describe('an error of a processor', () => {
  it('is an unknown outcome, whether rejected or thrown', async () => {
    const thrown = (): never => {
      throw new Error('4111111111111111');
    };
    for (const failing of [() => Promise.reject(new Error('4111111111111111')), thrown]) {
      const { asking: at } = asking({ authorize: failing, void: failing, inquire: failing });
      const unknown = { kind: 'unknown', problem: 'failed' };
      assert.deepEqual(await at.authorize(first, order(false), card), unknown);
      assert.deepEqual(
        await at.operate(buildPayment(), buildOperation({ type: 'expiry', createdAt: NOW }), history),
        unknown,
      );
      assert.deepEqual(await at.inquire(history, toOperationRef(buildPayment(), first)), unknown);
    }
  });
});

describe('the deadline of a processor', () => {
  it('does not send an operation that started too long ago, or in the future by more than a correction of the clock', async () => {
    for (const [age, timeout, isSent] of [
      [0, TIMEOUT, true],
      [TIMEOUT - 1, TIMEOUT, true],
      [TIMEOUT, TIMEOUT, false],
      [-1, TIMEOUT, true],
      [1 - TIMEOUT, TIMEOUT, true],
      [-TIMEOUT, TIMEOUT, false],
      [-1000, 2 * TIMEOUT, true],
      [-1001, 2 * TIMEOUT, false],
    ] as const) {
      const { asking: at, sent } = asking(
        { authorize: respondsWith(OUTCOMES.approved), capture: respondsWith(OUTCOMES.approved) },
        { timeout },
      );
      const created = { createdAt: NOW - age };
      const outcomes = [
        await at.authorize(buildOperation(created), order(false), card),
        await at.operate(buildPayment(), buildOperation({ ...created, type: 'capture' }), history),
      ];
      assert.deepEqual(
        outcomes,
        isSent ? [OUTCOMES.approved, OUTCOMES.approved] : [{ kind: 'not-sent' }, { kind: 'not-sent' }],
      );
      assert.equal(sent.length, isSent ? 2 : 0);
    }
  });

  it('aborts the call and makes the outcome unknown', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { asking: at, sent } = asking({ inquire: never, authorize: never });
      const responses: unknown[] = [];
      void at.inquire(history, toOperationRef(buildPayment(), first)).then((response) => responses.push(response));
      mock.timers.tick(TIMEOUT - 1);
      await Promise.resolve();
      assert.deepEqual([responses, sent[0]?.call.signal.aborted], [[], false]);
      mock.timers.tick(1);
      await new Promise(setImmediate);
      assert.deepEqual([responses, sent[0]?.call.signal.aborted], [[{ kind: 'unknown', problem: 'timeout' }], true]);
    } finally {
      mock.timers.reset();
    }
  });

  it('aborts also a call that first looks at its signal later', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { asking: at, sent } = asking({ authorize: never });
      const response = at.authorize(first, order(false), card);
      mock.timers.tick(TIMEOUT);
      assert.deepEqual(await response, { kind: 'unknown', problem: 'timeout' });
      assert.equal(sent[0]?.call.signal.aborted, true);
    } finally {
      mock.timers.reset();
    }
  });

  it('starts with the operation, so that recovery knows when it has passed', async () => {
    mock.timers.enable({ apis: ['setTimeout'] });
    try {
      const { asking: at } = asking({ authorize: never });
      const responses: unknown[] = [];
      void at
        .authorize(buildOperation({ createdAt: NOW - 900 }), order(false), card)
        .then((response) => responses.push(response));
      mock.timers.tick(99);
      await new Promise(setImmediate);
      assert.deepEqual(responses, []);
      mock.timers.tick(1);
      await new Promise(setImmediate);
      assert.deepEqual(responses, [{ kind: 'unknown', problem: 'timeout' }]);
    } finally {
      mock.timers.reset();
    }
  });
});
