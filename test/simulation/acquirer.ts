import type { Tenant } from '../../src/kernel/environment.ts';
import type { Money } from '../../src/kernel/money.ts';
import type {
  InquiryResult,
  OperationRef,
  Order,
  Outcome,
  PaymentHistory,
  Processor,
  ProcessorCall,
  ProcessorNotification,
  ReversalResult,
} from '../../src/payments/processor.ts';
import { type AcquirerBehavior, AcquirerLedger, type AcquirerResponse } from './acquirer-ledger.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The fate of a request. */
const FATES = {
  good: 66,
  /** Surely not sent. */
  refused_connection: 5,
  /** Never arrives. */
  lost: 6,
  /** Done, and never answered. */
  unanswered: 9,
  /** Arrives when the caller has stopped waiting. */
  late: 7,
  /** Executed, and answered with an unreadable response. */
  garbled: 4,
  /** The client for this processor has a fault, before or after it was sent. */
  failed: 3,
} as const;

type ProcessorResult = Outcome | InquiryResult | ReversalResult;

/** Faults that no service can make good: to see that they are noticed. */
export type CorruptedResponse = 'mute' | 'forgets-captures';

const NEVER: Promise<never> = new Promise(() => undefined);
const GARBLED = { kind: 'unknown', problem: 'garbled' } as const;

/** A processor that is as unpleasant as real ones, over a line on which everything goes wrong, with books of its own. */
export class Acquirer {
  readonly habits: AcquirerBehavior;
  readonly ledger: AcquirerLedger;
  readonly #time: VirtualTime;
  readonly #seeded: SeededRandom;
  readonly #log: (line: string) => void;
  /** Requests that are still on their way arrive before this much later, milliseconds. */
  readonly #lateMost: number;
  readonly #spoilt: CorruptedResponse | undefined;
  /** The line works from now on; what is late stays so. */
  isCalm = false;
  #onTheWay = 0;

  constructor(options: {
    habits: AcquirerBehavior;
    time: VirtualTime;
    seeded: SeededRandom;
    lateMost: number;
    log: (line: string) => void;
    spoilt: CorruptedResponse | undefined;
  }) {
    this.habits = options.habits;
    this.#time = options.time;
    this.#seeded = options.seeded;
    this.#log = options.log;
    this.#lateMost = options.lateMost;
    this.#spoilt = options.spoilt;
    this.ledger = new AcquirerLedger({
      habits: options.habits,
      seeded: options.seeded.branch(),
      now: () => this.#time.now,
    });
  }

  /** Requests that have not arrived, and answers that have not. */
  get onTheWay(): number {
    return this.#onTheWay;
  }

  calmDown(): void {
    this.isCalm = true;
    this.ledger.isCalm = true;
  }

  /** The acquirer as one process sees it; after its crash it sends and receives nothing. */
  seenBy(isDead: () => boolean, tenant: Tenant): Processor {
    const { sale, partialCapture, absences } = this.habits;
    const send = <Word extends ProcessorResult>(
      what: string,
      call: ProcessorCall,
      act: () => AcquirerResponse,
    ): Promise<Word> => (isDead() ? NEVER : (this.#send(what, call.operationId, act, isDead) as Promise<Word>));
    return {
      capabilities: { sale, partialCapture, notFoundThreshold: absences },
      settings: {},
      check: () => undefined,
      authorize: (call, order: Order) =>
        send('authorize', call, () => this.ledger.authorize(call.operationId, order.amount.minor, order.capture)),
      capture: (call, history, amount: Money) =>
        send('capture', call, () =>
          this.#spoilt === 'forgets-captures'
            ? { kind: 'approved' }
            : this.ledger.capture(call.operationId, paymentOf(history), amount.minor),
        ),
      refund: (call, history, amount: Money) =>
        send('refund', call, () => this.ledger.refund(call.operationId, paymentOf(history), amount.minor)),
      void: (call, history) => send('void', call, () => this.ledger.void(call.operationId, paymentOf(history))),
      inquire: (call, history, subject) =>
        send('inquire', call, () =>
          isFirst(subject)
            ? this.ledger.standing(subject.operationId)
            : this.ledger.movement(subject.operationId, paymentOf(history)),
        ),
      reverse: (call, history, subject) =>
        send('reverse', call, () =>
          isFirst(subject)
            ? this.ledger.giveUpPayment(subject.operationId)
            : this.ledger.giveUpMovement(subject.operationId, paymentOf(history)),
        ),
      pollNotifications: async (): Promise<ProcessorNotification[]> => {
        if (isDead()) return NEVER;
        const keys = this.ledger.takeNotifications();
        // Duplicates, too.
        return [...keys, ...keys.filter(() => this.#seeded.percent(30))].map((key) => ({ tenant, operationId: key }));
      },
    };
  }

  #send(what: string, key: string, act: () => AcquirerResponse, isDead: () => boolean): Promise<ProcessorResult> {
    const isLost = this.#spoilt === 'mute';
    const fate = isLost ? 'lost' : this.isCalm ? 'good' : this.#seeded.weighed(FATES);
    const name = `${what} ${key}`;
    return new Promise((resolve, reject) => {
      const arrive = (answered: (result: ProcessorResult) => void): void => {
        const response = act();
        this.#log(`acquirer: ${name} ${fate}: ${response.kind}`);
        this.#later(this.#seeded.between(0, 200), () =>
          isDead() ? undefined : answered(what === 'reverse' ? reversalOf(response) : resultOf(response, key)),
        );
      };
      const soon = this.#seeded.between(0, 300);
      if (fate === 'good') return this.#later(soon, () => arrive(resolve));
      if (fate === 'unanswered') return this.#later(soon, () => arrive(() => undefined));
      if (fate === 'garbled') return this.#later(soon, () => arrive(() => resolve(GARBLED)));
      if (fate === 'late')
        return this.#later(this.#seeded.between(1000, this.#lateMost), () => arrive(() => undefined));
      this.#log(`acquirer: ${name} ${fate}`);
      if (fate === 'refused_connection')
        return resolve(what === 'inquire' || what === 'reverse' ? GARBLED : { kind: 'not-sent' });
      if (fate === 'failed') {
        if (this.#seeded.percent(50)) this.#later(soon, () => arrive(() => undefined));
        reject(new Error('a fault of the client'));
      }
    });
  }

  #later(milliseconds: number, run: () => void): void {
    this.#onTheWay++;
    this.#time.after(milliseconds, () => {
      this.#onTheWay--;
      run();
    });
  }
}

const paymentOf = ({ operations }: PaymentHistory): string => operations[0]?.operationId ?? '';

const isFirst = ({ type }: OperationRef): boolean => type === 'authorization' || type === 'payment';

const REVERSALS = {
  approved: 'reversed',
  reversed: 'reversed-with-authorization',
  'not-found': 'not-found',
  refused: 'not-reversible',
} as const;

/** The ledger answers no request to reverse with `pending`. */
const reversalOf = ({ kind }: AcquirerResponse): ReversalResult => ({
  kind: REVERSALS[kind as keyof typeof REVERSALS],
});

function resultOf(response: AcquirerResponse, key: string): Outcome | InquiryResult {
  const particulars = { processorId: `at-${key}`, responseCode: response.kind === 'refused' ? '05' : '00' };
  if (response.kind === 'not-found') return { kind: 'not-found' };
  if (response.kind !== 'approved') return { ...response, details: particulars } as Outcome | InquiryResult;
  const captured = response.captured === undefined ? undefined : { minor: response.captured, currency: 'USD' as never };
  return { kind: 'approved', captured, details: particulars };
}
