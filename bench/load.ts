import { randomInt } from 'node:crypto';
import { respond } from './child.ts';
import { type Connection, openConnections } from './connection.ts';
import { median, percentile } from './figures.ts';
import { type Message, type Pool, panWriter, type Request, requestNamed, toMessage } from './requests.ts';

/**
 * The load: a process of its own with keep-alive connections. Requests are bytes built beforehand, in which only the card
 * numbers change, and of responses it reads the head, so that little of the machine goes here.
 */
export type LoadOrder =
  | { readonly kind: 'connect'; readonly target: string; readonly port: number; readonly connections: number }
  | { readonly kind: 'disconnect' }
  | {
      readonly kind: 'run';
      readonly target: string;
      readonly secret: string;
      readonly request: string;
      readonly seconds: number;
      /** Requests a second that arrive whether or not others are answered; absent: a connection sends when it has a response. */
      readonly perSecond?: number;
      /** Length of the slices of the usual 99th percentile; absent: 5. */
      readonly sliceSeconds?: number;
      /** The number of requests after which it ends; absent: only time counts. */
      readonly atMost?: number;
      /** Where the ids of the records that responses tell of are stored. */
      readonly into?: Pool;
    };

export interface Load {
  readonly requests: number;
  readonly failures: number;
  /** The first failed response. */
  readonly failure: string | undefined;
  readonly seconds: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The median of the 99th percentiles of all slices: a disturbance of a moment does not change it. */
  readonly usualP99: number;
  /** Records in the pool that was filled, or that were not used up. */
  readonly records: number;
  /** CPU of the load itself, microseconds. */
  readonly cpu: number;
}

export type LoadReport = { readonly done: true } | Load;

type Run = LoadOrder & { readonly kind: 'run' };

const MOST_LATENCIES = 2 ** 21;
/** Messages that are sent again and again; more than connections, because a message that is being sent must not change. */
const MESSAGES = 1024;
const SLICE_SECONDS = 5;
/** How long responses may take after the last arrival. */
const PATIENCE_MS = 20_000;

const connections = new Map<string, Connection[]>();
const pools = new Map<string, string[]>();
const writePan = panWriter(randomInt(2 ** 31));

const poolOf = ({ target, secret }: Run, pool: Pool): string[] => {
  const name = `${target} ${secret} ${pool}`;
  const known = pools.get(name) ?? [];
  pools.set(name, known);
  return known;
};

/** Returns the messages of a run. Those that use up records are as many as there are records. */
function prepare(request: Request, order: Run): Message[] {
  const pool = request.uses ?? request.reads;
  const ids = pool === undefined ? [''] : poolOf(order, pool);
  if (ids.length === 0) throw new Error(`${request.name}: there are no records to send`);
  const count = request.uses === undefined ? Math.max(MESSAGES, ids.length) : ids.length;
  const { mix = [request] } = request;
  return Array.from({ length: count }, (_, index) =>
    toMessage(mix[index % mix.length] ?? request, order.secret, ids[index % ids.length] ?? ''),
  );
}

/** Sends messages and counts responses. A round ends when its time is over, or its messages are used up, and all are answered. */
class Round {
  readonly #request: Request;
  readonly #order: Run;
  readonly #messages: Message[];
  readonly #most: number;
  readonly #end: number;
  readonly #ids: string[] = [];
  readonly #latencies = new Float64Array(MOST_LATENCIES);
  readonly #start: number;
  readonly #cpu = process.cpuUsage();
  readonly #idle: Connection[];
  #next = -1;
  #sent = 0;
  #answered = 0;
  #failures = 0;
  #failure: string | undefined;
  /** The arrival of the next request of an open loop, in milliseconds. */
  #due: number;
  /** The number of responses at the end of each slice, and the end of the present one. */
  readonly #slices: number[] = [];
  readonly #sliceMs: number;
  #sliceEnd: number;
  #finish: (load: Load) => void = () => undefined;

  constructor(request: Request, order: Run, idle: readonly Connection[]) {
    this.#request = request;
    this.#order = order;
    this.#messages = prepare(request, order);
    this.#most = Math.min(
      order.atMost ?? Number.POSITIVE_INFINITY,
      request.uses === undefined ? Number.POSITIVE_INFINITY : this.#messages.length,
    );
    this.#idle = idle.filter(({ socket }) => socket.writable);
    if (this.#idle.length === 0) throw new Error(`${request.name}: the server closed all connections`);
    this.#start = performance.now();
    this.#end = this.#start + order.seconds * 1000;
    this.#due = this.#start;
    this.#sliceMs = (order.sliceSeconds ?? SLICE_SECONDS) * 1000;
    this.#sliceEnd = this.#start + this.#sliceMs;
  }

  run(): Promise<Load> {
    return new Promise((resolve, reject) => {
      const patience = setTimeout(
        () =>
          reject(
            new Error(`${this.#request.name}: ${this.#sent - this.#answered} of ${this.#sent} responses are missing`),
          ),
        this.#order.seconds * 1000 + PATIENCE_MS,
      );
      const stop = (error?: Error): void => {
        clearTimeout(patience);
        clearInterval(clock);
        for (const connection of this.#idle) connection.onLost = () => undefined;
        if (error !== undefined) reject(error);
      };
      // A millisecond is the finest that a timer can do. How late it comes counts as latency.
      const clock = this.#order.perSecond === undefined ? undefined : setInterval(() => this.#sendDue(), 1);
      this.#finish = (load) => {
        stop();
        resolve(load);
      };
      for (const connection of this.#idle) {
        connection.keepsText = this.#order.into !== undefined;
        connection.onResponse = (...response) => this.#onResponse(...response);
        connection.onLost = stop;
      }
      this.#sendDue();
    });
  }

  /** Sends what has arrived, as far as there are connections without a request. */
  #sendDue(): void {
    const now = performance.now();
    const { perSecond } = this.#order;
    while (this.#idle.length > 0 && !this.#isOver(now)) {
      if (perSecond !== undefined && this.#due > now) return;
      // The connection that has been idle longest, because a server closes idle ones.
      const connection = this.#idle.shift() as Connection;
      if (!connection.socket.writable) continue;
      connection.arrivedAt = perSecond === undefined ? performance.now() : this.#due;
      this.#sent++;
      this.#next = this.#next + 1 < this.#messages.length ? this.#next + 1 : 0;
      const { bytes, pans } = this.#messages[this.#next] as Message;
      for (const at of pans) writePan(bytes, at);
      connection.socket.write(bytes);
      // Arrivals are independent of one another, so the gaps between them are distributed exponentially.
      if (perSecond !== undefined) this.#due -= (Math.log(1 - Math.random()) / perSecond) * 1000;
    }
    if (this.#isOver(now) && this.#answered === this.#sent) this.#finish(this.#load());
  }

  #isOver(now: number): boolean {
    return this.#sent >= this.#most || (this.#order.perSecond === undefined ? now : this.#due) >= this.#end;
  }

  #onResponse(connection: Connection, isGood: boolean, text: string): void {
    const now = performance.now();
    for (; this.#sliceEnd <= now; this.#sliceEnd += this.#sliceMs) this.#slices.push(this.#answered);
    this.#latencies[Math.min(this.#answered++, MOST_LATENCIES - 1)] = now - (connection.arrivedAt ?? Number.NaN);
    connection.arrivedAt = undefined;
    if (!isGood) {
      this.#failures++;
      this.#failure ??= text.slice(0, 1000);
    } else if (this.#order.into !== undefined) {
      const response: unknown = JSON.parse(text.slice(text.indexOf('\r\n\r\n')));
      this.#ids.push(...(this.#request.ids?.(response as never) ?? []));
    }
    this.#idle.push(connection);
    this.#sendDue();
  }

  #load(): Load {
    const seconds = (performance.now() - this.#start) / 1000;
    const { user, system } = process.cpuUsage(this.#cpu);
    const usualP99 = this.#usualP99();
    const sorted = this.#latencies.subarray(0, Math.min(this.#answered, MOST_LATENCIES)).sort();
    connections.set(this.#order.target, this.#idle);
    return {
      ...{ requests: this.#answered, failures: this.#failures, failure: this.#failure, seconds },
      ...{
        p50: percentile(sorted, 0.5),
        p99: percentile(sorted, 0.99),
        usualP99,
        records: this.#updatePools(),
        cpu: user + system,
      },
    };
  }

  #usualP99(): number {
    const ends = [...this.#slices, Math.min(this.#answered, MOST_LATENCIES)];
    const percentiles = ends.flatMap((end, index) => {
      const sorted = this.#latencies.slice(ends[index - 1] ?? 0, end).sort();
      return sorted.length === 0 ? [] : [percentile(sorted, 0.99)];
    });
    return median(percentiles);
  }

  #updatePools(): number {
    const { into } = this.#order;
    const { uses } = this.#request;
    if (into !== undefined) return poolOf(this.#order, into).push(...this.#ids);
    if (uses === undefined) return 0;
    const pool = poolOf(this.#order, uses);
    pool.splice(0, this.#sent);
    return pool.length;
  }
}

function disconnect(): void {
  for (const { socket } of [...connections.values()].flat()) socket.destroy();
  connections.clear();
}

respond(async (order: LoadOrder): Promise<LoadReport> => {
  if (order.kind === 'run')
    return new Round(requestNamed(order.request), order, connections.get(order.target) ?? []).run();
  if (order.kind === 'connect') connections.set(order.target, await openConnections(order.port, order.connections));
  else disconnect();
  return { done: true };
});
