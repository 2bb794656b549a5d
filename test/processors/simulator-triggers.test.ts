import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  DELAYS,
  delayMs,
  FAULTS,
  INQUIRIES,
  MAX_DELAY_MS,
  MODIFICATIONS,
  NOTIFICATION_TRIGGERS,
  nextFault,
  parseTriggers,
  storedTriggers,
} from '../../src/payments/processors/simulator/triggers.ts';
import { money, SimulatorFixture, toSummary } from './simulator-fixture.ts';

const TYPES = { capture: 'capture', refund: 'payment_refund', void: 'authorization_void' } as const;
const email = (triggers: string): string => `ana+${triggers}@example.com`;

describe('the simulator on request', { timeout: 120_000 }, () => {
  let fixture: SimulatorFixture;
  before(async () => {
    fixture = await SimulatorFixture.open();
  });
  after(() => fixture.close());

  describe('a trigger of the authorization', () => {
    test('lost: no response, nothing executed', async () => {
      const { history, subject } = await fixture.authorized({ email: email('lost'), timeoutMs: 100 });
      assert.equal(toSummary(await fixture.inquire(history, subject)), 'not-found');
      assert.equal(toSummary(await fixture.authorize({ email: email('lost'), timeoutMs: 100 })), 'unknown timeout');
    });

    test('refused_connection: certainly not sent', async () => {
      const key = fixture.newKey();
      assert.equal(toSummary(await fixture.authorize({ key, email: email('refused_connection') })), 'not-sent');
      assert.equal(toSummary(await fixture.authorize({ key })), 'approved');
    });

    test('65001: executed, no response', async () => {
      for (const capture of [false, true]) {
        const key = fixture.newKey();
        const amount = money('65001');
        assert.equal(toSummary(await fixture.authorize({ key, amount, capture, timeoutMs: 300 })), 'unknown timeout');
        const { history, subject } = fixture.known(key, { amount, capture });
        assert.equal(toSummary(await fixture.inquire(history, subject)), capture ? 'approved 6500100' : 'approved');
      }
    });

    test('delay: executed immediately, response later', async () => {
      const key = fixture.newKey();
      const slow = fixture.authorize({ key, email: email('delay_2000') });
      let isAnswered = false;
      void slow.then(() => {
        isAnswered = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 150));
      const { history, subject } = fixture.known(key);
      assert.equal(toSummary(await fixture.inquire(history, subject)), 'approved');
      assert.equal(isAnswered, false);
      assert.equal(toSummary(await slow), 'approved');
      assert.equal(
        toSummary(await fixture.authorize({ email: email('delay_400'), timeoutMs: 100 })),
        'unknown timeout',
      );
      assert.equal(
        toSummary(await fixture.authorize({ email: email('delay_50'), amount: money('5001') })),
        'Declined Rejected 05',
      );
    });

    test('arrival: executed after the caller stopped waiting, unless an inquiry came first', async () => {
      const [late, inTime] = [fixture.newKey(), fixture.newKey()];
      const options = { email: email('arrival_2000'), timeoutMs: 50 };
      const outcomes = await Promise.all([late, inTime].map((key) => fixture.authorize({ ...options, key })));
      assert.deepEqual(outcomes.map(toSummary), ['unknown timeout', 'unknown timeout']);
      const closed = fixture.known(inTime);
      assert.equal(toSummary(await fixture.inquire(closed.history, closed.subject)), 'not-found');
      await new Promise((resolve) => setTimeout(resolve, 2500));
      assert.equal(toSummary(await fixture.inquire(closed.history, closed.subject)), 'not-found');
      const booked = fixture.known(late);
      assert.equal(toSummary(await fixture.inquire(booked.history, booked.subject)), 'approved');
    });

    test('delays are parsed up to 10 s', () => {
      const wait = (text: string): number => delayMs(parseTriggers(email(text)), 'delay');
      assert.deepEqual(
        [
          'delay_0',
          'delay_7',
          'delay_9999',
          'delay_10000',
          'delay_10001',
          'delay_99999',
          'delay_',
          'delay',
          'delay_-1',
          'arrival_5',
        ].map(wait),
        [0, 7, 9999, MAX_DELAY_MS, 0, 0, 0, 0, 0, 0],
      );
    });
  });

  describe('a trigger of later operations', () => {
    /** A payment that allows the modification. */
    const ready = (type: keyof typeof TYPES, triggers: string) =>
      fixture.authorized({ capture: type === 'refund', email: email(triggers) });
    const act = (type: keyof typeof TYPES, known: Awaited<ReturnType<typeof ready>>, key: string) =>
      fixture.modify(TYPES[type], known.history, undefined, { key, timeoutMs: 150 });

    for (const type of MODIFICATIONS) {
      const inquire = (known: Awaited<ReturnType<typeof ready>>, key: string) =>
        fixture.inquire(known.history, fixture.subject(TYPES[type], key));

      for (const [fault, outcome, booked] of [
        ['timeout', 'unknown timeout', 'approved'],
        ['lost', 'unknown timeout', 'not-found'],
        ['decline', 'Declined Rejected 05', 'Declined Rejected 05'],
        ['error', 'ProcessorError Undefined 96', 'ProcessorError Undefined 96'],
        ['unsent', 'not-sent', 'not-found'],
      ] as const) {
        test(`${type}_${fault}: once ${outcome}, recorded ${booked}`, async () => {
          const known = await ready(type, `${type}_${fault}`);
          const [first, second] = [fixture.newKey(), fixture.newKey()];
          assert.equal(toSummary(await act(type, known, first)), outcome);
          assert.equal(toSummary(await inquire(known, first)), booked);
          // An operation that timed out cannot be executed again; a void is idempotent.
          const repeated = booked === 'approved' && type !== 'void' ? 'Declined InvalidData 12' : 'approved';
          assert.equal(toSummary(await act(type, known, second)), repeated);
        });

        test(`${type}_${fault}_always: each time`, async () => {
          const known = await ready(type, `${type}_${fault}_always`);
          for (let time = 0; time < 3; time++)
            assert.equal(toSummary(await act(type, known, fixture.newKey())), outcome);
        });
      }

      test(`${type}: faults of other operations do not concern it`, async () => {
        const others = MODIFICATIONS.filter((each) => each !== type).map((each) => `${each}_decline_always`);
        assert.equal(toSummary(await act(type, await ready(type, others.join('+')), fixture.newKey())), 'approved');
      });
    }

    test('a fault never allows a forbidden operation', async () => {
      const known = await fixture.authorized({ email: email('capture_timeout') });
      const key = fixture.newKey();
      const outcome = await fixture.modify('capture', known.history, money('100.01'), { key, timeoutMs: 150 });
      assert.equal(toSummary(outcome), 'unknown timeout');
      assert.equal(
        toSummary(await fixture.inquire(known.history, fixture.subject('capture', key))),
        'Declined InvalidData 12',
      );
    });

    test('inquiry_timeout: no response once, or each time', async () => {
      const once = await fixture.authorized({ email: email('inquiry_timeout') });
      assert.equal(toSummary(await fixture.inquire(once.history, once.subject, { timeoutMs: 100 })), 'unknown timeout');
      assert.equal(toSummary(await fixture.inquire(once.history, once.subject)), 'approved');
      const always = await fixture.authorized({ email: email('inquiry_timeout_always') });
      for (let time = 0; time < 2; time++)
        assert.equal(
          toSummary(await fixture.inquire(always.history, always.subject, { timeoutMs: 100 })),
          'unknown timeout',
        );
      assert.equal(toSummary(await fixture.reverse(always.history, always.subject)), 'reversed');
    });

    test('reversal_timeout: executed, and no response once', async () => {
      const known = await fixture.authorized({ email: email('reversal_timeout') });
      assert.equal(
        toSummary(await fixture.reverse(known.history, known.subject, { timeoutMs: 150 })),
        'unknown timeout',
      );
      assert.equal(toSummary(await fixture.inquire(known.history, known.subject)), 'reversed');
      assert.equal(toSummary(await fixture.reverse(known.history, known.subject)), 'reversed');
    });

    test('faults of one kind occur in the order of the triggers', () => {
      let triggers: readonly string[] = storedTriggers(
        parseTriggers(
          email('refund_lost+capture_error+refund_lost+other+refund_error+refund_timeout_always+refund_unsent'),
        ),
      );
      const faults = Array.from({ length: 6 }, () => {
        const next = nextFault(triggers, 'refund');
        triggers = next.triggers;
        return next.fault;
      });
      assert.deepEqual(faults, ['lost', 'lost', 'error', 'timeout', 'timeout', 'timeout']);
      assert.deepEqual(nextFault(triggers, 'capture').fault, 'error');
      assert.deepEqual(nextFault([], 'refund'), { fault: undefined, triggers: [] });
    });
  });

  describe('a delayed change', () => {
    for (const [trigger, capture, before, later, hasNews] of [
      ['late_accept', false, 'pending', 'approved', true],
      ['late_accept', true, 'pending', 'approved 10000', true],
      ['late_reject', false, 'pending', 'Declined Rejected 05', true],
      ['late_reject', true, 'pending', 'Declined Rejected 05', true],
      ['late_failure', false, 'approved', 'Declined Rejected 05', true],
      ['late_failure', true, 'approved 10000', 'approved 10000', false],
      ['silent_accept', false, 'pending', 'approved', false],
      ['silent_accept', true, 'pending', 'approved 10000', false],
    ] as const)
      test(`${trigger} of ${capture ? 'a payment' : 'an authorization'}: ${before}, after 5 s ${later}`, async () => {
        const key = fixture.newKey();
        const options = { key, capture, email: email(trigger) };
        const first = await fixture.authorize(options);
        assert.equal(toSummary(first), before);
        const { history, subject } = fixture.known(key, options);
        fixture.now += 4999;
        assert.equal(toSummary(await fixture.inquire(history, subject)), before);
        assert.deepEqual(await fixture.simulator.pollNotifications(), []);
        await fixture.restart();
        fixture.now += 1;
        assert.equal(toSummary(await fixture.inquire(history, subject)), later);
        assert.deepEqual(
          await fixture.simulator.pollNotifications(),
          hasNews ? [{ tenant: fixture.tenant, operationId: key }] : [],
        );
        assert.deepEqual(await fixture.authorize(options), first, 'a repetition is answered as at first');
        await fixture.inquire(history, subject);
        fixture.now += 86_400_000;
        assert.deepEqual(await fixture.simulator.pollNotifications(), []);
      });

    test('a void or capture in time prevents the change, and the notification', async () => {
      const voided = await fixture.authorized({ email: email('late_accept') });
      const captured = await fixture.authorized({ email: email('late_failure') });
      fixture.now += 4999;
      assert.equal(toSummary(await fixture.modify('authorization_void', voided.history)), 'approved');
      assert.equal(toSummary(await fixture.modify('capture', captured.history)), 'approved');
      fixture.now += 3_600_000;
      assert.equal(toSummary(await fixture.inquire(voided.history, voided.subject)), 'reversed');
      assert.equal(toSummary(await fixture.inquire(captured.history, captured.subject)), 'approved 10000');
      assert.deepEqual(await fixture.simulator.pollNotifications(), []);
    });

    test('is permanent once it has happened', async () => {
      const accepted = await fixture.authorized({ email: email('silent_accept') });
      const failed = await fixture.authorized({ email: email('late_failure') });
      const sale = await fixture.authorized({ email: email('silent_accept'), capture: true });
      assert.equal(toSummary(await fixture.modify('capture', accepted.history)), 'Declined InvalidData 12');
      fixture.now += 5000;
      assert.equal(toSummary(await fixture.modify('capture', accepted.history)), 'approved');
      assert.equal(toSummary(await fixture.modify('capture', failed.history)), 'Declined InvalidData 12');
      assert.equal(toSummary(await fixture.modify('authorization_void', failed.history)), 'Declined InvalidData 12');
      assert.equal(toSummary(await fixture.modify('authorization_void', sale.history)), 'Declined InvalidData 12');
      await fixture.inquire(failed.history, failed.subject);
      fixture.now += 3_600_000;
      await fixture.simulator.pollNotifications();
    });
  });

  describe('a notification', () => {
    const keys = async (): Promise<string[]> =>
      (await fixture.simulator.pollNotifications()).map(({ operationId }) => operationId);

    test('is repeated at growing intervals, until an inquiry arrives or an hour has passed', async () => {
      const { key, history, subject } = await fixture.authorized({ email: email('late_accept') });
      fixture.now += 5000;
      assert.deepEqual(await keys(), [key]);
      assert.deepEqual(await keys(), [], 'not at once');
      fixture.now += 10_000;
      assert.deepEqual(await keys(), [key]);
      await fixture.restart();
      fixture.now += 10_000;
      assert.deepEqual(await keys(), [key]);
      fixture.now += 19_999;
      assert.deepEqual(await keys(), []);
      fixture.now += 1;
      assert.deepEqual(await keys(), [key]);
      await fixture.inquire(history, subject);
      fixture.now += 100_000;
      assert.deepEqual(await keys(), []);

      const ignored = await fixture.authorized({ email: email('late_reject') });
      let count = 0;
      for (let minute = 0; minute < 300; minute++) {
        fixture.now += 60_000;
        count += (await keys()).filter((each) => each === ignored.key).length;
      }
      assert.ok(count > 3 && count < 20, `${count}`);
    });

    test('duplicate_notification: twice', async () => {
      const { key, history, subject } = await fixture.authorized({
        email: email('late_reject+duplicate_notification'),
      });
      fixture.now += 5000;
      assert.deepEqual(await keys(), [key, key]);
      await fixture.inquire(history, subject);
    });

    test('late_notification: 20 s after the change, even after an earlier inquiry', async () => {
      const { key, history, subject } = await fixture.authorized({ email: email('late_notification_late_accept') });
      fixture.now += 24_999;
      assert.equal(toSummary(await fixture.inquire(history, subject)), 'approved');
      assert.deepEqual(await keys(), []);
      fixture.now += 1;
      assert.deepEqual(await keys(), [key]);
      await fixture.inquire(history, subject);
    });

    test('without a delayed change: the triggers do nothing', async () => {
      await fixture.authorized({ email: email('duplicate_notification+late_notification') });
      fixture.now += 3_600_000;
      assert.deepEqual(await keys(), []);
    });
  });
});

test('docs/processors/simulator.md has every trigger, with its effect', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/processors/simulator.md'), 'utf8');
  const about: Record<string, string> = {
    ...Object.fromEntries(Object.entries(DELAYS).map(([trigger, does]) => [`${trigger}_<ms>`, does])),
    ...NOTIFICATION_TRIGGERS,
    ...Object.fromEntries(
      Object.entries(FAULTS).map(([fault, does]) => [
        MODIFICATIONS.map((type) => `${type}_${fault}`).join('`, `'),
        does,
      ]),
    ),
  };
  for (const [triggers, does] of Object.entries(about))
    assert.ok(text.includes(`| \`${triggers}\` | ${does} |`), triggers);
  for (const question of INQUIRIES) assert.ok(text.includes(`| \`${question}_timeout\` |`), question);
});
