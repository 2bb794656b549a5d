import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Currency, minorUnitDigits, parseCurrency } from '../../src/kernel/currency.ts';
import { type Money, parseAmount } from '../../src/kernel/money.ts';
import {
  type Condition,
  decide,
  RULES,
  type RuleInput,
  type SimulatedOutcome,
} from '../../src/payments/processors/simulator/rules.ts';
import { parseTriggers } from '../../src/payments/processors/simulator/triggers.ts';
import { RESPONSE_CODES, toFailureStatus } from '../../src/payments/transitions.ts';
import { CARD, money, NOON } from './simulator-fixture.ts';

const DECLINING_CARDS = {
  '4000000000000002': 'Declined / Rejected',
  '4000000000009995': 'Declined / InsufficientFunds',
  '4000000000000069': 'Declined / ExpiredCard',
  '4000000000000127': 'Declined / InvalidCard',
  '4000000000009979': 'Declined / StolenCard',
  '4000000000000119': 'ProcessorError / Undefined',
};

/** First and last integer amount of each row; amounts between rows are authorized. */
const BANDS: readonly (readonly [from: number, to: number, outcome: string])[] = [
  [5001, 10000, 'Declined / Rejected'],
  [10001, 15000, 'Declined / InsufficientFunds'],
  [15001, 20000, 'Declined / InvalidCard'],
  [20001, 25000, 'Declined / InvalidData'],
  [25001, 30000, 'Declined / Referred'],
  [30001, 35000, 'Declined / ExpiredCard'],
  [35001, 40000, 'Declined / StolenCard'],
  [40001, 45000, 'ProcessorError / ConnectionRejected'],
  [45001, 50000, 'Declined / Antifraud'],
  [50001, 55000, 'ProcessorError / Undefined'],
  [55001, 59999, 'ProcessorError / InvalidConfiguration'],
  [60000, 65000, 'opened'],
  [65001, 70000, 'approved, not answered'],
];

const shown = (verdict: SimulatedOutcome): string => {
  if (verdict.kind === 'refused') return `${toFailureStatus(verdict.reason).status} / ${verdict.reason}`;
  return verdict.kind === 'approved' && !verdict.isAnswered ? 'approved, not answered' : verdict.kind;
};

function outcome(change: Partial<Omit<RuleInput, 'words'>> & { email?: string } = {}): string {
  const { email, ...facts } = change;
  const { pan, expiry } = CARD;
  return shown(decide({ now: NOON, triggers: parseTriggers(email), pan, expiry, amount: money('100.00'), ...facts }));
}

const bandOf = (units: number): string => BANDS.find(([from, to]) => units >= from && units <= to)?.[2] ?? 'approved';

describe('the simulator decides', () => {
  describe('by the amount', () => {
    const edges = BANDS.flatMap(([from, to]) => [from - 1, from, to, to + 1]);
    for (const units of new Set([0, 1, 5000, ...edges])) {
      test(`${units} to ${units}.99: ${bandOf(units)}`, () => {
        for (const cents of units === 0 ? ['.01', '.99'] : ['', '.0', '.00', '.01', '.5', '.99'])
          assert.equal(outcome({ amount: money(`${units}${cents}`) }), bandOf(units), cents);
      });
    }

    test('whatever the currency, by the integer part of the amount', () => {
      const currencies = ['JPY', 'CLP', 'USD', 'BRL', 'EUR', 'KWD', 'BHD', 'CLF', 'UYW'];
      const amount = fc
        .tuple(fc.nat(99_999), fc.constantFrom(...currencies), fc.nat(9999))
        .map(([units, code, rest]) => {
          const currency = parseCurrency(code) as Currency;
          const digits = minorUnitDigits(currency);
          const text = digits === 0 ? `${units}` : `${units}.${String(rest).padStart(4, '0').slice(0, digits)}`;
          return [units, { currency, minor: parseAmount(text, currency) } as Money] as const;
        });
      fc.assert(fc.property(amount, ([units, amount]) => assert.equal(outcome({ amount }), bandOf(units))));
    });

    test('the largest amounts are authorized', () => {
      assert.equal(outcome({ amount: money('999999999999.9999', 'UYW') }), 'approved');
    });
  });

  describe('by the expiry of the card at the end of its month in UTC', () => {
    const end = Date.UTC(2026, 11, 1);
    for (const [month, year, now, expected] of [
      ['11', '26', end - 1, 'approved'],
      ['11', '26', end, 'Declined / ExpiredCard'],
      ['12', '25', Date.UTC(2026, 0, 1) - 1, 'approved'],
      ['12', '25', Date.UTC(2026, 0, 1), 'Declined / ExpiredCard'],
      ['10', '26', NOON, 'Declined / ExpiredCard'],
      ['01', '27', NOON, 'approved'],
      ['12', '99', NOON, 'approved'],
    ] as const) {
      test(`${month}/${year} at ${new Date(now).toISOString()}: ${expected}`, () => {
        assert.equal(outcome({ expiry: { month, year }, now }), expected);
      });
    }
  });

  describe('by the card', () => {
    for (const [pan, expected] of Object.entries(DECLINING_CARDS))
      test(`ending in ${pan.slice(-4)}: ${expected}`, () => {
        assert.equal(outcome({ pan }), expected);
        assert.equal(outcome({ pan: `${pan}0` }), 'approved');
      });
  });

  describe('by the email', () => {
    const antifraud = [
      'prereject',
      'preaccept_autoreject',
      'autoreject',
      'manualreject',
      'auto_inprogress_3ds2_autoreject',
    ];
    const opened = ['preaccept_autoinprogress', 'autoinprogress'];
    const emailsWithTrigger: readonly ((trigger: string) => string)[] = [
      (trigger) => `ana_${trigger}@example.com`,
      (trigger) => `ana+${trigger}@example.com`,
      (trigger) => `_${trigger}@example.com`,
      (trigger) => `ana+${trigger}+more@example.com`,
      (trigger) => `ana_${trigger}_more@example.com`,
      (trigger) => `Ana_${trigger.toUpperCase()}@Example.com`,
      (trigger) => `a@b_${trigger}@example.com`,
      (trigger) => `ana_${trigger}`,
    ];
    const others: readonly ((trigger: string) => string)[] = [
      (trigger) => `${trigger}@example.com`,
      (trigger) => `ana.${trigger}@example.com`,
      (trigger) => `ana-${trigger}@example.com`,
      (trigger) => `ana+${trigger}x@example.com`,
      (trigger) => `ana+x${trigger}@example.com`,
      (trigger) => `ana+${trigger}.@example.com`,
      (trigger) => `ana@mail_${trigger}.example.com`,
      (trigger) => `ana@mail+${trigger}`,
    ];
    for (const [triggers, expected] of [
      [antifraud, 'Declined / Antifraud'],
      [opened, 'opened'],
    ] as const)
      for (const trigger of triggers) {
        test(`${trigger}: ${expected}`, () => {
          for (const emailWith of emailsWithTrigger)
            assert.equal(outcome({ email: emailWith(trigger) }), expected, emailWith(trigger));
        });
        // A trigger that contains a separator may end in another one.
        if (!/_/.test(trigger))
          test(`no ${trigger} in another position`, () => {
            for (const other of others) assert.equal(outcome({ email: other(trigger) }), 'approved', other(trigger));
          });
      }

    test('auto_inprogress_3ds2_autoaccept is accepted, and no shorter trigger is found inside it', () => {
      assert.equal(outcome({ email: 'ana_auto_inprogress_3ds2_autoaccept@example.com' }), 'approved');
      assert.deepEqual(parseTriggers('ana_auto_inprogress_3ds2_autoaccept@x'), ['auto_inprogress_3ds2_autoaccept']);
      assert.deepEqual(parseTriggers('ana_auto_inprogress_3ds2_autoreject@x'), ['auto_inprogress_3ds2_autoreject']);
      assert.deepEqual(parseTriggers('ana_preaccept_autoreject+autoreject@x'), ['preaccept_autoreject', 'autoreject']);
    });

    test('other email parts have no meaning', () => {
      for (const email of [undefined, '', '@', '_', '+@', 'ana@example.com', 'ana_lopez+shop@example.com'])
        assert.equal(outcome(email === undefined ? {} : { email }), 'approved');
    });

    test('any text is parsed, and triggers after a separator are found', () => {
      const piece = fc.stringMatching(/^[a-z.]{0,6}$/);
      fc.assert(
        fc.property(
          piece,
          fc.constantFrom('_', '+'),
          fc.constantFrom(...antifraud),
          fc.string(),
          (name, sign, trigger, host) => {
            assert.ok(parseTriggers(`${name}${sign}${trigger}@${host.replaceAll('@', '')}`).includes(trigger));
          },
        ),
      );
      fc.assert(fc.property(fc.string(), (text) => void parseTriggers(text)));
    });
  });

  describe('by the first rule that matches', () => {
    const expired = { expiry: { month: '01', year: '20' } };
    const pan = '4000000000009995';
    const amount = money('20001');
    for (const [title, facts, expected] of [
      ['expiry before email', { ...expired, email: 'a_autoreject@x', pan, amount }, 'Declined / ExpiredCard'],
      [
        'rejecting before waiting words',
        { email: 'a_autoinprogress_autoreject@x', pan, amount },
        'Declined / Antifraud',
      ],
      ['email before card', { email: 'a_autoinprogress@x', pan, amount }, 'opened'],
      ['email before triggers', { email: 'a_late_accept_autoreject@x' }, 'Declined / Antifraud'],
      ['card before triggers', { email: 'a_lost@x', pan, amount }, 'Declined / InsufficientFunds'],
      ['triggers before amount', { email: 'a_late_accept@x', amount }, 'late_accept'],
      ['card before amount', { pan, amount }, 'Declined / InsufficientFunds'],
      ['amount last', { amount }, 'Declined / InvalidData'],
    ] as const)
      test(title, () => assert.equal(outcome(facts), expected));
  });
});

const conditionText = (when: Condition): string => {
  switch (when.by) {
    case 'expiry':
      return 'expiration_date in the past (end of its month, UTC)';
    case 'triggers':
      return `email with ${when.triggers.map((trigger) => `\`${trigger}\``).join(', ')}`;
    case 'card':
      return `card ${when.card}`;
    case 'amount':
      return `amount ${when.from}-${when.to}`;
    case 'default':
      return 'everything else';
  }
};

const VERDICTS = {
  opened: 'Opened until void or expiry',
  late_accept: 'Opened, after 5 s Authorized (payment: Collected), with a notification',
  late_reject: 'Opened, after 5 s Declined / Rejected, with a notification',
  late_failure: 'Authorized, after 5 s Declined / Rejected, with a notification; a payment stays Collected',
  silent_accept: 'as `late_accept`, without a notification',
  lost: 'never arrives, and no response is sent',
  refused_connection: 'the connection is refused: certainly not sent',
};

const verdictText = (verdict: SimulatedOutcome): string => {
  if (verdict.kind === 'refused')
    return `${toFailureStatus(verdict.reason).status} / ${verdict.reason} (${RESPONSE_CODES[verdict.reason]})`;
  if (verdict.kind !== 'approved') return VERDICTS[verdict.kind];
  return verdict.isAnswered
    ? 'Authorized (payment: Collected) (00)'
    : 'records it, never responds: Opened, then by recovery Authorized (payment: Collected)';
};

test('docs/processors/simulator.md has the rules, in order', () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/processors/simulator.md'), 'utf8');
  const rows = text.split('\n').filter((line) => /^\| [0-9]a? \|/.test(line));
  const expected = RULES.map(
    ({ number, when, outcome }) => `| ${number} | ${conditionText(when)} | ${verdictText(outcome)} |`,
  );
  assert.deepEqual(rows, expected);
});
