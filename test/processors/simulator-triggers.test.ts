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
const email = (words: string): string => `ana+${words}@example.com`;

describe('the simulator on request', { timeout: 120_000 }, () => {
  let bench: SimulatorFixture;
  before(async () => {
    bench = await SimulatorFixture.open();
  });
  after(() => bench.close());

  describe('a trigger of the authorization', () => {
    test('lost: no response, nothing executed', async () => {
      const { history, subject } = await bench.authorized({ email: email('lost'), patience: 100 });
      assert.equal(toSummary(await bench.inquire(history, subject)), 'not-found');
      assert.equal(toSummary(await bench.authorize({ email: email('lost'), patience: 100 })), 'unknown timeout');
    });

    test('refused_connection: certainly not sent', async () => {
      const key = bench.newKey();
      assert.equal(toSummary(await bench.authorize({ key, email: email('refused_connection') })), 'not-sent');
      assert.equal(toSummary(await bench.authorize({ key })), 'approved');
    });

    test('65001: executed, no response', async () => {
      for (const capture of [false, true]) {
        const key = bench.newKey();
        const amount = money('65001');
        assert.equal(toSummary(await bench.authorize({ key, amount, capture, patience: 300 })), 'unknown timeout');
        const { history, subject } = bench.known(key, { amount, capture });
        assert.equal(toSummary(await bench.inquire(history, subject)), capture ? 'approved 6500100' : 'approved');
      }
    });

    test('delay: executed immediately, response later', async () => {
      const key = bench.newKey();
      const slow = bench.authorize({ key, email: email('delay_400') });
      let isAnswered = false;
      void slow.then(() => {
        isAnswered = true;
      });
      await new Promise((resolve) => setTimeout(resolve, 150));
      const { history, subject } = bench.known(key);
      assert.equal(toSummary(await bench.inquire(history, subject)), 'approved');
      assert.equal(isAnswered, false);
      assert.equal(toSummary(await slow), 'approved');
      assert.equal(toSummary(await bench.authorize({ email: email('delay_400'), patience: 100 })), 'unknown timeout');
      assert.equal(
        toSummary(await bench.authorize({ email: email('delay_50'), amount: money('5001') })),
        'Declined Rejected 05',
      );
    });

    test('arrival: executed after the caller stopped waiting, unless an inquiry came first', async () => {
      const [late, given] = [bench.newKey(), bench.newKey()];
      const asked = { email: email('arrival_300'), patience: 50 };
      const outcomes = await Promise.all([late, given].map((key) => bench.authorize({ ...asked, key })));
      assert.deepEqual(outcomes.map(toSummary), ['unknown timeout', 'unknown timeout']);
      const closed = bench.known(given);
      assert.equal(toSummary(await bench.inquire(closed.history, closed.subject)), 'not-found');
      await new Promise((resolve) => setTimeout(resolve, 600));
      assert.equal(toSummary(await bench.inquire(closed.history, closed.subject)), 'not-found');
      const booked = bench.known(late);
      assert.equal(toSummary(await bench.inquire(booked.history, booked.subject)), 'approved');
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
    const ready = (move: keyof typeof TYPES, words: string) =>
      bench.authorized({ capture: move === 'refund', email: email(words) });
    const act = (move: keyof typeof TYPES, known: Awaited<ReturnType<typeof ready>>, key: string) =>
      bench.move(TYPES[move], known.history, undefined, { key, patience: 150 });

    for (const move of MODIFICATIONS) {
      const inquire = (known: Awaited<ReturnType<typeof ready>>, key: string) =>
        bench.inquire(known.history, bench.subject(TYPES[move], key));

      for (const [fault, answer, booked] of [
        ['timeout', 'unknown timeout', 'approved'],
        ['lost', 'unknown timeout', 'not-found'],
        ['decline', 'Declined Rejected 05', 'Declined Rejected 05'],
        ['error', 'ProcessorError Undefined 96', 'ProcessorError Undefined 96'],
        ['unsent', 'not-sent', 'not-found'],
      ] as const) {
        test(`${move}_${fault}: once ${answer}, recorded ${booked}`, async () => {
          const known = await ready(move, `${move}_${fault}`);
          const [first, second] = [bench.newKey(), bench.newKey()];
          assert.equal(toSummary(await act(move, known, first)), answer);
          assert.equal(toSummary(await inquire(known, first)), booked);
          // An operation that timed out cannot be executed again; a void is idempotent.
          const repeated = booked === 'approved' && move !== 'void' ? 'Declined InvalidData 12' : 'approved';
          assert.equal(toSummary(await act(move, known, second)), repeated);
        });

        test(`${move}_${fault}_always: each time`, async () => {
          const known = await ready(move, `${move}_${fault}_always`);
          for (let time = 0; time < 3; time++) assert.equal(toSummary(await act(move, known, bench.newKey())), answer);
        });
      }

      test(`${move}: faults of other operations do not concern it`, async () => {
        const others = MODIFICATIONS.filter((each) => each !== move).map((each) => `${each}_decline_always`);
        assert.equal(toSummary(await act(move, await ready(move, others.join('+')), bench.newKey())), 'approved');
      });
    }

    test('a fault never allows a forbidden operation', async () => {
      const known = await bench.authorized({ email: email('capture_timeout') });
      const key = bench.newKey();
      const outcome = await bench.move('capture', known.history, money('100.01'), { key, patience: 150 });
      assert.equal(toSummary(outcome), 'unknown timeout');
      assert.equal(
        toSummary(await bench.inquire(known.history, bench.subject('capture', key))),
        'Declined InvalidData 12',
      );
    });

    test('inquiry_timeout: no response once, or each time', async () => {
      const once = await bench.authorized({ email: email('inquiry_timeout') });
      assert.equal(toSummary(await bench.inquire(once.history, once.subject, { patience: 100 })), 'unknown timeout');
      assert.equal(toSummary(await bench.inquire(once.history, once.subject)), 'approved');
      const always = await bench.authorized({ email: email('inquiry_timeout_always') });
      for (let time = 0; time < 2; time++)
        assert.equal(
          toSummary(await bench.inquire(always.history, always.subject, { patience: 100 })),
          'unknown timeout',
        );
      assert.equal(toSummary(await bench.abandon(always.history, always.subject)), 'reversed');
    });

    test('reversal_timeout: executed, and no response once', async () => {
      const known = await bench.authorized({ email: email('reversal_timeout') });
      assert.equal(toSummary(await bench.abandon(known.history, known.subject, { patience: 150 })), 'unknown timeout');
      assert.equal(toSummary(await bench.inquire(known.history, known.subject)), 'reversed');
      assert.equal(toSummary(await bench.abandon(known.history, known.subject)), 'reversed');
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
    for (const [word, capture, before, later, hasNews] of [
      ['late_accept', false, 'pending', 'approved', true],
      ['late_accept', true, 'pending', 'approved 10000', true],
      ['late_reject', false, 'pending', 'Declined Rejected 05', true],
      ['late_reject', true, 'pending', 'Declined Rejected 05', true],
      ['late_failure', false, 'approved', 'Declined Rejected 05', true],
      ['late_failure', true, 'approved 10000', 'approved 10000', false],
      ['silent_accept', false, 'pending', 'approved', false],
      ['silent_accept', true, 'pending', 'approved 10000', false],
    ] as const)
      test(`${word} of ${capture ? 'a payment' : 'an authorization'}: ${before}, after 5 s ${later}`, async () => {
        const key = bench.newKey();
        const asked = { key, capture, email: email(word) };
        const first = await bench.authorize(asked);
        assert.equal(toSummary(first), before);
        const { history, subject } = bench.known(key, asked);
        bench.now += 4999;
        assert.equal(toSummary(await bench.inquire(history, subject)), before);
        assert.deepEqual(await bench.simulator.pollNotifications(), []);
        await bench.restart();
        bench.now += 1;
        assert.equal(toSummary(await bench.inquire(history, subject)), later);
        assert.deepEqual(
          await bench.simulator.pollNotifications(),
          hasNews ? [{ tenant: bench.tenant, operationRef: key }] : [],
        );
        assert.deepEqual(await bench.authorize(asked), first, 'a repetition is answered as at first');
        await bench.inquire(history, subject);
        bench.now += 86_400_000;
        assert.deepEqual(await bench.simulator.pollNotifications(), []);
      });

    test('a void or capture in time prevents the change, and the notification', async () => {
      const voided = await bench.authorized({ email: email('late_accept') });
      const captured = await bench.authorized({ email: email('late_failure') });
      bench.now += 4999;
      assert.equal(toSummary(await bench.move('authorization_void', voided.history)), 'approved');
      assert.equal(toSummary(await bench.move('capture', captured.history)), 'approved');
      bench.now += 3_600_000;
      assert.equal(toSummary(await bench.inquire(voided.history, voided.subject)), 'reversed');
      assert.equal(toSummary(await bench.inquire(captured.history, captured.subject)), 'approved 10000');
      assert.deepEqual(await bench.simulator.pollNotifications(), []);
    });

    test('is permanent once it has happened', async () => {
      const accepted = await bench.authorized({ email: email('silent_accept') });
      const failed = await bench.authorized({ email: email('late_failure') });
      const sale = await bench.authorized({ email: email('silent_accept'), capture: true });
      assert.equal(toSummary(await bench.move('capture', accepted.history)), 'Declined InvalidData 12');
      bench.now += 5000;
      assert.equal(toSummary(await bench.move('capture', accepted.history)), 'approved');
      assert.equal(toSummary(await bench.move('capture', failed.history)), 'Declined InvalidData 12');
      assert.equal(toSummary(await bench.move('authorization_void', failed.history)), 'Declined InvalidData 12');
      assert.equal(toSummary(await bench.move('authorization_void', sale.history)), 'Declined InvalidData 12');
      await bench.inquire(failed.history, failed.subject);
      bench.now += 3_600_000;
      await bench.simulator.pollNotifications();
    });
  });

  describe('a notification', () => {
    const keys = async (): Promise<string[]> =>
      (await bench.simulator.pollNotifications()).map(({ operationRef }) => operationRef);

    test('is repeated at growing intervals, until an inquiry arrives or an hour has passed', async () => {
      const { key, history, subject } = await bench.authorized({ email: email('late_accept') });
      bench.now += 5000;
      assert.deepEqual(await keys(), [key]);
      assert.deepEqual(await keys(), [], 'not at once');
      bench.now += 10_000;
      assert.deepEqual(await keys(), [key]);
      await bench.restart();
      bench.now += 10_000;
      assert.deepEqual(await keys(), [key]);
      bench.now += 19_999;
      assert.deepEqual(await keys(), []);
      bench.now += 1;
      assert.deepEqual(await keys(), [key]);
      await bench.inquire(history, subject);
      bench.now += 100_000;
      assert.deepEqual(await keys(), []);

      const ignored = await bench.authorized({ email: email('late_reject') });
      let told = 0;
      for (let minute = 0; minute < 300; minute++) {
        bench.now += 60_000;
        told += (await keys()).filter((each) => each === ignored.key).length;
      }
      assert.ok(told > 3 && told < 20, `${told}`);
    });

    test('duplicate_notification: twice', async () => {
      const { key, history, subject } = await bench.authorized({ email: email('late_reject+duplicate_notification') });
      bench.now += 5000;
      assert.deepEqual(await keys(), [key, key]);
      await bench.inquire(history, subject);
    });

    test('late_notification: 20 s after the change, even after an earlier inquiry', async () => {
      const { key, history, subject } = await bench.authorized({ email: email('late_notification_late_accept') });
      bench.now += 24_999;
      assert.equal(toSummary(await bench.inquire(history, subject)), 'approved');
      assert.deepEqual(await keys(), []);
      bench.now += 1;
      assert.deepEqual(await keys(), [key]);
      await bench.inquire(history, subject);
    });

    test('without a delayed change: the triggers do nothing', async () => {
      await bench.authorized({ email: email('duplicate_notification+late_notification') });
      bench.now += 3_600_000;
      assert.deepEqual(await keys(), []);
    });
  });
});

test('docs/processors/simulator.md has every trigger, with its effect', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/processors/simulator.md'), 'utf8');
  const about: Record<string, string> = {
    ...Object.fromEntries(Object.entries(DELAYS).map(([word, does]) => [`${word}_<ms>`, does])),
    ...NOTIFICATION_TRIGGERS,
    ...Object.fromEntries(
      Object.entries(FAULTS).map(([fault, does]) => [
        MODIFICATIONS.map((move) => `${move}_${fault}`).join('`, `'),
        does,
      ]),
    ),
  };
  for (const [words, does] of Object.entries(about)) assert.ok(text.includes(`| \`${words}\` | ${does} |`), words);
  for (const question of INQUIRIES) assert.ok(text.includes(`| \`${question}_timeout\` |`), question);
});
