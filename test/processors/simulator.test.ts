import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import fc from 'fast-check';
import { parseCurrency } from '../../src/kernel/currency.ts';
import { passesLuhn } from '../../src/kernel/pan.ts';
import { type CARD, money, NOON, SimulatorFixture, toSummary } from './simulator-fixture.ts';

const UNTOLD = { operations: [], referenceCode: undefined };

describe('the simulator', { timeout: 120_000 }, () => {
  let fixture: SimulatorFixture;
  before(async () => {
    fixture = await SimulatorFixture.open();
  });
  after(() => fixture.close());

  const inquired = async ({ history, subject }: Awaited<ReturnType<SimulatorFixture['authorized']>>): Promise<string> =>
    toSummary(await fixture.inquire(history, subject));

  describe('authorizes', () => {
    test('with all details of an approval', async () => {
      const outcome = await fixture.authorize();
      assert.equal(outcome.kind, 'approved');
      const { details } = outcome as Extract<typeof outcome, { kind: 'approved' }>;
      assert.equal(details.responseCode, '00');
      assert.match(details.approvalCode ?? '', /^[0-9]{6}$/);
      assert.match(details.processorId ?? '', /^[a-z]{25}$/);
      assert.match(details.reconciliationId ?? '', /^REC[A-Z]{15}$/);
      assert.match(details.networkId ?? '', /^NET[A-Z]{15}$/);
      assert.deepEqual(details.avs, { code: 'Y', codeRaw: 'Y' });
      assert.equal(details.expiresAt, undefined);
    });

    test('each with new ids', async () => {
      const outcomes = await Promise.all(Array.from({ length: 200 }, () => fixture.authorize()));
      const details = outcomes.map((outcome) => ('details' in outcome ? outcome.details : {}));
      for (const name of ['processorId', 'reconciliationId', 'networkId'] as const)
        assert.equal(new Set(details.map((each) => each[name])).size, 200, name);
      assert.ok(new Set(details.map(({ approvalCode }) => approvalCode)).size > 190);
    });

    test('and an inquiry returns the same details', async () => {
      const key = fixture.newKey();
      const outcome = await fixture.authorize({ key, capture: true });
      const { history, subject } = fixture.known(key, { capture: true });
      assert.deepEqual(await fixture.inquire(history, subject), outcome);
      assert.deepEqual(await fixture.inquire(UNTOLD, subject), outcome);
    });

    test('and captures a sale', async () => {
      assert.equal(toSummary(await fixture.authorize({ capture: true, amount: money('10.50') })), 'approved 1050');
      assert.equal(toSummary(await fixture.authorize({ amount: money('10.50') })), 'approved');
    });

    for (const [amount, expected] of [
      ['5001', 'Declined Rejected 05'],
      ['10001', 'Declined InsufficientFunds 51'],
      ['40001', 'ProcessorError ConnectionRejected 91'],
      ['60000', 'pending'],
      ['59999.99', 'ProcessorError InvalidConfiguration 03'],
    ] as const)
      test(`${amount}: ${expected}, also by inquiry`, async () => {
        const key = fixture.newKey();
        assert.equal(toSummary(await fixture.authorize({ key, amount: money(amount) })), expected);
        assert.equal(await inquired(fixture.known(key)), expected);
      });

    test('by the email of the cardholder, otherwise of the billing party', async () => {
      const rejecting = 'a_autoreject@example.com';
      assert.equal(toSummary(await fixture.authorize({ email: rejecting })), 'Declined Antifraud 59');
      assert.equal(toSummary(await fixture.authorize({ billToEmail: rejecting })), 'Declined Antifraud 59');
      assert.equal(toSummary(await fixture.authorize({ email: 'a@example.com', billToEmail: rejecting })), 'approved');
    });

    test('in every currency, and amounts beyond 2^53', async () => {
      const codes = 'JPY USD KWD CLF XAU ZWG'.split(' ');
      const amounts = codes.map((code) => ({
        minor: 9_999_999_999_999_999n,
        currency: parseCurrency(code) ?? money('1').currency,
      }));
      for (const amount of amounts) {
        const { key, history } = await fixture.authorized({ amount });
        assert.equal(toSummary(await fixture.modify('capture', history, amount)), 'approved');
        assert.equal(await inquired(fixture.known(key, { amount })), `approved ${amount.minor}`);
        const all = await fixture.modify('payment_refund', history, { ...amount, minor: amount.minor + 1n });
        assert.equal(toSummary(all), 'Declined InvalidData 12');
        assert.equal(toSummary(await fixture.modify('payment_refund', history, amount)), 'approved');
      }
    });

    test('in one row, with no part of the card in the files', async () => {
      const pan = '4539578763621486' as typeof CARD.pan;
      const before = [await fixture.rows('payments'), await fixture.rows('modifications')];
      const { history } = await fixture.authorized({
        card: { pan, securityCode: '9173' },
        email: 'canary+x@example.com',
      });
      assert.deepEqual(
        [await fixture.rows('payments'), await fixture.rows('modifications')],
        [Number(before[0]) + 1, before[1]],
      );
      await fixture.modify('capture', history);
      const bytes = await fixture.bytes();
      assert.ok(bytes.includes(history.operations[0]?.operationRef ?? '-'));
      for (const canary of [pan, pan.slice(0, 6), '9173', 'canary', 'Lopez', 'order 7'])
        assert.ok(!bytes.includes(canary), canary);
    });

    test('without ids that look like a card number', async () => {
      const outcome = await fixture.authorize();
      const runs = JSON.stringify(outcome).match(/[0-9]{12,}/g) ?? [];
      assert.ok(!runs.some(passesLuhn));
    });
  });

  describe('an operation reference', () => {
    test('is executed once: a second request gets the first response', async () => {
      const key = fixture.newKey();
      const first = await fixture.authorize({ key });
      assert.deepEqual(await fixture.authorize({ key, amount: money('5001'), capture: true }), first);
      const { history, subject } = fixture.known(key);
      await fixture.modify('authorization_void', history);
      assert.deepEqual(await fixture.authorize({ key }), first, 'also when the payment has changed since');
      assert.equal(toSummary(await fixture.inquire(history, subject)), 'reversed');
    });

    test('is also executed once for a refused, a pending or an unanswered authorization', async () => {
      for (const [amount, expected] of [
        ['15001', 'Declined InvalidCard 14'],
        ['60001', 'pending'],
      ] as const) {
        const key = fixture.newKey();
        assert.equal(toSummary(await fixture.authorize({ key, amount: money(amount) })), expected);
        assert.equal(toSummary(await fixture.authorize({ key })), expected);
      }
      const key = fixture.newKey();
      const unanswered = await fixture.authorize({ key, amount: money('65001'), timeoutMs: 300 });
      assert.equal(toSummary(unanswered), 'unknown timeout');
      assert.equal(toSummary(await fixture.authorize({ key })), 'approved');
    });

    test('is also executed once for a capture, refund or void', async () => {
      const { history } = await fixture.authorized({ amount: money('10') });
      const [capture, refund, ending] = [fixture.newKey(), fixture.newKey(), fixture.newKey()];
      const first = await fixture.modify('capture', history, money('6'), { key: capture });
      assert.deepEqual(await fixture.modify('capture', history, money('6'), { key: capture }), first);
      const refused = await fixture.modify('authorization_void', history, undefined, { key: ending });
      assert.equal(toSummary(refused), 'Declined InvalidData 12');
      const again = await fixture.modify('authorization_void', history, undefined, { key: ending });
      assert.equal(toSummary(again), toSummary(refused));
      for (let time = 0; time < 3; time++)
        assert.equal(
          toSummary(await fixture.modify('payment_refund', history, money('4'), { key: refund })),
          'approved',
        );
      assert.equal(toSummary(await fixture.modify('payment_refund', history, money('2'))), 'approved');
      assert.equal(
        toSummary(await fixture.modify('payment_refund', history, money('0.01'))),
        'Declined InvalidData 12',
      );
    });

    test('of a refused void may be repeated; others may not', async () => {
      const held = await fixture.authorized({ email: 'a_void_decline@x', amount: money('10') });
      const key = fixture.newKey();
      const again = () => fixture.modify('authorization_void', held.history, undefined, { key });
      assert.equal(toSummary(await again()), 'Declined Rejected 05');
      assert.equal(
        toSummary(await fixture.modify('capture', held.history, money('1'), { key })),
        'Declined Rejected 05',
      );
      assert.equal(toSummary(await again()), 'approved');
      assert.equal(toSummary(await again()), 'approved');
      assert.equal(await inquired(held), 'reversed');
      const refused = await fixture.authorized({ email: 'a_capture_decline@x' });
      for (const type of ['capture', 'authorization_void', 'capture'] as const)
        assert.equal(
          toSummary(await fixture.modify(type, refused.history, undefined, { key: refused.key })),
          'Declined Rejected 05',
        );
      assert.equal(await inquired(refused), 'approved');
    });

    test('is separate in each account and environment', async () => {
      const { key, history } = await fixture.authorized();
      for (const tenant of [
        { account: 'acc_2', environment: 'sandbox' },
        { account: 'acc_1', environment: 'production' },
      ] as const) {
        assert.equal(
          toSummary(await fixture.modify('capture', history, undefined, { tenant })),
          'Declined InvalidData 12',
        );
        assert.equal(
          toSummary(await fixture.authorize({ key, tenant, amount: money('5001') })),
          'Declined Rejected 05',
        );
      }
      assert.equal(toSummary(await fixture.modify('capture', history)), 'approved');
    });

    test('that was inquired about before its request arrived is refused when it arrives', async () => {
      for (const method of ['inquire', 'reverse'] as const) {
        const key = fixture.newKey();
        const { history, subject } = fixture.known(key);
        assert.equal(toSummary(await fixture[method](UNTOLD, subject)), 'not-found');
        assert.equal(toSummary(await fixture[method](UNTOLD, subject)), 'not-found', 'again');
        assert.equal(toSummary(await fixture.authorize({ key })), 'Declined InvalidData 12');
        assert.equal(toSummary(await fixture.inquire(history, subject)), 'not-found');
        assert.equal(toSummary(await fixture.modify('capture', history)), 'Declined InvalidData 12');
      }
    });

    test('of a capture, refund or void that was inquired about before is also refused', async () => {
      for (const method of ['inquire', 'reverse'] as const)
        for (const type of ['capture', 'payment_refund', 'authorization_void'] as const) {
          const { history } = await fixture.authorized({ capture: type === 'payment_refund' });
          const key = fixture.newKey();
          assert.equal(toSummary(await fixture[method](history, fixture.subject(type, key))), 'not-found');
          assert.equal(toSummary(await fixture.modify(type, history, undefined, { key })), 'Declined InvalidData 12');
          assert.equal(toSummary(await fixture[method](history, fixture.subject(type, key))), 'not-found');
          assert.equal(toSummary(await fixture.modify(type, history)), 'approved', 'with another key it works');
        }
    });
  });

  describe('allows', () => {
    test('one capture, full or partial, never above the authorized amount', async () => {
      for (const [amount, expected] of [
        ['10', 'approved'],
        ['0.01', 'approved'],
        ['10.01', 'Declined InvalidData 12'],
      ] as const) {
        const { history } = await fixture.authorized({ amount: money('10') });
        assert.equal(toSummary(await fixture.modify('capture', history, money(amount))), expected);
        const again = expected === 'approved' ? 'Declined InvalidData 12' : 'approved';
        assert.equal(toSummary(await fixture.modify('capture', history, money('0.01'))), again);
      }
    });

    test('no amount of zero, none in another currency', async () => {
      const { history } = await fixture.authorized({ amount: money('10') });
      for (const amount of [money('0'), money('1', 'EUR'), { ...money('1'), minor: -1n }])
        assert.equal(toSummary(await fixture.modify('capture', history, amount)), 'Declined InvalidData 12');
      await fixture.modify('capture', history);
      for (const amount of [money('0'), money('1', 'EUR'), { ...money('1'), minor: -1n }])
        assert.equal(toSummary(await fixture.modify('payment_refund', history, amount)), 'Declined InvalidData 12');
    });

    test('either a capture or a void; a second void changes nothing', async () => {
      const captured = await fixture.authorized();
      await fixture.modify('capture', captured.history, money('1'));
      assert.equal(toSummary(await fixture.modify('authorization_void', captured.history)), 'Declined InvalidData 12');
      assert.equal(await inquired(captured), 'approved 100');
      const voided = await fixture.authorized();
      assert.equal(toSummary(await fixture.modify('authorization_void', voided.history)), 'approved');
      assert.equal(toSummary(await fixture.modify('authorization_void', voided.history)), 'approved');
      assert.equal(toSummary(await fixture.modify('capture', voided.history)), 'Declined InvalidData 12');
      assert.equal(await inquired(voided), 'reversed');
    });

    test('a sale is not voided, and refunded up to its amount', async () => {
      const sale = await fixture.authorized({ capture: true, amount: money('10') });
      assert.equal(toSummary(await fixture.modify('authorization_void', sale.history)), 'Declined InvalidData 12');
      assert.equal(toSummary(await fixture.modify('capture', sale.history)), 'Declined InvalidData 12');
      assert.equal(
        toSummary(await fixture.modify('payment_refund', sale.history, money('10.01'))),
        'Declined InvalidData 12',
      );
      assert.equal(toSummary(await fixture.modify('payment_refund', sale.history, money('9.99'))), 'approved');
      assert.equal(
        toSummary(await fixture.modify('payment_refund', sale.history, money('0.02'))),
        'Declined InvalidData 12',
      );
      assert.equal(toSummary(await fixture.modify('payment_refund', sale.history, money('0.01'))), 'approved');
      assert.equal(await inquired(sale), 'approved 1000', 'what was captured stays what it was');
    });

    test('an open payment can only be voided, a refused one not modified', async () => {
      const open = await fixture.authorized({ amount: money('60000'), capture: true });
      assert.equal(toSummary(await fixture.modify('capture', open.history)), 'Declined InvalidData 12');
      assert.equal(toSummary(await fixture.modify('payment_refund', open.history)), 'Declined InvalidData 12');
      assert.equal(toSummary(await fixture.modify('authorization_void', open.history)), 'approved');
      assert.equal(await inquired(open), 'reversed');
      const refused = await fixture.authorized({ amount: money('5001') });
      for (const type of ['capture', 'payment_refund', 'authorization_void'] as const)
        assert.equal(toSummary(await fixture.modify(type, refused.history)), 'Declined InvalidData 12');
      for (const type of ['capture', 'payment_refund', 'authorization_void'] as const)
        assert.equal(toSummary(await fixture.modify(type, UNTOLD)), 'Declined InvalidData 12');
    });

    test('an inquiry by reference that returns the result of a capture, refund or void', async () => {
      const { history } = await fixture.authorized({ amount: money('10') });
      const key = fixture.newKey();
      const outcome = await fixture.modify('capture', history, money('6'), { key });
      assert.deepEqual(await fixture.inquire(history, fixture.subject('capture', key)), outcome);
      const refused = fixture.newKey();
      await fixture.modify('payment_refund', history, money('7'), { key: refused });
      assert.equal(
        toSummary(await fixture.inquire(history, fixture.subject('payment_refund', refused))),
        'Declined InvalidData 12',
      );
    });
  });

  describe('reverses', () => {
    test('an authorization, open, authorized or captured', async () => {
      for (const options of [{}, { capture: true }, { amount: money('60000') }]) {
        const known = await fixture.authorized(options);
        assert.equal(toSummary(await fixture.reverse(UNTOLD, known.subject)), 'reversed');
        assert.equal(toSummary(await fixture.reverse(UNTOLD, known.subject)), 'reversed', 'again');
        assert.equal(await inquired(known), 'reversed');
        assert.equal(toSummary(await fixture.modify('capture', known.history)), 'Declined InvalidData 12');
        assert.equal(toSummary(await fixture.modify('payment_refund', known.history)), 'Declined InvalidData 12');
      }
      const refused = await fixture.authorized({ amount: money('5001') });
      assert.equal(toSummary(await fixture.reverse(UNTOLD, refused.subject)), 'reversed');
      assert.equal(await inquired(refused), 'Declined Rejected 05');
    });

    test('a capture: the authorization remains as before', async () => {
      const { history, subject } = await fixture.authorized({ amount: money('10') });
      const key = fixture.newKey();
      await fixture.modify('capture', history, money('6'), { key });
      const capture = fixture.subject('capture', key);
      assert.equal(toSummary(await fixture.reverse(history, capture)), 'reversed');
      assert.equal(toSummary(await fixture.reverse(history, capture)), 'reversed', 'again');
      assert.equal(toSummary(await fixture.inquire(history, capture)), 'not-found');
      assert.equal(toSummary(await fixture.inquire(history, subject)), 'approved');
      assert.equal(
        toSummary(await fixture.modify('capture', history, money('6'), { key })),
        'approved',
        'the first answer',
      );
      assert.equal(toSummary(await fixture.inquire(history, subject)), 'approved', 'and nothing moved');
      assert.equal(toSummary(await fixture.modify('capture', history, money('10'))), 'approved');
    });

    test('a refund, and no capture with refunds', async () => {
      const { history } = await fixture.authorized({ amount: money('10') });
      const [captureKey, refundKey] = [fixture.newKey(), fixture.newKey()];
      await fixture.modify('capture', history, money('10'), { key: captureKey });
      await fixture.modify('payment_refund', history, money('6'), { key: refundKey });
      const built = await fixture.reverse(history, fixture.subject('capture', captureKey));
      assert.deepEqual(built, { kind: 'unknown', problem: 'built-upon' });
      assert.equal(toSummary(await fixture.reverse(history, fixture.subject('payment_refund', refundKey))), 'reversed');
      assert.equal(toSummary(await fixture.modify('payment_refund', history, money('10'))), 'approved');
    });

    test('a void: the released amount remains released', async () => {
      for (const type of ['authorization_void', 'expiry'] as const) {
        const known = await fixture.authorized();
        const key = fixture.newKey();
        await fixture.modify('authorization_void', known.history, undefined, { key });
        assert.equal(toSummary(await fixture.inquire(known.history, fixture.subject(type, key))), 'approved');
        assert.equal(
          toSummary(await fixture.reverse(known.history, fixture.subject(type, key))),
          'reversed-with-authorization',
        );
        assert.equal(await inquired(known), 'reversed');
      }
    });
  });

  test('the records survive a restart', async () => {
    const keys = await Promise.all([
      fixture.authorized(),
      fixture.authorized({ email: 'a_capture_decline@x', amount: money('7') }),
    ]);
    const [plain, faulty] = keys;
    await fixture.restart();
    assert.equal(await inquired(plain), 'approved');
    assert.equal(toSummary(await fixture.authorize({ key: plain.key, amount: money('5001') })), 'approved');
    assert.equal(toSummary(await fixture.modify('capture', plain.history)), 'approved');
    assert.equal(toSummary(await fixture.modify('capture', faulty.history, money('7'))), 'Declined Rejected 05');
    await fixture.restart();
    assert.equal(await inquired(plain), 'approved 10000');
    assert.equal(toSummary(await fixture.modify('capture', faulty.history, money('7'))), 'approved');
  });

  test('there is an outcome whatever the database does', async () => {
    const other = await SimulatorFixture.open();
    const { history, subject } = await other.authorized();
    await other.close();
    assert.equal(toSummary(await other.authorize()), 'unknown store');
    assert.equal(toSummary(await other.modify('capture', history)), 'unknown store');
    assert.equal(toSummary(await other.inquire(history, subject)), 'unknown store');
    assert.equal(toSummary(await other.reverse(history, subject)), 'unknown store');
  });

  test('its settings are those of all processors with other defaults', () => {
    const { settings } = fixture.simulator;
    assert.deepEqual(
      Object.entries(settings).map(([name, { defaultValue }]) => [name, defaultValue]),
      [
        ['timeout-ms', '1000'],
        ['recovery-delay-ms', '5000'],
      ],
    );
    assert.ok(settings['timeout-ms'].accepts('50') && !settings['timeout-ms'].accepts('49'));
  });

  test('amounts up to the authorized one are captured, others are not', async () => {
    const amount = fc.bigInt({ min: 1n, max: 500_000n });
    await fc.assert(
      fc.asyncProperty(
        amount,
        fc.bigInt({ min: 0n, max: 500_001n }),
        fc.bigInt({ min: 0n, max: 500_001n }),
        async (authorized, part, back) => {
          const { currency } = money('1');
          const { history } = await fixture.authorized({ amount: { minor: authorized, currency } });
          const captured = toSummary(await fixture.modify('capture', history, { minor: part, currency }));
          assert.equal(captured === 'approved', part > 0n && part <= authorized);
          const refunded = toSummary(await fixture.modify('payment_refund', history, { minor: back, currency }));
          assert.equal(refunded === 'approved', captured === 'approved' && back > 0n && back <= part);
        },
      ),
      {
        numRuns: 60,
        examples: [
          [5n, 5n, 5n],
          [5n, 6n, 1n],
          [5n, 4n, 5n],
        ],
      },
    );
    assert.equal(fixture.now, NOON);
  });
});
