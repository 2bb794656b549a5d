import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { InquiryResult, OperationRef, Outcome, ReversalResult } from '../../src/payments/processor.ts';
import type { KoinFault } from './fake-koin.ts';
import { type FaultRow, name, UNKNOWN_OUTCOME_FAULTS } from './koin-fault-table.ts';
import { KoinFixture, money, ORDER, refOf, subject, toSummary } from './koin-fixture.ts';

const fixture = new KoinFixture();
const { fake } = fixture;
const { ledger } = fake;

/** A request that hangs is cut off when it hangs, not after a fixed time. */
const deadlineFor = (fault: KoinFault): AbortSignal | undefined =>
  fault === 'hang-before' || fault === 'hang-after' ? fake.nextWait() : undefined;

const first = (key: string, processorId?: string): OperationRef =>
  subject('authorization', key, ORDER.amount, processorId);

before(() => fixture.start());
after(() => fixture.stop());
afterEach(() => assert.deepEqual(fake.violations, []));

describe('an authorization at KOIN', () => {
  const tokenizing: readonly FaultRow[] = [
    ...UNKNOWN_OUTCOME_FAULTS.filter(([, outcome]) => outcome === 'unknown').map(
      ([fault]): FaultRow => [fault, 'not-sent'],
    ),
    [{ delay: 20 }, 'approved'],
    [{ status: 200, body: '{}' }, 'not-sent'],
    [{ status: 200, body: '{"secure_token":""}' }, 'not-sent'],
    [{ status: 400, body: '{"code":"1","message":"number","causes":["[card.holder_name]"]}' }, 'Declined InvalidData'],
    [{ status: 400, body: '{"code":"1","causes":["[card.number is wrong]"]}' }, 'Declined InvalidCard'],
    [{ status: 400, body: '' }, 'Declined InvalidData'],
    [{ status: 401 }, 'ProcessorError InvalidConfiguration'],
    [{ status: 403 }, 'ProcessorError InvalidConfiguration'],
    [{ status: 404 }, 'ProcessorError InvalidConfiguration'],
    [{ status: 409 }, 'unknown'],
  ];
  for (const [fault, expected] of tokenizing) {
    it(`whose card exchange meets ${name(fault)} is ${expected}`, async () => {
      const key = fixture.newKey();
      fake.inject({ on: 'tokenize', do: fault });
      assert.equal(toSummary(await fixture.authorize(key, ORDER, {}, deadlineFor(fault))), expected);
      assert.equal(ledger.orders.has(refOf(key)), expected === 'approved', 'an order only when it says so');
    });
  }

  const creating: readonly FaultRow[] = [
    ...UNKNOWN_OUTCOME_FAULTS,
    ['wrong-amount', 'unknown', 'done'],
    ['wrong-currency', 'unknown', 'done'],
    ['wrong-reference', 'unknown', 'done'],
    [{ status: 200, body: '{}' }, 'unknown', 'not done'],
    [{ status: 400 }, 'Declined InvalidData', 'not done'],
    [{ status: 400, body: '<html>' }, 'Declined InvalidData', 'not done'],
    [{ status: 400, body: '{"status":{"type":"Failed","reason":"Expired Card"}}' }, 'Declined ExpiredCard', 'not done'],
    [{ status: 400, body: '{"status":{"type":"Opened"}}' }, 'unknown', 'not done'],
    [{ status: 401 }, 'ProcessorError InvalidConfiguration', 'not done'],
    [{ status: 403 }, 'ProcessorError InvalidConfiguration', 'not done'],
    [{ status: 404 }, 'ProcessorError InvalidConfiguration', 'not done'],
    [{ status: 409 }, 'unknown', 'not done'],
    [{ becomes: 'Collected' }, 'approved, captured'],
    [{ becomes: 'Opened' }, 'pending'],
    [{ becomes: 'Cancelled' }, 'unknown'],
    [{ becomes: 'Failed', reason: 'Stolen Card' }, 'Declined StolenCard'],
    [{ becomes: 'Failed', reason: 'Undefined' }, 'ProcessorError Undefined'],
    [{ becomes: 'Failed' }, 'ProcessorError Undefined'],
    [{ becomes: 'Failed', reason: 'Connection Rejected' }, 'ProcessorError ConnectionRejected'],
    [{ reportedStatus: 'Failed', reason: 'Rejected' }, 'Declined Rejected', 'done'],
    [{ reportedStatus: 'Failed', reason: 'Undefined' }, 'approved', 'done'],
    [{ reportedStatus: 'Failed', reason: 'ConnectionRejected' }, 'approved', 'done'],
    [{ reportedStatus: 'ConnectionRefused' }, 'approved', 'done'],
    [{ reportedStatus: 'Approved' }, 'unknown', 'done'],
  ];
  for (const [fault, expected, done] of creating) {
    it(`that meets ${name(fault)} is ${expected}`, async () => {
      const key = fixture.newKey();
      fake.inject({ on: 'create', do: fault });
      assert.equal(toSummary(await fixture.authorize(key, ORDER, {}, deadlineFor(fault))), expected);
      if (done === undefined) return;
      assert.equal(toSummary(await fixture.inquire(first(key))), done === 'done' ? 'approved' : 'not-found');
    });
  }

  it('whose response may hide an approval is unknown when the order cannot be read', async () => {
    for (const fault of ['drop-after', 'error-before', 'garbage', { status: 404 }] as const) {
      const key = fixture.newKey();
      fake.inject({ on: 'create', do: { reportedStatus: 'Failed', reason: 'Undefined' } });
      fake.inject({ on: 'get', do: fault });
      assert.equal(toSummary(await fixture.authorize(key)), 'unknown');
    }
  });

  it('that KOIN reports as a duplicate has the outcome of the first one', async () => {
    for (const [status, expected] of [
      ['Authorized', 'approved'],
      ['Failed', 'ProcessorError Undefined'],
    ] as const) {
      const key = fixture.newKey();
      const facts = {
        reference: refOf(key),
        businessId: undefined,
        account: 'ACC',
        currency: 'BRL',
        units: 15_005_600n,
      };
      ledger.book({ ...facts, country: 'BR', notificationUrls: [] }, { status });
      assert.equal(toSummary(await fixture.authorize(key)), expected);
      assert.equal(ledger.orders.get(refOf(key))?.requests, 2);
    }
  });

  it('says where a ConnectionRejected happened: at KOIN, or before anything was sent', async () => {
    const causeOf = async (key: string) => {
      const outcome = await fixture.authorize(key);
      if (outcome.kind === 'not-sent') return outcome.failureCause ?? 'not-sent';
      return outcome.kind === 'refused' ? outcome.details.failureCause : outcome.kind;
    };
    fake.inject({ on: 'create', do: { becomes: 'Failed', reason: 'Connection Rejected' } });
    assert.equal(await causeOf(fixture.newKey()), 'processor-failed');
    // The card was sent to be exchanged, and the order was not.
    fake.inject({ on: 'tokenize', do: 'error-before' });
    assert.equal(await causeOf(fixture.newKey()), 'processor-failed');
    fake.inject({ on: 'create', do: { becomes: 'Failed', reason: 'Rejected' } });
    assert.equal(await causeOf(fixture.newKey()), undefined);
  });

  it('that arrives after the deadline is found later', async () => {
    const key = fixture.newKey();
    fake.inject({ on: 'create', do: { delay: 100 } });
    assert.equal(toSummary(await fixture.authorize(key, ORDER, {}, fake.nextWait())), 'unknown');
    assert.equal(toSummary(await fixture.inquire(first(key))), 'not-found');
    while (!ledger.orders.has(refOf(key))) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.equal(toSummary(await fixture.inquire(first(key))), 'approved');
  });

  it('with a wrong key is an invalid configuration, and so are later operations', async () => {
    const wrong = { 'private-key': 'sk_other' };
    assert.equal(
      toSummary(await fixture.authorize(fixture.newKey(), ORDER, wrong)),
      'ProcessorError InvalidConfiguration',
    );
    const authorized = await fixture.authorized();
    const history = { referenceCode: undefined, operations: [authorized] };
    const call = () => fixture.call(fixture.newKey(), wrong);
    const results: (Outcome | InquiryResult | ReversalResult)[] = [
      await fixture.koin.capture(call(), history, ORDER.amount),
      await fixture.koin.void(call(), history),
      await fixture.koin.refund(call(), history, ORDER.amount),
      await fixture.koin.inquire(call(), history, authorized),
      await fixture.koin.reverse(call(), history, authorized),
    ];
    const refusal = 'ProcessorError InvalidConfiguration';
    assert.deepEqual(results.map(toSummary), [refusal, refusal, refusal, 'unknown', 'unknown']);
  });
});

describe('KOIN', () => {
  it('that cannot be reached has received nothing', async () => {
    const gone = new KoinFixture();
    await gone.start();
    const authorized = await gone.authorized();
    const nameless = { ...authorized, processorId: undefined };
    await gone.fake.stop();
    const outcomes = [
      await gone.authorize(gone.newKey()),
      await gone.capture(authorized),
      await gone.capture(nameless),
      await gone.void(authorized),
      await gone.refund(authorized, money(1n)),
    ];
    assert.deepEqual(
      outcomes.map(toSummary),
      Array.from(outcomes, () => 'not-sent'),
    );
    assert.deepEqual([await gone.inquire(authorized), await gone.abandon(authorized)].map(toSummary), [
      'unknown',
      'unknown',
    ]);
    await gone.stop();
  });

  it('makes no method throw with any response, and no random response is an approval', async () => {
    const authorized = await fixture.authorized();
    const collected = await fixture.collected();
    const kinds = ['tokenize', 'create', 'find', 'get', 'capture', 'cancel', 'refund'] as const;
    const bodies = fc.oneof(fc.json({ maxDepth: 3 }), fc.string());
    const statuses = fc.constantFrom(200, 201, 204, 400, 401, 404, 409, 500);
    await fc.assert(
      fc.asyncProperty(bodies, statuses, async (body, status) => {
        for (const on of kinds) fake.inject({ on, do: { status, body }, times: 3 });
        const results = [
          await fixture.authorize(fixture.newKey()),
          await fixture.capture(authorized),
          await fixture.void(authorized),
          await fixture.refund(collected, money(1n)),
          await fixture.inquire(authorized),
          await fixture.abandon(collected),
        ];
        fake.forgetFaults();
        for (const each of results)
          assert.ok(each.kind !== 'approved' && each.kind !== 'pending' && each.kind !== 'reversed');
      }),
      { numRuns: 60 },
    );
  });
});
