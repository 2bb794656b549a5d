import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { CardvaultClient } from '../sdk/src/index.ts';
import { LIMITS } from '../src/kernel/limits.ts';
import type { Latency } from './card-form.ts';
import { Child } from './child.ts';
import { type Conditions, median } from './figures.ts';
import type { LoadOrder, LoadReport } from './load.ts';
import { type AccountName, FEW_CARDS, LARGEST, MIX, panWriter, type Request } from './requests.ts';
import type { Service } from './service.ts';
import { aligned, ratio, type Table, whole } from './table.ts';
import { type Round, type Target, Testbed } from './testbed.ts';

/**
 * Requests of a merchant beside other work of the same service, over SQLite: endpoints of webhooks that respond late, the largest
 * requests, and as many cards in small ones. The first work is done by a service of its own, because it does not pause between rounds.
 */
export interface BesideSettings {
  readonly rounds: number;
  /** Length of a round. */
  readonly seconds: number;
}

const WORK = ['webhooks', 'largest', 'few'] as const;
type Work = (typeof WORK)[number];

/** Medians of the rounds, and of the ratios to the round without other work. Times in milliseconds. */
interface Compared {
  readonly alone: Latency;
  readonly beside: Readonly<Record<Work, { readonly latency: Latency; readonly ratio: Latency }>>;
}

export interface BesideFigures extends BesideSettings, Compared {
  /** The fewest webhooks that were in progress at the beginning or the end of a round. */
  readonly held: number;
}

const ACCOUNTS: readonly AccountName[] = ['usual', 'plain'];
const PER_SECOND = 500;
const CONNECTIONS = 64;
const OTHER_CONNECTIONS = 16;
const WARM_SECONDS = 5;
/** Cards a second of the other requests. */
const CARDS_PER_SECOND = 2000;
/**
 * Less than the time in which an endpoint has to respond: the attempt succeeds, and the endpoint keeps all of its requests. Equal times
 * would end all of them at once.
 */
const HOLD_MS = { least: 5000, most: 14_000 };
/** Two accounts have a third of a node's requests each. */
const LEAST_HELD = Math.floor((LIMITS.webhookRequests * 2) / 3) - LIMITS.webhookRequestsPerEndpoint;
const POLL_MS = 100;
const PATIENCE_MS = 60_000;

/** A receiver that responds to each request after a time in `HOLD_MS`. */
async function startLateReceiver() {
  const receiver = { held: 0, url: '', stop: () => server.closeAllConnections() };
  const server = createServer((request, response) => {
    request.resume();
    receiver.held++;
    const hold = HOLD_MS.least + Math.random() * (HOLD_MS.most - HOLD_MS.least);
    const timer = setTimeout(() => response.writeHead(204).end(), hold);
    response.once('close', () => {
      clearTimeout(timer);
      receiver.held--;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref();
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return receiver;
}

const writePan = panWriter(1);
const newPan = (): string => {
  const bytes = Buffer.alloc(16);
  writePan(bytes, 0);
  return bytes.toString();
};

/** Gives an account all of its endpoints, and events for each of them. */
async function fillOutbox(service: Service, account: AccountName, url: string, events: number): Promise<void> {
  const client = new CardvaultClient({
    baseUrl: `https://localhost:${service.port}`,
    apiKey: service.secrets[account],
    ca: readFileSync(join(service.directory, 'tls', 'ca.pem'), 'utf8'),
  });
  try {
    for (let count = 0; count < LIMITS.webhookEndpoints; count++)
      await client.webhooks.create({ url: `${url}${count}`, events: ['token.deleted'] });
    const chd = Array.from({ length: events }, () => ({ card: newPan(), name: 'A', exp: '12/40' }));
    const { tokens } = await client.tokens.create({ chd, tags: [], scheme: 7 });
    // Each deleted token is an event.
    await client.tokens.delete(tokens.map(({ token }) => token));
  } finally {
    client.close();
  }
}

/** Rounds that follow each other. */
type Rounds = Readonly<Record<Work | 'alone', Round>>;

export function compareRounds(rounds: readonly Rounds[]): Compared {
  const each = (value: (round: Rounds, name: keyof Latency) => number): Latency => ({
    p50: median(rounds.map((round) => value(round, 'p50'))),
    p99: median(rounds.map((round) => value(round, 'p99'))),
    usualP99: median(rounds.map((round) => value(round, 'usualP99'))),
  });
  const beside = (work: Work) => ({
    latency: each((round, name) => round[work][name]),
    ratio: each((round, name) => round[work][name] / round.alone[name]),
  });
  return {
    alone: each(({ alone }, name) => alone[name]),
    beside: { webhooks: beside('webhooks'), largest: beside('largest'), few: beside('few') },
  };
}

export async function measureBeside(settings: BesideSettings, print: (line: string) => void): Promise<BesideFigures> {
  const { rounds, seconds } = settings;
  const testbed = new Testbed();
  const other = new Child<LoadOrder, LoadReport>('load.ts');
  const receiver = await startLateReceiver();
  try {
    const { target: usual } = await testbed.startService('usual');
    const variables = { CARDVAULT_WEBHOOK_NETWORKS: '127.0.0.0/8' };
    const { service, target: waiting } = await testbed.startService('with webhooks', undefined, variables);
    await testbed.connect([usual, waiting], CONNECTIONS);
    await other.send({ kind: 'connect', target: usual.name, port: usual.port, connections: OTHER_CONNECTIONS });
    const run = (target: Target, length: number): Promise<Round> =>
      testbed.run(target, MIX, { seconds: length, perSecond: PER_SECOND, sliceSeconds: 1 });
    const runBeside = async ({ name, cards = 1 }: Request, length: number): Promise<Round> => {
      const order = { kind: 'run', target: usual.name, secret: usual.secrets.usual, request: name } as const;
      const perSecond = CARDS_PER_SECOND / cards;
      const [round, load] = await Promise.all([
        run(usual, length),
        other.send({ ...order, seconds: length, perSecond }),
      ]);
      if (!('requests' in load) || load.failures > 0) throw new Error(`${name}: requests failed`);
      return round;
    };
    const sides: Readonly<Record<keyof Rounds, (length: number) => Promise<Round>>> = {
      alone: (length) => run(usual, length),
      webhooks: (length) => run(waiting, length),
      largest: (length) => runBeside(LARGEST, length),
      few: (length) => runBeside(FEW_CARDS, length),
    };
    const names = ['alone', ...WORK] as const;
    for (const name of names) await sides[name](WARM_SECONDS);
    // A spare minute of them: the last round has as many in progress as the first one.
    const length = names.length * rounds * seconds + PATIENCE_MS / 1000;
    const attempts = (length * LIMITS.webhookRequests) / (HOLD_MS.least / 1000);
    const events = Math.ceil(attempts / (ACCOUNTS.length * LIMITS.webhookEndpoints));
    for (const account of ACCOUNTS) await fillOutbox(service, account, receiver.url, events);
    for (const end = performance.now() + PATIENCE_MS; receiver.held < LEAST_HELD; await wait(POLL_MS))
      if (performance.now() > end) throw new Error(`only ${receiver.held} webhooks are in progress`);
    print(`${rounds} rounds of ${seconds} s of each side, ${receiver.held} webhooks in progress`);
    const measured: Rounds[] = [];
    let held = receiver.held;
    for (let round = 0; round < rounds; round++) {
      const found: Partial<Record<keyof Rounds, Round>> = {};
      for (let turn = 0; turn < names.length; turn++) {
        // Another side begins in each round.
        const name = names[(turn + round) % names.length] as keyof Rounds;
        found[name] = await sides[name](seconds);
        held = Math.min(held, receiver.held);
      }
      measured.push(found as Rounds);
    }
    return { ...settings, ...compareRounds(measured), held };
  } finally {
    receiver.stop();
    await other.stop();
    await testbed.stop();
  }
}

/** The section of RESULTS.md. */
export function besideSection(
  { rounds, seconds, alone, beside, held }: BesideFigures,
  { date, cores, processor }: Conditions,
): string {
  const ms = (value: number): string => `${value.toFixed(2)} ms`;
  const row = (work: string, latency: Latency, ratios?: Latency): string[] => [
    work,
    ...(['p50', 'p99', 'usualP99'] as const).flatMap((name) => [
      ms(latency[name]),
      ratios === undefined ? '-' : ratio(ratios[name]),
    ]),
  ];
  const of = ({ cards = 1 }: Request): string =>
    `${whole(CARDS_PER_SECOND / cards)} requests a second with ${whole(cards)} cards`;
  const table: Table = [
    ['beside', 'p50', 'ratio', 'p99', 'ratio', 'usual p99', 'ratio'],
    row('nothing', alone),
    row(`${whole(held)} webhooks in progress`, beside.webhooks.latency, beside.webhooks.ratio),
    row(of(LARGEST), beside.largest.latency, beside.largest.ratio),
    row(of(FEW_CARDS), beside.few.latency, beside.few.ratio),
  ];
  return `## Beside other work

\`npm run bench -- --beside\` on ${date}, ${cores} cores (${processor}), SQLite: the latency of ${PER_SECOND} requests of a merchant a second (six tokenizations, two captures, two
authorizations of ten) on ${CONNECTIONS} connections, in ${rounds} rounds of ${seconds} s of each side in turns. Webhooks: two accounts have ${LIMITS.webhookEndpoints} endpoints each, whose
server responds to each request after ${HOLD_MS.least / 1000} to ${HOLD_MS.most / 1000} s, and the service has always at least ${whole(held)} requests to them in progress. The cards of the other requests come on ${OTHER_CONNECTIONS} connections
of their own: ${whole(CARDS_PER_SECOND)} a second, in the largest requests that there are and in small ones. The usual p99 is the median of those of each second.

${aligned(table)}`;
}
