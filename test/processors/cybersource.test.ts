import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { systemRandom } from '../../src/crypto/random.ts';
import type { Approved } from '../../src/payments/processor.ts';
import { ProcessorHosts } from '../../src/payments/processor-hosts.ts';
import { CyberSource } from '../../src/payments/processors/cybersource/cybersource.ts';
import { OutboundHttp } from '../../src/payments/processors/outbound-http.ts';
import {
  approvedId,
  card,
  history,
  money,
  openCyberSourceFixture,
  order,
  PAN,
  subject,
} from './cybersource-fixture.ts';

for (const auth of ['jwt', 'http-signature']) {
  describe(`with ${auth}`, async () => {
    const desk = await openCyberSourceFixture({ auth });
    const { cybersource, fake } = desk;
    const { ledger } = fake;
    after(async () => {
      await desk.stop();
      assert.deepEqual(fake.violations, []);
      assert.ok([...ledger.executed.values()].every((count) => count === 1));
    });

    const authorized = async (): Promise<{ key: string; id: string }> => {
      const call = desk.call();
      return { key: call.operationId, id: approvedId(await cybersource.authorize(call, order(), card())) };
    };

    test('an authorization holds the amount, and returns its details', async () => {
      const call = desk.call();
      const outcome = await cybersource.authorize(call, order(), card());
      const id = approvedId(outcome);
      assert.deepEqual(outcome, {
        kind: 'approved',
        details: {
          processorId: id,
          responseCode: '00',
          reconciliationId: id,
          approvalCode: '831000',
          networkId: '016153570198200',
          avs: { code: 'Y', codeRaw: 'Y' },
        },
      });
      assert.deepEqual(ledger.totals(id), { authorized: 105_000n, captured: 0n, refunded: 0n });
      assert.equal(ledger.byId(id)?.code, call.operationRef);
    });

    test('a sale is captured immediately', async () => {
      const outcome = await cybersource.authorize(desk.call(), order({ capture: true }), card());
      assert.deepEqual((outcome as Approved).captured, money('10.50'));
      assert.equal(ledger.totals(approvedId(outcome)).captured, 105_000n);
    });

    test('a partial amount is captured, and refunded by the id of the capture', async () => {
      const first = await authorized();
      const past = history(subject('authorization', first.key, first.id));
      const capturing = desk.call();
      const captureId = approvedId(await cybersource.capture(capturing, past, money('7.25')));
      const later = history(...past.operations, subject('capture', capturing.operationId, captureId, money('7.25')));
      for (const amount of ['3.00', '4.25']) approvedId(await cybersource.refund(desk.call(), later, money(amount)));
      assert.deepEqual(ledger.totals(first.id), { authorized: 105_000n, captured: 72_500n, refunded: 72_500n });
      const tooMuch = await cybersource.refund(desk.call(), later, money('0.01'));
      assert.equal(tooMuch.kind, 'refused');
    });

    test('a sale is refunded by its own id', async () => {
      const call = desk.call();
      const id = approvedId(await cybersource.authorize(call, order({ capture: true }), card()));
      const refund = await cybersource.refund(
        desk.call(),
        history(subject('payment', call.operationId, id)),
        money('10.50'),
      );
      approvedId(refund);
      assert.equal(ledger.totals(id).refunded, 105_000n);
    });

    test('a void reverses everything, and a second one changes nothing', async () => {
      const { key, id } = await authorized();
      const past = history(subject('authorization', key, id));
      approvedId(await cybersource.void(desk.call(), past));
      assert.equal(ledger.totals(id).authorized, 0n);
      assert.equal((await cybersource.void(desk.call(), past)).kind, 'approved');
    });

    test('without an id a void uses our reference', async () => {
      const { key, id } = await authorized();
      approvedId(await cybersource.void(desk.call(), history(subject('authorization', key))));
      assert.equal(ledger.totals(id).authorized, 0n);
      assert.equal(fake.requests.at(-1), 'timeout-reversal');
      const unknown = await cybersource.void(desk.call(), history(subject('authorization', desk.newKey())));
      assert.equal(unknown.kind, 'refused');
    });

    test('a captured payment cannot be voided', async () => {
      const { key, id } = await authorized();
      const past = history(subject('authorization', key, id));
      approvedId(await cybersource.capture(desk.call(), past, money('10.50')));
      assert.equal((await cybersource.void(desk.call(), past)).kind, 'refused');
      assert.equal(ledger.totals(id).captured, 105_000n);
    });

    test('a voided payment cannot be captured', async () => {
      const { key, id } = await authorized();
      const past = history(subject('authorization', key, id));
      approvedId(await cybersource.void(desk.call(), past));
      const outcome = await cybersource.capture(desk.call(), past, money('10.50'));
      assert.deepEqual(outcome, {
        kind: 'refused',
        failure: { status: 'Declined', reason: 'Rejected' },
        details: (outcome as Approved).details,
      });
      assert.deepEqual(await cybersource.inquire(desk.call(), history(), subject('authorization', key, id)), {
        kind: 'reversed',
        details: { ...(await detailsOf(id)) },
      });
    });

    const detailsOf = async (id: string): Promise<object> => ({
      processorId: id,
      responseCode: '00',
      reconciliationId: id,
      approvalCode: '831000',
      networkId: '016153570198200',
      avs: { code: 'Y', codeRaw: 'Y' },
    });

    test('a payment that CyberSource does not have is not captured or refunded', async () => {
      const before = fake.requests.length;
      const past = history(subject('authorization', desk.newKey()));
      assert.equal((await cybersource.capture(desk.call(), past, money('1'))).kind, 'not-sent');
      assert.equal((await cybersource.refund(desk.call(), past, money('1'))).kind, 'not-sent');
      assert.equal((await cybersource.refund(desk.call(), history(), money('1'))).kind, 'not-sent');
      assert.equal((await cybersource.void(desk.call(), history())).kind, 'not-sent');
      assert.deepEqual(fake.requests.slice(before), ['search', 'search']);
    });

    // A user has stated the outcome, so the record has no id of CyberSource.
    test('a payment is captured and refunded by our reference where its id is unknown', async () => {
      const { key, id } = await authorized();
      const past = history(subject('authorization', key));
      approvedId(await cybersource.capture(desk.call(), past, money('7.25')));
      approvedId(await cybersource.refund(desk.call(), past, money('7.25')));
      assert.deepEqual(ledger.totals(id), { authorized: 105_000n, captured: 72_500n, refunded: 72_500n });
      const sale = desk.call();
      const saleId = approvedId(await cybersource.authorize(sale, order({ capture: true }), card()));
      const sold = history(subject('payment', sale.operationId));
      approvedId(await cybersource.refund(desk.call(), sold, money('10.50')));
      assert.equal(ledger.totals(saleId).refunded, 105_000n);
    });

    test('no result contains the card number', async () => {
      const verdict = { status: 'DECLINED', reason: 'GENERAL_DECLINE' };
      fake.inject({ on: 'payment', fault: 'verdict', verdict });
      const call = desk.call();
      const outcome = await cybersource.authorize(call, order(), card());
      const finding = await cybersource.inquire(desk.call(), history(), subject('authorization', call.operationId));
      assert.equal(outcome.kind, 'refused');
      assert.equal(finding.kind, 'refused');
      assert.equal(JSON.stringify([outcome, finding]).includes(PAN), false);
    });
  });
}

test('encrypted messages require JWT, which the error states', () => {
  const processor = new CyberSource({
    outboundHttp: new OutboundHttp(new ProcessorHosts()),
    clock: () => 0,
    random: systemRandom(),
  });
  const both = { 'mle-certificate': 'MIIB', auth: 'http-signature' };
  assert.deepEqual(processor.conflict(both), { reason: 'mleNeedsJwt', values: {} });
  assert.equal(processor.conflict({ ...both, auth: 'jwt' }), undefined);
  assert.equal(processor.conflict({ auth: 'http-signature' }), undefined);
});

describe('credentials', () => {
  test('of another key are an invalid configuration', async () => {
    const desk = await openCyberSourceFixture();
    try {
      const settings = { 'shared-secret': 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWI=' };
      const outcome = await desk.cybersource.authorize(desk.call({ settings }), order(), card());
      assert.deepEqual(outcome, {
        kind: 'refused',
        failure: { status: 'ProcessorError', reason: 'InvalidConfiguration' },
        details: (outcome as Approved).details,
      });
      assert.deepEqual(desk.fake.ledger.transactions, []);
      assert.deepEqual(desk.fake.violations, ['POST /pts/v2/payments: token signature']);
      // An inquiry that is rejected says nothing about the payment.
      const inquiry = await desk.cybersource.inquire(
        desk.call({ settings }),
        history(),
        subject('payment', desk.newKey()),
      );
      assert.equal(inquiry.kind, 'unknown');
    } finally {
      await desk.stop();
    }
  });

  test('an unreachable server: certainly not sent', async () => {
    const desk = await openCyberSourceFixture();
    await desk.stop();
    assert.deepEqual(await desk.cybersource.authorize(desk.call(), order(), card()), { kind: 'not-sent' });
  });
});
