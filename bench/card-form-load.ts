import { randomInt, randomUUID } from 'node:crypto';
import { respond } from './child.ts';
import { type Connection, openConnections } from './connection.ts';
import { percentile } from './figures.ts';
import { ECHO, PAN, panWriter, requestNamed, toBytes, toMessage } from './requests.ts';

/**
 * Shops and buyers of the card form, in a process of their own: each session from its creation to its completion. For comparison the
 * same process sends as many other requests. Like the load of the API it takes little of the machine.
 */
export interface SessionsOrder {
  /**
   * `sessions`: four requests for each. `plain`: two captures created and two inspected in place of each. `echo`: four requests to a
   * bare server, which the service does not see.
   */
  readonly kind: 'sessions' | 'plain' | 'echo';
  /** Ports of the API of the sandbox, of the card form and of the bare server. */
  readonly ports: Readonly<Record<LineName, number>>;
  readonly secret: string;
  /** Sessions a second that begin, whether or not others have ended. */
  readonly perSecond: number;
  readonly seconds: number;
}

export interface SessionsReport {
  readonly sessions: number;
  readonly seconds: number;
  /** Milliseconds from creation to completion. */
  readonly p50: number;
  readonly p99: number;
}

type LineName = 'api' | 'cards' | 'echo';

/** Connections to each of the listeners; more requests wait their turn, which counts as latency. */
const CONNECTIONS = 64;

const writePan = panWriter(randomInt(2 ** 31));

async function exchangeOn(connection: Connection, message: Buffer, wants: 'body' | 'head'): Promise<string> {
  try {
    return await new Promise((resolve, reject) => {
      connection.keepsText = wants === 'body';
      connection.onLost = reject;
      connection.arrivedAt = performance.now();
      connection.onResponse = (_, isGood, text) =>
        isGood ? resolve(text) : reject(new Error(`a session failed: ${text.slice(0, 500)}`));
      connection.socket.write(message);
    });
  } finally {
    connection.arrivedAt = undefined;
  }
}

/** The connections to one listener. Those that the server closed while they were idle are opened again. */
class Line {
  readonly #port: number;
  readonly #idle: Connection[] = [];
  readonly #waiting: ((connection: Connection) => void)[] = [];

  constructor(port: number) {
    this.#port = port;
  }

  async open(): Promise<void> {
    const idle = this.#idle.splice(0).filter(({ socket }) => socket.writable);
    this.#idle.push(...idle, ...(await openConnections(this.#port, CONNECTIONS - idle.length)));
  }

  /** Returns the response, without its body unless it is wanted; throws when its status is not 200. */
  async exchange(message: Buffer, wants: 'body' | 'head'): Promise<string> {
    const connection = this.#idle.shift() ?? (await new Promise<Connection>((resolve) => this.#waiting.push(resolve)));
    try {
      return await exchangeOn(connection, message, wants);
    } finally {
      this.#release(connection);
    }
  }

  /** Sends the messages one after the other on a connection of their own, as a browser that comes for the first time. */
  async visit(messages: readonly Buffer[]): Promise<void> {
    const [connection] = await openConnections(this.#port, 1);
    if (connection === undefined) throw new Error('there is no connection');
    try {
      for (const message of messages) await exchangeOn(connection, message, 'head');
    } finally {
      connection.socket.destroy();
    }
  }

  /** One that the server closed during a request has failed it, and is dropped. */
  #release(connection: Connection): void {
    if (!connection.socket.writable) return;
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(connection);
    else next(connection);
  }
}

type Lines = Readonly<Record<LineName, Line>>;

const lineOf = new Map<number, Line>();

/** Returns open connections to all listeners. */
async function connect({ ports }: SessionsOrder): Promise<Lines> {
  const at = (port: number): Line => {
    const line = lineOf.get(port) ?? new Line(port);
    lineOf.set(port, line);
    return line;
  };
  const lines = { api: at(ports.api), cards: at(ports.cards), echo: at(ports.echo) };
  for (const line of Object.values(lines)) await line.open();
  return lines;
}

const bytesOf = (method: string, path: string, headers: readonly string[], body?: object): Buffer =>
  toBytes({ method, path, headers, body: body && JSON.stringify(body) });

const dataOf = (response: string) => JSON.parse(response.slice(response.indexOf('\r\n\r\n'))).data;

const SETTINGS = { allowed_origins: ['https://shop.example.com'], amount: 12_500, currency: 'USD', ttl: 15 };

/** Creates a session; its buyer connects, loads the form as a browser does, and submits a card. */
async function completeSession({ api, cards }: Lines, { ports, secret }: SessionsOrder): Promise<void> {
  const created = await api.exchange(
    bytesOf('POST', '/v1/capture-sessions', [`x-api-key: ${secret}`], SETTINGS),
    'body',
  );
  const { id, client_secret: clientSecret } = dataOf(created);
  const path = `/v1/card/${id}`;
  const headers = [`authorization: Bearer ${clientSecret}`, `origin: https://localhost:${ports.cards}`];
  const card = { number: PAN, exp: '12/40', name: 'Ana Lopez', cvv: '123', attempt: randomUUID() };
  const submission = bytesOf('POST', path, headers, card);
  writePan(submission, submission.indexOf(PAN));
  const page = bytesOf('GET', path, ['accept-encoding: br']);
  await cards.visit([page, bytesOf('GET', `${path}/session`, headers), submission]);
}

/** Creates two captures and inspects them: as many writes and reads as a session takes. */
async function sendPlain({ api }: Lines, { secret }: SessionsOrder): Promise<void> {
  for (let count = 0; count < 2; count++) {
    const { bytes, pans } = toMessage(requestNamed('create a capture'), secret, '');
    for (const at of pans) writePan(bytes, at);
    const { id } = dataOf(await api.exchange(bytes, 'body'));
    await api.exchange(toMessage(requestNamed('inspect a capture'), secret, id).bytes, 'head');
  }
}

/** Sends four requests to the bare server, three of them on a new connection: the service takes nothing of their cost. */
async function sendEcho({ echo }: Lines, { secret }: SessionsOrder): Promise<void> {
  const { bytes } = toMessage(ECHO, secret, '');
  await echo.exchange(bytes, 'head');
  await echo.visit([bytes, bytes, bytes]);
}

const SEND = { sessions: completeSession, plain: sendPlain, echo: sendEcho };

respond(async (order: SessionsOrder): Promise<SessionsReport> => {
  const lines = await connect(order);
  const send = SEND[order.kind];
  const start = performance.now();
  const end = start + order.seconds * 1000;
  const times: number[] = [];
  const running: Promise<unknown>[] = [];
  let failure: unknown;
  let due = start;
  await new Promise<void>((resolve) => {
    // A millisecond is the finest that a timer can do. How late it comes counts as latency.
    const timer = setInterval(() => {
      for (const now = performance.now(); due <= now && due < end; ) {
        const begin = due;
        const session = send(lines, order).then(() => times.push(performance.now() - begin));
        running.push(session.catch((error: unknown) => (failure ??= error)));
        // Arrivals are independent of one another, so the gaps between them are distributed exponentially.
        due -= (Math.log(1 - Math.random()) / order.perSecond) * 1000;
      }
      if (due < end) return;
      clearInterval(timer);
      resolve();
    }, 1);
  });
  await Promise.all(running);
  if (failure !== undefined) throw failure;
  const sorted = times.sort((one, other) => one - other);
  const seconds = (performance.now() - start) / 1000;
  return { sessions: sorted.length, seconds, p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99) };
});
