import { setTimeout as wait } from 'node:timers/promises';
import type { Processor } from '../../src/payments/processor.ts';
import { ProcessorHosts } from '../../src/payments/processor-hosts.ts';
import { CyberSource } from '../../src/payments/processors/cybersource/cybersource.ts';
import { Koin } from '../../src/payments/processors/koin/koin.ts';
import { type HttpResult, OutboundHttp, type ProcessorRequest } from '../../src/payments/processors/outbound-http.ts';
import { type CyberSourceLedger, scaled, type Transaction } from '../processors/cybersource-ledger.ts';
import { FakeCyberSource } from '../processors/fake-cybersource.ts';
import { FakeKoin } from '../processors/fake-koin.ts';
import { type OrderEntry, refundedAmount } from '../processors/koin-ledger.ts';
import { type Backend, type BackendParts, type BackendState, LATE_MOST, type Process, SETTINGS } from './backend.ts';
import type { SeededRandom } from './seeded-random.ts';

/** Real milliseconds within which a call over loopback must end, or reach a fake that does not answer it. */
const PATIENCE = 60_000;
/** Percentage of calls that meet a fault. */
const FAULTS = 25;

export type CallName = 'authorize' | 'capture' | 'refund' | 'void' | 'inquire' | 'reverse';

/** Connections that know which of their requests wait for an answer in vain, without a look at the real time. */
export class ObservedHttp extends OutboundHttp {
  readonly #hanging = new Set<object>();
  #latest: object = {};

  constructor() {
    super(new ProcessorHosts());
  }

  get hanging(): number {
    return this.#hanging.size;
  }

  /** A fake reports that it will not answer the latest request: the wire starts no other one before. */
  onUnanswered = (): void => {
    this.#hanging.add(this.#latest);
  };

  override async send(request: ProcessorRequest): Promise<HttpResult> {
    this.#latest = request;
    const end = (): unknown => this.#hanging.delete(request);
    request.signal.addEventListener('abort', end, { once: true });
    try {
      return await super.send(request);
    } finally {
      end();
    }
  }
}

/**
 * Calls over a real network in virtual time. They go one after the other, so that a seed does the same again: each has ended,
 * or waits for an answer in vain, before the next one starts.
 */
export class Wire {
  isCalm = false;
  readonly #queue: (() => void)[] = [];
  readonly #started = new Set<object>();
  readonly #network: ObservedHttp;
  readonly #parts: BackendParts;
  readonly #spoil: (call: CallName) => string;

  constructor(parts: BackendParts, network: ObservedHttp, spoil: (call: CallName) => string) {
    this.#parts = parts;
    this.#network = network;
    this.#spoil = spoil;
  }

  seenBy(processor: Processor, { isDead }: Process): Processor {
    const over = <
      Call extends { readonly operationRef: string },
      Rest extends unknown[],
      Word extends { readonly kind: string },
    >(
      name: CallName,
      act: (call: Call, ...rest: Rest) => Promise<Word>,
    ) => {
      return (call: Call, ...rest: Rest): Promise<Word> =>
        isDead() ? new Promise(() => undefined) : this.#send(name, call.operationRef, isDead, () => act(call, ...rest));
    };
    return {
      capabilities: processor.capabilities,
      settings: processor.settings,
      ...(processor.operationRefFormat && { operationRefFormat: processor.operationRefFormat }),
      check: (...args) => processor.check(...args),
      authorize: over('authorize', processor.authorize.bind(processor)),
      capture: over('capture', processor.capture.bind(processor)),
      refund: over('refund', processor.refund.bind(processor)),
      void: over('void', processor.void.bind(processor)),
      inquire: over('inquire', processor.inquire.bind(processor)),
      reverse: over('reverse', processor.reverse.bind(processor)),
    };
  }

  /** Starts the next call, and returns false when there is none. */
  async reach(): Promise<boolean> {
    await this.#settle();
    const start = this.#queue.shift();
    start?.();
    await this.#settle();
    return start !== undefined;
  }

  isBusy = (): boolean => this.#started.size + this.#queue.length > 0;

  /** Resolves when all calls that have started have ended, or wait for an answer in vain. */
  async #settle(): Promise<void> {
    const until = performance.now() + PATIENCE;
    while (this.#started.size > this.#network.hanging) {
      if (performance.now() > until) throw new Error('a call neither ends nor reaches the fake');
      await wait(1);
    }
  }

  #send<Word extends { readonly kind: string }>(
    name: CallName,
    key: string,
    isDead: () => boolean,
    act: () => Promise<Word>,
  ): Promise<Word> {
    const { seeded, log } = this.#parts;
    return new Promise((resolve, reject) => {
      this.#queue.push(() => {
        const fault = !this.isCalm && seeded.percent(FAULTS) ? this.#spoil(name) : '';
        const call = {};
        this.#started.add(call);
        const onChange = (change: Word): void => {
          this.#started.delete(call);
          log(`wire: ${name} ${key} ${fault}: ${change.kind}`);
          if (!isDead()) resolve(change);
        };
        act().then(onChange, (error: unknown) => {
          this.#started.delete(call);
          reject(error);
        });
      });
    });
  }
}

export async function koinBackend(parts: BackendParts): Promise<Backend> {
  const network = new ObservedHttp();
  const fake = new FakeKoin({ now: () => parts.time.now, onUnanswered: network.onUnanswered });
  const { url } = await fake.start();
  const kinds = {
    authorize: ['tokenize', 'create'],
    capture: ['capture'],
    refund: ['refund'],
    void: ['cancel'],
    inquire: ['find', 'get'],
    reverse: ['cancel', 'find'],
  } as const;
  const faults = [
    'drop-before',
    'drop-after',
    'hang-before',
    'hang-after',
    'error-before',
    'error-after',
    'garbage',
    'late',
  ] as const;
  const spoil = (call: CallName): string => {
    const on = parts.seeded.pick<(typeof kinds)[CallName][number]>(kinds[call]);
    const name = parts.seeded.pick(faults);
    const fault = { on, do: name === 'late' ? { late: parts.seeded.between(1000, LATE_MOST) } : name };
    const isVerdict = call === 'authorize' && parts.seeded.percent(40);
    if (isVerdict)
      fake.inject({ on: 'create', do: { becomes: parts.seeded.pick(['Failed', 'Opened']), reason: 'Rejected' } });
    else fake.inject(fault);
    return isVerdict ? 'verdict' : `${on} ${name}`;
  };
  const wire = new Wire(parts, network, spoil);
  const koin = new Koin({ outboundHttp: network });
  const settings = { ...SETTINGS, 'base-url': url, 'private-key': 'sk_test', account: 'ACC', 'country-code': 'BR' };
  return {
    ...overWire(wire),
    name: 'koin',
    settings,
    partialCapture: false,
    seenBy: (process) => wire.seenBy(koin, process),
    calmDown: () => {
      wire.isCalm = true;
      fake.forgetFaults();
    },
    states: async () => new Map([...fake.ledger.orders].map(([ref, order]) => [idOf(ref), stateOfOrder(order)])),
    violations: () => fake.violations,
    close: async () => {
      network.close();
      await fake.stop();
    },
  };
}

/** The id is the end of the operation reference. */
const idOf = (operationRef: string): string => operationRef.slice(-25);

const ORDER_STATES = {
  Opened: 'pending',
  Authorized: 'approved',
  Collected: 'approved',
  Cancelled: 'reversed',
  Voided: 'reversed',
  Failed: 'refused',
} as const;

/** Units are ten-thousandths there. */
const minorOf = (units: bigint): bigint => units / 100n;

const stateOfOrder = (order: OrderEntry): BackendState => ({
  state: ORDER_STATES[order.status],
  amount: minorOf(order.units),
  captured: order.status === 'Collected' ? minorOf(order.units) : 0n,
  refunded: minorOf(refundedAmount(order)),
  isSecret: false,
});

export async function cyberSourceBackend(parts: BackendParts): Promise<Backend> {
  const keys = { merchantId: 'mymid', keyId: 'kid-1', sharedSecret: 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=' };
  const indexDelayMs = parts.seeded.pick([0, 4000]);
  const network = new ObservedHttp();
  const { onUnanswered } = network;
  const fake = new FakeCyberSource({ ...keys, indexDelayMs, clock: () => parts.time.now, onUnanswered });
  const { url } = await fake.start();
  const kinds = {
    authorize: ['payment'],
    capture: ['capture'],
    refund: ['refund'],
    void: ['reversal'],
    inquire: ['search', 'details'],
    reverse: ['timeout-reversal', 'timeout-void'],
  } as const;
  const faults = [
    'drop-before',
    'drop-after',
    'never-answer',
    '502-before',
    '502-after',
    'garbage',
    'truncated',
  ] as const;
  const spoil = (call: CallName): string => {
    const fault = {
      on: parts.seeded.pick<(typeof kinds)[CallName][number]>(kinds[call]),
      fault: parts.seeded.pick(faults),
    };
    const isVerdict = call === 'authorize' && parts.seeded.percent(40);
    const verdict = { status: 'DECLINED', reason: 'PROCESSOR_DECLINED' };
    if (isVerdict) fake.inject({ on: 'payment', fault: 'verdict', verdict });
    else fake.inject(fault);
    return isVerdict ? 'verdict' : `${fault.on} ${fault.fault}`;
  };
  const wire = new Wire(parts, network, spoil);
  const cybersource = new CyberSource({
    outboundHttp: network,
    clock: () => parts.time.now,
    random: parts.seeded.branch(),
  });
  const secrets = { 'merchant-id': keys.merchantId, 'key-id': keys.keyId, 'shared-secret': keys.sharedSecret };
  return {
    ...overWire(wire),
    name: 'cybersource',
    settings: { ...SETTINGS, ...secrets, 'base-url': url },
    partialCapture: true,
    seenBy: (process) => wire.seenBy(cybersource, process),
    calmDown: () => {
      wire.isCalm = true;
      fake.heal();
    },
    states: async () => statesIn(fake.ledger),
    violations: () => fake.violations,
    close: async () => {
      network.close();
      await fake.stop();
    },
  };
}

function statesIn(ledger: CyberSourceLedger): Map<string, BackendState> {
  const first = ledger.transactions.filter(({ kind }) => kind === 'authorization' || kind === 'sale');
  return new Map(first.map((each) => [each.transactionId ?? each.id, stateOf(ledger, each)]));
}

const STATES = { done: 'approved', held: 'pending', declined: 'refused', undone: 'reversed' } as const;

function stateOf(ledger: CyberSourceLedger, { id, state, amount }: Transaction): BackendState {
  const { captured, refunded } = ledger.totals(id);
  return {
    state: STATES[state],
    amount: minorOf(scaled(amount)),
    captured: minorOf(captured),
    refunded: minorOf(refunded),
    isSecret: false,
  };
}

/** The common part of backends over a real network. */
export const overWire = (wire: Wire) => ({
  isBusy: wire.isBusy,
  reach: () => wire.reach(),
  nextTurn: () => undefined,
  planned: (plannedRequests: SeededRandom) => ({ email: 'ana@example.com', units: plannedRequests.between(1, 900) }),
});
