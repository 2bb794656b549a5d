import { type DatabaseName, median } from './figures.ts';
import { type Request, requestNamed } from './requests.ts';
import { aligned, ratio, type Table, whole } from './table.ts';
import { type Round, type Target, Testbed } from './testbed.ts';

/** The cost of the request log: the service with it and without it, over the same database, in the same rounds. */

export interface RequestLogSettings {
  readonly rounds: number;
  /** Length of a round. */
  readonly seconds: number;
  /** Length of the load before the first round, for each side. */
  readonly warmSeconds: number;
  readonly database: DatabaseName;
}

/** One request: the medians of the rounds, and of the ratios of the two rounds that follow each other. */
export interface RequestLogFigure {
  readonly request: string;
  readonly perSecondWithout: number;
  readonly perSecondWith: number;
  /** CPU of service and database with the log beside that without it. */
  readonly cpu: number;
  /** Requests a second with the log beside those without it. */
  readonly rate: number;
}

/** The most CPU that the log may cost at full load. */
export const MAX_COST = 0.02;
const MEASURED = ['inspect a token', 'tokenize 1 card, scheme 7'];
const CONNECTIONS = 64;
const RECORDS = 2000;

export function compareRounds(request: string, without: readonly Round[], withLog: readonly Round[]): RequestLogFigure {
  const beside = (value: (round: Round) => number): number =>
    median(withLog.map((round, index) => value(round) / value(without[index] as Round)));
  return {
    request,
    perSecondWithout: median(without.map(({ perSecond }) => perSecond)),
    perSecondWith: median(withLog.map(({ perSecond }) => perSecond)),
    cpu: beside(({ cpu, databaseCpu }) => cpu + databaseCpu),
    rate: beside(({ perSecond }) => perSecond),
  };
}

async function measureRequest(
  testbed: Testbed,
  [without, withLog]: readonly [Target, Target],
  request: Request,
  { rounds, seconds, warmSeconds }: RequestLogSettings,
): Promise<RequestLogFigure> {
  const sides = [without, withLog].map((target) => ({ target, rounds: [] as Round[] }));
  for (const { target } of sides) {
    if (request.reads !== undefined) await testbed.fill(target, request.reads, 'usual', RECORDS);
    await testbed.run(target, request, { seconds: warmSeconds });
  }
  for (let round = 0; round < rounds; round++)
    // Another side begins in each round.
    for (const side of round % 2 === 0 ? sides : sides.toReversed())
      side.rounds.push(await testbed.run(side.target, request, { seconds }));
  return compareRounds(request.name, sides[0]?.rounds ?? [], sides[1]?.rounds ?? []);
}

export async function measureRequestLog(
  settings: RequestLogSettings,
  print: (line: string) => void,
): Promise<RequestLogFigure[]> {
  const testbed = new Testbed();
  try {
    const server = settings.database === 'PostgreSQL' ? await testbed.startDatabase() : undefined;
    if (settings.database === 'PostgreSQL' && server === undefined)
      throw new Error('there is no PostgreSQL on this machine');
    const start = async (name: string, variables: Readonly<Record<string, string>>): Promise<Target> => {
      const at = server && { address: await server.newDatabase(name.replaceAll(' ', '_')), server };
      return (await testbed.startService(name, at, variables)).target;
    };
    const sides = [
      await start('without the log', { CARDVAULT_REQUEST_LOG_ROWS: '0' }),
      await start('with the log', {}),
    ] as const;
    await testbed.connect(sides, CONNECTIONS);
    const figures: RequestLogFigure[] = [];
    for (const name of MEASURED) {
      print(name);
      figures.push(await measureRequest(testbed, sides, requestNamed(name), settings));
    }
    return figures;
  } finally {
    await testbed.stop();
  }
}

export const isWithinCost = (figures: readonly RequestLogFigure[]): boolean =>
  figures.every(({ cpu }) => cpu <= 1 + MAX_COST);

const percent = (value: number): string => `${((value - 1) * 100).toFixed(1)} %`;

export function requestLogTable(figures: readonly RequestLogFigure[]): string {
  const head = ['request', 'requests/s without', 'with', 'ratio', 'CPU with beside without', 'difference'];
  const rows = figures.map(({ request, perSecondWithout, perSecondWith, rate, cpu }) => [
    ...[request, whole(perSecondWithout), whole(perSecondWith), ratio(rate), cpu.toFixed(3), percent(cpu)],
  ]);
  const table: Table = [head, ...rows];
  const relation = isWithinCost(figures) ? 'within' : 'above';
  return `${aligned(table)}\n\nThe CPU of the request log is ${relation} its limit of ${MAX_COST * 100} %.`;
}
