import { SECOND } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import type { OutgoingMessage, SendResult, WebhookSender } from '../../src/webhooks/send.ts';
import { ALL_EVENTS, type Endpoint } from '../../src/webhooks/webhook.ts';
import type { SeededRandom } from './seeded-random.ts';
import type { VirtualTime } from './virtual-time.ts';

/** `steady` succeeds, `flaky` fails and loses responses until the simulation is calm, `mute` never responds, `closed` refuses. */
export const RECEIVERS = ['steady', 'flaky', 'mute', 'closed'] as const;
/** It succeeds shortly before an attempt ends. The simulations of payments do without it. */
export const LATE_RECEIVER = 'late';
const ALL_RECEIVERS = [...RECEIVERS, LATE_RECEIVER] as const;
export type Receiver = (typeof ALL_RECEIVERS)[number];

/** So many that a flaky receiver gets everything. */
export const DELAYS: readonly number[] = Array.from({ length: 12 }, () => 2 * SECOND);

/** Shares of ten requests to a flaky receiver, cumulated. */
const FLAKY = { refused: 1, failed: 3, lost: 4 };

/** The endpoint of a receiver, which wants everything. */
export const endpointOf = (receiver: Receiver, now: number): Endpoint => ({
  id: `wh_${receiver}`,
  url: `https://${receiver}.example/`,
  events: [ALL_EVENTS],
  description: undefined,
  disabledReason: undefined,
  createdAt: now,
  secrets: [{ bytes: new Uint8Array(32), until: undefined }],
  revision: 1,
});

const SUCCEEDED: SendResult = { statusCode: 204, error: undefined, retryAfter: undefined };
const FAILED: SendResult = { statusCode: 503, error: 'status', retryAfter: undefined };
const REFUSED: SendResult = { statusCode: undefined, error: 'connect', retryAfter: undefined };
const LATE: SendResult = { statusCode: undefined, error: 'timeout', retryAfter: undefined };

/** Requests with one event that came to one receiver. */
interface Received {
  readonly body: string;
  requests: number;
  readonly firstAt: number;
  /** When the last request ends. */
  busyUntil: number;
}

/** Servers of a merchant to which events are sent, over a network with a delay. */
export class Receivers {
  isCalm = false;
  /** By receiver and id of the event. */
  readonly #received = new Map<Receiver, Map<string, Received>>(ALL_RECEIVERS.map((each) => [each, new Map()]));
  readonly #seeded: SeededRandom;
  readonly #time: VirtualTime;
  readonly #log: (line: string) => void;
  readonly #faults: string[] = [];

  constructor(options: { seeded: SeededRandom; time: VirtualTime; log: (line: string) => void }) {
    this.#seeded = options.seeded;
    this.#time = options.time;
    this.#log = options.log;
  }

  /** Violations that were seen while requests came. */
  get faults(): readonly string[] {
    return this.#faults;
  }

  /** Requests to receivers that get an event again. */
  get duplicates(): number {
    const all = [...this.#received.values()].flatMap((events) => [...events.values()]);
    return all.reduce((sum, { requests }) => sum + requests - 1, 0);
  }

  of(receiver: Receiver): ReadonlyMap<string, Received> {
    return this.#received.get(receiver) ?? new Map();
  }

  /** The network as one process sees it: once it has crashed, no response arrives. */
  seenBy({ isDead }: { isDead(): boolean }): Pick<WebhookSender, 'send'> {
    return {
      send: (message) =>
        new Promise((resolve) => {
          if (isDead()) return;
          const { hostname } = new URL(message.url);
          const receiver = ALL_RECEIVERS.find((each) => hostname.startsWith(each)) ?? 'closed';
          const { result, afterMs, arrives } = this.#plan(receiver);
          if (arrives) this.#receive(receiver, message, afterMs);
          this.#time.after(afterMs, () => {
            if (!isDead()) resolve(result);
          });
        }),
    };
  }

  #plan(receiver: Receiver): { result: SendResult; afterMs: number; arrives: boolean } {
    const quick = this.#seeded.between(1, 400);
    if (receiver === 'closed') return { result: REFUSED, afterMs: quick, arrives: false };
    if (receiver === 'mute') return { result: LATE, afterMs: LIMITS.webhookAttemptMs, arrives: true };
    if (receiver === LATE_RECEIVER)
      return { result: SUCCEEDED, afterMs: LIMITS.webhookAttemptMs - SECOND + quick, arrives: true };
    const fate = receiver === 'flaky' && !this.isCalm ? this.#seeded.below(10) : 10;
    if (fate < FLAKY.refused) return { result: REFUSED, afterMs: quick, arrives: false };
    if (fate < FLAKY.failed) return { result: FAILED, afterMs: quick, arrives: true };
    // The receiver has it; the response is lost.
    if (fate < FLAKY.lost) return { result: LATE, afterMs: LIMITS.webhookAttemptMs, arrives: true };
    return { result: SUCCEEDED, afterMs: quick, arrives: true };
  }

  #receive(receiver: Receiver, { headers, body }: OutgoingMessage, durationMs: number): void {
    const id = headers['webhook-id'] ?? '';
    const content = Buffer.from(body).toString('utf8');
    this.#log(`receiver: ${receiver} ${id} ${JSON.parse(content).type}`);
    const events = this.#received.get(receiver) as Map<string, Received>;
    const known = events.get(id) ?? { body: content, requests: 0, firstAt: this.#time.now, busyUntil: 0 };
    events.set(id, known);
    if (known.body !== content) this.#faults.push(`${id} came with another body`);
    known.requests++;
    if (this.#time.now < known.busyUntil) this.#faults.push(`${id} was sent to ${receiver} twice at a time`);
    known.busyUntil = this.#time.now + durationMs;
  }
}
