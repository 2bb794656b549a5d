import { randomInt, randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import { respond } from './child.ts';
import { PAN, panWriter } from './requests.ts';

/**
 * Shops and buyers of the card form, in a process of their own: each session from its creation to its completion. For comparison the
 * same process sends as many plain requests to the API.
 */
export interface SessionsOrder {
  /** `sessions`: four requests for each. `plain`: two captures created and two inspected in place of each. */
  readonly kind: 'sessions' | 'plain';
  /** Ports of the API of the sandbox and of the card form. */
  readonly ports: { readonly api: number; readonly cards: number };
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

interface Call {
  readonly port: number;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: object;
}

/** Sockets to each of the two listeners; more wait their turn, which counts as latency. */
const MAX_SOCKETS = 64;

const agent = new Agent({
  keepAlive: true,
  maxSockets: MAX_SOCKETS,
  rejectUnauthorized: false,
  servername: 'localhost',
});
const writePan = panWriter(randomInt(2 ** 31));

/** Returns the body of a response of status 200, and throws for any other. */
function send({ port, method, path, headers, body }: Call): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const bytes = body && Buffer.from(JSON.stringify(body));
    const type = bytes && { 'content-type': 'application/json', 'content-length': bytes.length };
    const options = { agent, host: '127.0.0.1', port, method, path, headers: { ...headers, ...type } };
    const outgoing = request(options, (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('error', reject);
      incoming.on('end', () => {
        const response = Buffer.concat(parts);
        if (incoming.statusCode === 200) resolve(response);
        else reject(new Error(`${method} ${path}: ${incoming.statusCode} ${response.subarray(0, 500)}`));
      });
    });
    outgoing.on('error', reject);
    outgoing.end(bytes);
  });
}

function newNumber(): string {
  const number = Buffer.from(PAN);
  writePan(number, 0);
  return number.toString();
}

/** Creates a session, loads its form as a browser does, and submits a card. */
async function completeSession({ ports, secret }: SessionsOrder): Promise<void> {
  const origin = `https://localhost:${ports.cards}`;
  const created = await send({
    ...{ port: ports.api, method: 'POST', path: '/v1/capture-sessions', headers: { 'x-api-key': secret } },
    body: { allowed_origins: ['https://shop.example.com'], amount: 12_500, currency: 'USD', ttl: 15 },
  });
  const { id, client_secret: clientSecret } = JSON.parse(created.toString()).data;
  const form = { port: ports.cards, headers: { authorization: `Bearer ${clientSecret}`, origin } };
  await send({ ...form, method: 'GET', path: `/v1/card/${id}`, headers: { 'accept-encoding': 'br' } });
  await send({ ...form, method: 'GET', path: `/v1/card/${id}/session` });
  const card = { number: newNumber(), exp: '12/40', name: 'Ana Lopez', cvv: '123' };
  await send({ ...form, method: 'POST', path: `/v1/card/${id}`, body: { ...card, attempt: randomUUID() } });
}

/** Creates two captures and inspects them: as many writes and reads as a session takes. */
async function sendPlain({ ports, secret }: SessionsOrder): Promise<void> {
  const call = { port: ports.api, headers: { 'x-api-key': secret } };
  for (let count = 0; count < 2; count++) {
    const chd = { card: newNumber(), exp: '12/40', name: 'Ana Lopez', cvv: '123' };
    const body = { chd, amount: 12_500, currency: 'USD', ttl: 15, additional_info: {} };
    const created = await send({ ...call, method: 'POST', path: '/transactions/requests', body });
    const { id } = JSON.parse(created.toString()).data;
    await send({ ...call, method: 'GET', path: `/transactions/requests/${id}/inspect` });
  }
}

respond(async (order: SessionsOrder): Promise<SessionsReport> => {
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
        const session = (order.kind === 'sessions' ? completeSession : sendPlain)(order).then(() =>
          times.push(performance.now() - begin),
        );
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
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  const seconds = (performance.now() - start) / 1000;
  return { sessions: sorted.length, seconds, p50: at(0.5), p99: at(0.99) };
});
