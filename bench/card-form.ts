import { freePort } from '../test/fixtures/postgres-server.ts';
import type { SessionsOrder, SessionsReport } from './card-form-load.ts';
import { Child } from './child.ts';
import { type Conditions, type DatabaseName, median } from './figures.ts';
import { readMachineTime } from './processes.ts';
import { MIX } from './requests.ts';
import { aligned, ratio, type Table, whole } from './table.ts';
import { type Round, Testbed } from './testbed.ts';

/**
 * Sessions of the card form, from creation to completion, beside the requests of a merchant: what they cost its latency. As many plain
 * requests of the same client show which part of it any request would cost that is committed, and as many requests to a bare server
 * which part the machine costs that all of them share.
 */

export interface CardFormSettings {
  readonly rounds: number;
  /** Length of a round. */
  readonly seconds: number;
  readonly database: DatabaseName;
  /** Request threads. With more than one, the card form is served by a thread that serves no request of the API. */
  readonly workers: number;
  /** The API has two and a half requests for each of them. */
  readonly sessionsPerSecond: number;
}

export interface Latency {
  readonly p50: number;
  /** The percentile of all requests of a round. */
  readonly p99: number;
  /** The median of the 99th percentiles of each second. */
  readonly usualP99: number;
}

/** Medians of the rounds, and of the ratios of the two rounds that follow each other. Times in milliseconds. */
export interface CardFormFigures extends CardFormSettings {
  readonly perSecond: number;
  readonly without: Latency;
  readonly beside: Latency;
  /** In place of each session, two captures are created and two inspected. */
  readonly besidePlain: Latency;
  /** In place of each session, four requests go to a bare `node:https` server. */
  readonly besideEcho: Latency;
  readonly ratio: Latency;
  /** The latency beside sessions is divided by that beside plain requests. */
  readonly ratioToPlain: Latency;
  readonly ratioToEcho: Latency;
  readonly sessions: { readonly perSecond: number; readonly p50: number; readonly p99: number };
  /** CPU microseconds of the service and the database for each session, and for the plain requests in its place: four of either. */
  readonly cpu: number;
  readonly plainCpu: number;
  /** CPU microseconds of the bare server for the requests in the place of a session, and for their connection. */
  readonly echoCpu: number;
  /** The fraction of the time of all cores that is used beside sessions. */
  readonly busy: number;
}

/** Six tokenizations, two captures and two authorizations of ten requests. */
const REQUESTS_FOR_SESSION = 2.5;
const CONNECTIONS = 64;
const WARM_SECONDS = 5;
/** The disk of a virtual machine stalls sometimes, which changes the 99th percentile of its second and not the median of them. */
const SLICE_SECONDS = 1;

/** Rounds that follow each other. */
interface Rounds {
  readonly without: Round;
  readonly beside: Round;
  readonly besidePlain: Round;
  readonly besideEcho: Round;
  readonly sessions: SessionsReport;
  readonly plain: SessionsReport;
  readonly echoCpu: number;
  readonly busy: number;
}

export function compareRounds(rounds: readonly Rounds[]): Omit<CardFormFigures, keyof CardFormSettings> {
  const medianOf = (value: (of: Rounds) => number): number => median(rounds.map(value));
  const each = (value: (of: Rounds, name: keyof Latency) => number): Latency => ({
    p50: medianOf((of) => value(of, 'p50')),
    p99: medianOf((of) => value(of, 'p99')),
    usualP99: medianOf((of) => value(of, 'usualP99')),
  });
  const cpuOf = ({ cpu, databaseCpu, perSecond }: Round): number => (cpu + databaseCpu) * perSecond;
  const rateOf = ({ sessions, seconds }: SessionsReport): number => sessions / seconds;
  return {
    perSecond: medianOf(({ beside }) => beside.perSecond),
    without: each(({ without }, name) => without[name]),
    beside: each(({ beside }, name) => beside[name]),
    besidePlain: each(({ besidePlain }, name) => besidePlain[name]),
    besideEcho: each(({ besideEcho }, name) => besideEcho[name]),
    ratio: each(({ beside, without }, name) => beside[name] / without[name]),
    ratioToPlain: each(({ beside, besidePlain }, name) => beside[name] / besidePlain[name]),
    ratioToEcho: each(({ beside, besideEcho }, name) => beside[name] / besideEcho[name]),
    sessions: {
      perSecond: medianOf(({ sessions }) => rateOf(sessions)),
      p50: medianOf(({ sessions }) => sessions.p50),
      p99: medianOf(({ sessions }) => sessions.p99),
    },
    cpu: medianOf(({ beside, without, sessions }) => (cpuOf(beside) - cpuOf(without)) / rateOf(sessions)),
    plainCpu: medianOf(({ besidePlain, without, plain }) => (cpuOf(besidePlain) - cpuOf(without)) / rateOf(plain)),
    echoCpu: medianOf(({ echoCpu }) => echoCpu),
    busy: medianOf(({ busy }) => busy),
  };
}

export async function measureCardForm(
  settings: CardFormSettings,
  print: (line: string) => void,
): Promise<CardFormFigures> {
  const { rounds, seconds, database, workers, sessionsPerSecond } = settings;
  const testbed = new Testbed();
  const shops = new Child<SessionsOrder, SessionsReport>('card-form-load.ts');
  try {
    const server = database === 'PostgreSQL' ? await testbed.startDatabase() : undefined;
    if (database === 'PostgreSQL' && server === undefined) throw new Error('there is no PostgreSQL on this machine');
    const at = server && { address: await server.newDatabase('card_form'), server };
    const cards = await freePort();
    const variables = {
      CARDVAULT_CAPTURE_PORT: String(cards),
      CARDVAULT_RATE_LIMIT_CAPTURE: '1000000',
      CARDVAULT_WORKERS: String(workers),
    };
    const { service, target } = await testbed.startService('card form', at, variables);
    const echo = await testbed.startBareEcho(service.pem);
    await testbed.connect([target], CONNECTIONS);
    const perSecond = sessionsPerSecond * REQUESTS_FOR_SESSION;
    const run = (length: number): Promise<Round> =>
      testbed.run(target, MIX, { seconds: length, perSecond, sliceSeconds: SLICE_SECONDS });
    const order = {
      ports: { api: target.port, cards, echo: echo.port },
      ...{ secret: target.secrets.usual, perSecond: sessionsPerSecond },
    };
    const runBeside = async (kind: SessionsOrder['kind'], length: number) => {
      const [round, sessions] = await Promise.all([run(length), shops.send({ ...order, kind, seconds: length })]);
      return { round, sessions };
    };
    for (const kind of ['sessions', 'plain', 'echo'] as const) await runBeside(kind, WARM_SECONDS);
    print(
      `${rounds} rounds of ${seconds} s with and without ${sessionsPerSecond} sessions a second, ${workers} threads`,
    );
    const measured: Rounds[] = [];
    for (let round = 0; round < rounds; round++) {
      // Another side begins in each round.
      const first = round % 2 === 0 ? await run(seconds) : undefined;
      const before = readMachineTime();
      const { round: beside, sessions } = await runBeside('sessions', seconds);
      const after = readMachineTime();
      const busy = 1 - (after.idle - before.idle) / (after.total - before.total);
      const { round: besidePlain, sessions: plain } = await runBeside('plain', seconds);
      const echoBefore = echo.cpu();
      const { round: besideEcho, sessions: visits } = await runBeside('echo', seconds);
      const echoCpu = (echo.cpu() - echoBefore) / visits.sessions;
      const without = first ?? (await run(seconds));
      measured.push({ beside, sessions, besidePlain, plain, besideEcho, echoCpu, without, busy });
    }
    return { ...settings, ...compareRounds(measured) };
  } finally {
    await shops.stop();
    await testbed.stop();
  }
}

const NAMES: Readonly<Record<keyof Latency, string>> = { p50: 'p50', p99: 'p99', usualP99: 'usual p99' };

const ms = (value: number): string => `${value.toFixed(2)} ms`;

/** The section of RESULTS.md, with figures of different numbers of threads. */
export function cardFormSection(all: readonly CardFormFigures[], { date, cores, processor }: Conditions): string {
  const [first] = all;
  if (first === undefined) throw new Error('nothing was measured');
  const table: Table = [
    [
      ...[
        'sessions a second',
        'threads',
        'latency of the API',
        'alone',
        'beside sessions',
        'ratio',
        'beside plain requests',
        'ratio',
      ],
      ...['beside bare echo', 'ratio'],
    ],
    ...all.flatMap((figures) =>
      (Object.entries(NAMES) as [keyof Latency, string][]).map(([name, title]) => [
        String(figures.sessionsPerSecond),
        String(figures.workers),
        title,
        ms(figures.without[name]),
        ms(figures.beside[name]),
        ratio(figures.ratio[name]),
        ms(figures.besidePlain[name]),
        ratio(figures.ratioToPlain[name]),
        ms(figures.besideEcho[name]),
        ratio(figures.ratioToEcho[name]),
      ]),
    ),
  ];
  const costs: Table = [
    [
      ...['sessions a second', 'threads', 'completed', 'p50', 'p99', 'CPU us', 'CPU us of plain requests'],
      ...['CPU us of bare echo', 'cores busy'],
    ],
    ...all.map(({ workers, sessionsPerSecond, sessions, cpu, plainCpu, echoCpu, busy }) => [
      String(sessionsPerSecond),
      String(workers),
      whole(sessions.perSecond),
      ms(sessions.p50),
      ms(sessions.p99),
      whole(cpu),
      whole(plainCpu),
      whole(echoCpu),
      `${whole(busy * 100)} %`,
    ]),
  ];
  return `## Card form beside the API

\`npm run bench -- --card-form\` on ${date}, ${cores} cores (${processor}), ${first.database}: ${first.rounds} rounds of ${first.seconds} s of each side, in turns. The API
has ${REQUESTS_FOR_SESSION} requests of a merchant for each session (six tokenizations, two captures, two authorizations of ten) on ${CONNECTIONS} connections. Beside it
sessions are created, loaded by a browser and completed, each in four requests. "Plain requests" are
two captures created and two inspected by the same client in place of each session, "bare echo" are four requests that the same client
sends to a bare \`node:https\` server on this machine. Each buyer makes a TLS connection of its own, and so do three of the four requests to the bare server. Ratios are those of "beside sessions" to "alone", to "beside plain requests" and to "beside bare echo". The usual p99 is the median of those of each second: a stall of the disk or of the host changes that of its second alone. One request thread serves both the API and
the form. Beside two request threads, another thread serves the form.

${aligned(table)}

The same load for each core as that of 200 sessions a second on four cores is that of 100 on two: lower rates show how many cores a rate needs.

From its creation to its completion a session takes, with the CPU of service and database for it, and the time of all cores that is used meanwhile by service, load and browsers:

${aligned(costs)}

The load runs on the same cores.`;
}
