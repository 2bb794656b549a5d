import type { Clock, Random } from '../../src/kernel/clock.ts';
import type { Tenant } from '../../src/kernel/environment.ts';
import type { Processor } from '../../src/payments/processor.ts';
import { simulatedStateAt } from '../../src/payments/processors/simulator/simulated-payment.ts';
import { Simulator } from '../../src/payments/processors/simulator/simulator.ts';
import { findPayment } from '../../src/payments/processors/simulator/simulator-store.ts';
import type { ConfiguredSettings } from '../../src/payments/settings.ts';
import { type Database, text } from '../../src/storage/database.ts';
import { Acquirer, type CorruptedResponse } from './acquirer.ts';
import { type AcquirerBehavior, type AcquirerLedger, refundedOf } from './acquirer-ledger.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The state of a payment in the records of a processor. */
export interface BackendState {
  readonly state: 'pending' | 'approved' | 'refused' | 'reversed';
  readonly amount: bigint;
  readonly captured: bigint;
  readonly refunded: bigint;
  /** The payment changed without a request, and without a notification. */
  readonly isSecret: boolean;
}

/** The interface of a processor to a process. */
export interface Process {
  readonly database: Database;
  readonly clock: Clock;
  readonly random: Random;
  isDead(): boolean;
}

/** A processor with its books, as the simulation needs it. */
export interface Backend {
  readonly name: string;
  readonly settings: ConfiguredSettings;
  readonly partialCapture: boolean;
  seenBy(process: Process): Processor;
  /** From now on nothing goes wrong that has not gone wrong yet. */
  calmDown(): void;
  /** Something is on its way between us and it. */
  isBusy(): boolean;
  /** The time of the next delayed change. */
  nextTurn(): number | undefined;
  states(database: Database): Promise<Map<string, BackendState>>;
  violations(): readonly string[];
  /** Lets the next call go over a real network, until it has ended or hangs; resolves with false when there is none. */
  reach?(): Promise<boolean>;
  close?(): Promise<void>;
  /** The email of a new payment, and whole units of its amount. */
  planned(seeded: SeededRandom): { readonly email: string; readonly units: number };
}

/** Parts of a backend. */
export interface BackendParts {
  readonly time: VirtualTime;
  readonly seeded: SeededRandom;
  readonly tenant: Tenant;
  readonly log: (line: string) => void;
}

export const SETTINGS: ConfiguredSettings = {
  'timeout-ms': '1000',
  'recovery-delay-ms': '1000',
  'recovery-max': '60s',
  'opened-expiry': '10m',
  'authorization-expiry': '1h',
};
/** Twice `recovery-max`: unconfirmed operations are inquired about for that long. */
export const LATE_MOST = 110_000;

function habitsOf(seeded: SeededRandom): AcquirerBehavior {
  const absences = seeded.pick([1, 3, Number.POSITIVE_INFINITY]);
  return {
    absences,
    sale: seeded.percent(60),
    partialCapture: seeded.percent(75),
    undoing: seeded.pick(['capture', 'authorization', 'nothing']),
    indexDelay: absences === 1 ? 0 : seeded.pick([0, 0, 4000]),
    remembersRefusals: seeded.percent(60),
  };
}

export function acquirerBackend(options: BackendParts & { readonly spoilt: CorruptedResponse | undefined }): Backend {
  const { time, seeded, tenant, log, spoilt } = options;
  const habits = habitsOf(seeded);
  log(`acquirer: ${JSON.stringify({ ...habits, absences: String(habits.absences) })}`);
  const acquirer = new Acquirer({ habits, time, seeded: seeded.branch(), lateMost: LATE_MOST, log, spoilt });
  const { ledger } = acquirer;
  return {
    name: 'acquirer',
    settings: SETTINGS,
    partialCapture: habits.partialCapture,
    seenBy: ({ isDead }) => acquirer.seenBy(isDead, tenant),
    calmDown: () => acquirer.calmDown(),
    isBusy: () => acquirer.onTheWay > 0,
    nextTurn: () => ledger.nextTurn(),
    states: async () => statesIn(ledger),
    violations: () => ledger.violations,
    planned: (plannedRequests) => ({ email: 'ana@example.com', units: plannedRequests.between(1, 900) }),
  };
}

/** The states of the payments in the records of an acquirer, after the due changes. */
export function statesIn(ledger: AcquirerLedger): Map<string, BackendState> {
  ledger.applyChanges();
  return new Map(
    [...ledger.payments.values()].map((payment) => [
      payment.key,
      {
        state: payment.state,
        amount: payment.amount,
        captured: payment.capture?.amount ?? 0n,
        refunded: refundedOf(payment),
        isSecret: payment.silent && payment.untold,
      },
    ]),
  );
}

const TRIGGERS = [
  ...['lost', 'refused_connection', 'late_accept', 'late_reject', 'late_failure', 'silent_accept', 'autoreject'],
  ...[
    'autoinprogress',
    'duplicate_notification',
    'late_notification',
    'delay_800',
    'delay_1500',
    'arrival_1500',
    'arrival_9000',
  ],
  ...['capture', 'refund', 'void'].flatMap((operation) =>
    ['timeout', 'lost', 'decline', 'error', 'unsent'].map((fault) => `${operation}_${fault}`),
  ),
  ...['inquiry_timeout', 'reversal_timeout'],
];

/** The simulator of the sandbox, by the words of emails and by amounts. */
export function simulatorBackend({ time, tenant }: { time: VirtualTime; tenant: Tenant }): Backend {
  return {
    name: 'simulator',
    settings: { ...SETTINGS, 'recovery-delay-ms': '2000' },
    partialCapture: true,
    seenBy: ({ database, clock, random }) => new Simulator({ database, clock, random }),
    calmDown: () => undefined,
    isBusy: () => false,
    nextTurn: () => undefined,
    states: async (database) => {
      const states = new Map<string, BackendState>();
      for (const row of await database.read('select operation_ref from simulator_payments')) {
        const entry = await findPayment(database, tenant, text(row, 'operation_ref'));
        const standing = entry && simulatedStateAt(entry, time.now);
        if (entry === undefined || standing === undefined || standing.kind === 'not-found') continue;
        const { kind } = standing;
        states.set(entry.operationRef, {
          state: kind === 'opened' ? 'pending' : kind === 'authorized' ? 'approved' : kind,
          amount: entry.amount.minor,
          captured: kind === 'authorized' ? standing.captured : 0n,
          refunded: entry.refunded,
          isSecret: entry.outcome === 'silent_accept',
        });
      }
      return states;
    },
    violations: () => [],
    planned: (plannedRequests) => {
      const triggers = Array.from({ length: plannedRequests.below(4) }, () => `+${plannedRequests.pick(TRIGGERS)}`);
      const units = plannedRequests.percent(85)
        ? plannedRequests.between(1, 900)
        : plannedRequests.pick([6000, 12_000, 42_000, 61_000, 66_000]);
      return { email: `ana${triggers.join('')}@example.com`, units };
    },
  };
}
