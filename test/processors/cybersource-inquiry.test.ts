import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import {
  approvedId,
  type CyberSourceFixture,
  card,
  history,
  money,
  openCyberSourceFixture,
  order,
  subject,
} from './cybersource-fixture.ts';
import { detailsOf } from './cybersource-responses.ts';

const opened: CyberSourceFixture[] = [];
async function open(options: Parameters<typeof openCyberSourceFixture>[0] = {}): Promise<CyberSourceFixture> {
  const desk = await openCyberSourceFixture(options);
  opened.push(desk);
  return desk;
}
const main = await open();
after(async () => {
  for (const desk of opened) await desk.stop();
  for (const { fake } of opened) assert.deepEqual(fake.violations, []);
});
afterEach(() => main.fake.heal());

const authorized = async ({ cybersource, call }: CyberSourceFixture): Promise<{ key: string; id: string }> => {
  const calling = call();
  return { key: calling.operationId, id: approvedId(await cybersource.authorize(calling, order(), card())) };
};

describe('the state of a payment', () => {
  test('includes the partial capture that followed', async () => {
    const { cybersource, call } = main;
    const { key, id } = await authorized(main);
    const first = subject('authorization', key, id);
    assert.equal('captured' in (await cybersource.inquire(call(), history(), first)), false);
    approvedId(await cybersource.capture(call(), history(first), money('7.25')));
    const finding = await cybersource.inquire(call(), history(), first);
    assert.deepEqual('captured' in finding && finding.captured, money('7.25'));
  });

  test('is sufficient to refund a capture without a local record', async () => {
    const { cybersource, call, fake } = main;
    const { key, id } = await authorized(main);
    const past = history(subject('authorization', key, id));
    assert.deepEqual(await cybersource.refund(call(), past, money('7.25')), { kind: 'not-sent' });
    approvedId(await cybersource.capture(call(), past, money('7.25')));
    approvedId(await cybersource.refund(call(), past, money('7.25')));
    assert.equal(fake.requests.at(-1), 'refund');
  });

  test('includes a void that followed, also without an id', async () => {
    const { cybersource, call } = main;
    const { key, id } = await authorized(main);
    approvedId(await cybersource.void(call(), history(subject('authorization', key, id))));
    for (const processorId of [id, undefined]) {
      const finding = await cybersource.inquire(call(), history(), subject('authorization', key, processorId));
      assert.equal(finding.kind, 'reversed');
    }
  });

  test('includes a capture with our reference even where the details list no other transactions', async () => {
    const desk = await open({ related: false });
    const { cybersource, call } = desk;
    const { key, id } = await authorized(desk);
    const first = subject('authorization', key, id);
    const capturing = call();
    const captureId = approvedId(await cybersource.capture(capturing, history(first), money('7.25')));
    const past = history(first, subject('capture', capturing.operationId, captureId, money('7.25')));
    const finding = await cybersource.inquire(call(), past, first);
    assert.deepEqual('captured' in finding && finding.captured, money('7.25'));
  });

  test('includes a reversal with our reference even where the details list no other transactions', async () => {
    const desk = await open({ related: false });
    const { cybersource, call } = desk;
    const lost = subject('authorization', (await authorized(desk)).key);
    assert.equal((await cybersource.reverse(call(), history(), lost)).kind, 'reversed');
    assert.equal((await cybersource.inquire(call(), history(), lost)).kind, 'reversed');
  });

  test('is unknown when something was voided beside a refund', async () => {
    const { cybersource, call } = main;
    const calling = call();
    const id = approvedId(await cybersource.authorize(calling, order({ capture: true }), card()));
    const sale = subject('payment', calling.operationId, id);
    const refunding = call();
    approvedId(await cybersource.refund(refunding, history(sale), money('1.00')));
    const refunded = subject('payment_refund', refunding.operationId, undefined, money('1.00'));
    assert.equal((await cybersource.reverse(call(), history(sale), refunded)).kind, 'reversed');
    // The records do not say whether the refund or the sale was voided.
    assert.deepEqual(await cybersource.inquire(call(), history(), sale), { kind: 'unknown', problem: 'unclear' });
  });

  test('is left to an operator when there are too many transactions to read', async () => {
    const { cybersource, call } = main;
    const calling = call();
    const id = approvedId(await cybersource.authorize(calling, order({ capture: true }), card()));
    const sale = subject('payment', calling.operationId, id);
    for (let time = 0; time < 21; time++) approvedId(await cybersource.refund(call(), history(sale), money('0.10')));
    assert.deepEqual(await cybersource.inquire(call(), history(), sale), { kind: 'unknown', problem: 'related' });
  });
});

describe('a void', () => {
  test('that was never executed is not found; an executed one is approved', async () => {
    const { cybersource, call } = main;
    const { key, id } = await authorized(main);
    const past = history(subject('authorization', key, id));
    const voiding = call();
    const ref = subject('authorization_void', voiding.operationId);
    assert.equal((await cybersource.inquire(call(), past, ref)).kind, 'not-found');
    approvedId(await cybersource.void(voiding, past));
    assert.equal((await cybersource.inquire(call(), past, ref)).kind, 'approved');
    const another = subject('authorization_void', main.newKey());
    assert.equal((await cybersource.inquire(call(), past, another)).kind, 'approved', 'reversed is reversed');
  });
});

describe('a transaction that is not in the index yet', () => {
  test('is not found, and can be reversed by reference', async () => {
    let now = Date.now();
    const desk = await open({ indexDelayMs: 60_000, clock: () => now });
    const { cybersource, call } = desk;
    const { key, id } = await authorized(desk);
    for (const processorId of [undefined, id])
      assert.deepEqual(await cybersource.inquire(call(), history(), subject('authorization', key, processorId)), {
        kind: 'not-found',
      });
    now += 60_000;
    approvedId(await cybersource.inquire(call(), history(), subject('authorization', key)));
    assert.equal((await cybersource.reverse(call(), history(), subject('authorization', key))).kind, 'reversed');
    assert.equal(desk.fake.ledger.totals(id).authorized, 0n);
  });
});

describe('a failed inquiry has no result', () => {
  for (const on of ['search', 'details'] as const) {
    for (const fault of ['drop-before', 'drop-after', '502-before', '502-after', 'garbage', 'truncated'] as const) {
      test(`${on}, ${fault}: unknown`, async () => {
        const { cybersource, call, fake } = main;
        const { key } = await authorized(main);
        fake.inject({ on, fault });
        const finding = await cybersource.inquire(call(), history(), subject('authorization', key));
        assert.equal(finding.kind, 'unknown');
      });
    }

    for (const http of [400, 401, 403, 429, 500]) {
      test(`${on}, HTTP ${http}: unknown`, async () => {
        const { cybersource, call, fake } = main;
        const { key } = await authorized(main);
        fake.inject({ on, fault: 'verdict', verdict: { status: '', http } });
        const finding = await cybersource.inquire(call(), history(), subject('authorization', key));
        assert.equal(finding.kind, 'unknown');
      });
    }
  }
});

describe('a hit counts only when it certainly matches the request', () => {
  for (const fault of ['wrong-amount', 'wrong-currency', 'wrong-code'] as const) {
    test(`details with ${fault}: unknown`, async () => {
      const { cybersource, call, fake } = main;
      const { key, id } = await authorized(main);
      fake.inject({ on: 'details', fault });
      const finding = await cybersource.inquire(call(), history(), subject('authorization', key, id));
      assert.deepEqual(finding, { kind: 'unknown', problem: 'contradiction' });
    });
  }

  test('another amount, currency or type than requested: unknown or not found', async () => {
    const { cybersource, call } = main;
    const { key, id } = await authorized(main);
    const inquire = async (...ref: Parameters<typeof subject>): Promise<string> =>
      (await cybersource.inquire(call(), history(), subject(...ref))).kind;
    assert.equal(await inquire('authorization', key, undefined, money('10.51')), 'unknown');
    assert.equal(await inquire('authorization', key, undefined, money('10.50', 'EUR')), 'unknown');
    assert.equal(await inquire('capture', key, id), 'unknown');
    assert.equal(await inquire('capture', key), 'not-found');
  });

  test('details of another transaction than requested: unknown', async () => {
    const { cybersource, call, fake } = main;
    const { key, id } = await authorized(main);
    const transaction = fake.ledger.byId(id);
    assert.ok(transaction);
    const other = { ...transaction, id: '7999999999999999999999' };
    fake.respondOnce('details', { status: 200, body: detailsOf(other, 'mymid', []) });
    const finding = await cybersource.inquire(call(), history(), subject('authorization', key, id));
    assert.deepEqual(finding, { kind: 'unknown', problem: 'contradiction' });
  });

  test('a transaction of another merchant: unknown', async () => {
    const { cybersource, call, fake } = main;
    const { key, id } = await authorized(main);
    const transaction = fake.ledger.byId(id);
    assert.ok(transaction);
    fake.respondOnce('details', { status: 200, body: detailsOf(transaction, 'another', []) });
    const finding = await cybersource.inquire(call(), history(), subject('authorization', key, id));
    assert.deepEqual(finding, { kind: 'unknown', problem: 'contradiction' });
  });

  test('a capture of a declined authorization: unknown', async () => {
    const { cybersource, call, fake } = main;
    const { key, id } = await authorized(main);
    const first = subject('authorization', key, id);
    const capturing = call();
    const captureId = approvedId(await cybersource.capture(capturing, history(first), money('10.50')));
    const transaction = fake.ledger.byId(id);
    assert.ok(transaction);
    const declined = { ...transaction, state: 'declined' as const, reason: 'GENERAL_DECLINE' };
    fake.respondOnce('details', { status: 200, body: detailsOf(declined, 'mymid', []) });
    const past = history(first, subject('capture', capturing.operationId, captureId));
    assert.deepEqual(await cybersource.inquire(call(), past, first), { kind: 'unknown', problem: 'contradiction' });
  });

  test('hits with another reference do not count; neither do two hits with the same one', async () => {
    const { cybersource, call, fake, newKey } = main;
    const { id } = await authorized(main);
    const key = newKey();
    const transaction = fake.ledger.byId(id);
    assert.ok(transaction);
    const answerOnce = (codes: readonly string[], totalCount = codes.length): void => {
      const transactionSummaries = codes.map((code) => detailsOf({ ...transaction, code }, 'mymid', []));
      fake.respondOnce('search', { status: 201, body: { totalCount, _embedded: { transactionSummaries } } });
    };
    const kind = async (): Promise<object> => cybersource.inquire(call(), history(), subject('authorization', key));
    const { operationRef: ref } = subject('authorization', key);
    answerOnce([`${ref}x`, key, newKey()]);
    assert.deepEqual(await kind(), { kind: 'not-found' });
    answerOnce([ref, ref]);
    assert.deepEqual(await kind(), { kind: 'unknown', problem: 'ambiguous' });
    answerOnce([], 1);
    assert.deepEqual(await kind(), { kind: 'unknown', problem: 'search' });
    // The hit has our reference, but the transaction that it names has another.
    answerOnce([ref]);
    assert.deepEqual(await kind(), { kind: 'unknown', problem: 'contradiction' });
  });
});
