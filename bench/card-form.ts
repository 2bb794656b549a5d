import { freePort } from '../test/fixtures/postgres-server.ts';
import type { SessionsOrder, SessionsReport } from './card-form-load.ts';
import { Child } from './child.ts';
import { type Conditions, type DatabaseName, median } from './figures.ts';
import { MIX } from './requests.ts';
import { aligned, ratio, type Table, whole } from './table.ts';
import { type Round, type Target, Testbed } from './testbed.ts';

/** Sessions of the card form, from creation to completion, beside the requests of a merchant: what they cost its latency. */

export interface CardFormSettings {
  readonly rounds: number;
  /** Length of a round. */
  readonly seconds: number;
  readonly database: DatabaseName;
}

/** Medians of the rounds, and of the ratios of the two rounds that follow each other. Times in milliseconds. */
export interface CardFormFigures {
  readonly database: DatabaseName;
  readonly rounds: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly without: { readonly p50: number; readonly p99: number };
  readonly beside: { readonly p50: number; readonly p99: number };
  readonly ratio: { readonly p50: number; readonly p99: number };
  readonly sessions: { readonly perSecond: number; readonly p50: number; readonly p99: number };
  /** CPU microseconds of the service and the database for each session, with the four requests that it takes. */
  readonly cpu: number;
}

const SESSIONS_PER_SECOND = 200;
/** Six tokenizations, two captures and two authorizations of ten requests. */
const REQUESTS_PER_SECOND = 500;
const CONNECTIONS = 64;
const WARM_SECONDS = 5;

interface Pair {
  readonly without: Round;
  readonly beside: Round;
  readonly sessions: SessionsReport;
}

export function compareRounds(pairs: readonly Pair[]): Omit<CardFormFigures, 'database' | 'rounds' | 'seconds'> {
  const medianOf = (value: (pair: Pair) => number): number => median(pairs.map(value));
  const latency = (side: 'without' | 'beside') => ({
    p50: medianOf((pair) => pair[side].p50),
    p99: medianOf((pair) => pair[side].p99),
  });
  const cpuOf = ({ cpu, databaseCpu, perSecond }: Round): number => (cpu + databaseCpu) * perSecond;
  return {
    perSecond: medianOf(({ beside }) => beside.perSecond),
    without: latency('without'),
    beside: latency('beside'),
    ratio: {
      p50: medianOf(({ beside, without }) => beside.p50 / without.p50),
      p99: medianOf(({ beside, without }) => beside.p99 / without.p99),
    },
    sessions: {
      perSecond: medianOf(({ sessions }) => sessions.sessions / sessions.seconds),
      p50: medianOf(({ sessions }) => sessions.p50),
      p99: medianOf(({ sessions }) => sessions.p99),
    },
    cpu: medianOf(
      ({ beside, without, sessions }) => (cpuOf(beside) - cpuOf(without)) / (sessions.sessions / sessions.seconds),
    ),
  };
}

export async function measureCardForm(
  settings: CardFormSettings,
  print: (line: string) => void,
): Promise<CardFormFigures> {
  const { rounds, seconds, database } = settings;
  const testbed = new Testbed();
  const shops = new Child<SessionsOrder, SessionsReport>('card-form-load.ts');
  try {
    const server = database === 'PostgreSQL' ? await testbed.startDatabase() : undefined;
    if (database === 'PostgreSQL' && server === undefined) throw new Error('there is no PostgreSQL on this machine');
    const at = server && { address: await server.newDatabase('card_form'), server };
    const cards = await freePort();
    const variables = { CARDVAULT_CAPTURE_PORT: String(cards), CARDVAULT_RATE_LIMIT_CAPTURE: '0' };
    const { target } = await testbed.startService('card form', at, variables);
    await testbed.connect([target], CONNECTIONS);
    const run = (length: number): Promise<Round> =>
      testbed.run(target, MIX, { seconds: length, perSecond: REQUESTS_PER_SECOND });
    const order = orderFor(target, cards);
    const runBeside = async (length: number) => {
      const [beside, sessions] = await Promise.all([run(length), shops.send({ ...order, seconds: length })]);
      return { beside, sessions };
    };
    await runBeside(WARM_SECONDS);
    print(`${rounds} rounds of ${seconds} s with and without ${SESSIONS_PER_SECOND} sessions a second`);
    const pairs: Pair[] = [];
    for (let round = 0; round < rounds; round++) {
      // Another side begins in each round.
      const first = round % 2 === 0 ? await run(seconds) : undefined;
      const second = await runBeside(seconds);
      pairs.push({ ...second, without: first ?? (await run(seconds)) });
    }
    return { database, rounds, seconds, ...compareRounds(pairs) };
  } finally {
    await shops.stop();
    await testbed.stop();
  }
}

const orderFor = ({ port: api, secrets }: Target, cards: number): Omit<SessionsOrder, 'seconds'> => ({
  ports: { api, cards },
  secret: secrets.usual,
  perSecond: SESSIONS_PER_SECOND,
});

const ms = (value: number): string => `${value.toFixed(2)} ms`;

/** The section of RESULTS.md. */
export function cardFormSection(figures: CardFormFigures, { date, cores, processor }: Conditions): string {
  const { database, rounds, seconds, perSecond, without, beside, sessions, cpu } = figures;
  const table: Table = [
    ['latency of the API', 'without sessions', 'beside them', 'ratio'],
    ['p50', ms(without.p50), ms(beside.p50), ratio(figures.ratio.p50)],
    ['p99', ms(without.p99), ms(beside.p99), ratio(figures.ratio.p99)],
  ];
  return `## Card form beside the API

\`npm run bench -- --card-form\` on ${date}, ${cores} cores (${processor}), ${database}: ${rounds} rounds of ${seconds} s with and without sessions, in turns. The API
has ${whole(perSecond)} requests a second of a merchant (six tokenizations, two captures, two authorizations of ten) on ${CONNECTIONS} connections. Beside it
${whole(sessions.perSecond)} sessions a second are created, loaded by a browser and completed, each in four requests.

${aligned(table)}

A session takes ${ms(sessions.p50)} from creation to completion (p99 ${ms(sessions.p99)}), and ${whole(cpu)} microseconds of CPU of service and database. The load
runs on the same cores.`;
}
