import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Conditions, type DatabaseName, median } from './figures.ts';
import { ECHO, type Request, requestNamed } from './requests.ts';
import { aligned, type Table } from './table.ts';
import { type Round, type Target, Testbed } from './testbed.ts';

/**
 * The same requests, in the same rounds, at services that each leave out one cause of a long 99th percentile. A service
 * without flushes loses data in a power failure; it only shows their part.
 */

export interface TailSettings {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmSeconds: number;
  /** Absent: all. */
  readonly only: readonly string[];
}

const SIDES = ['bare echo', 'service echo', 'usual', 'without flushes'] as const;
type SideName = (typeof SIDES)[number];

/** Medians of the rounds; times are milliseconds. */
interface TailFigure {
  readonly request: string;
  readonly database: DatabaseName;
  readonly p50: number;
  readonly p99: number;
  /** The 99th percentile beside the median of the same round. */
  readonly spread: Readonly<Partial<Record<SideName, number>>>;
}

export interface TailFigures extends TailSettings {
  readonly figures: readonly TailFigure[];
}

interface Side {
  readonly name: SideName;
  readonly target: Target;
  readonly rounds: Round[];
}

const MEASURED = [
  'hash without placeholders',
  'tokenize 1 card, scheme 7',
  'create a capture',
  'inspect a capture',
  'tokenize a capture',
  'look up a payment',
  'create a session of the card form',
  'show a webhook',
];
const CONNECTIONS = 64;
const RECORDS = 2000;
/** Records of a round that uses them up, beside those that the last round used. */
const RESERVE = 1.5;
/** A file system in memory, whose flushes take no time. */
const IN_MEMORY = '/dev/shm';

/** Starts the service over this database, as it is and without flushes; none where PostgreSQL is missing. */
async function startServices(
  testbed: Testbed,
  database: DatabaseName,
  memory: string | undefined,
): Promise<Omit<Side, 'rounds'>[]> {
  const sides: Omit<Side, 'rounds'>[] = [];
  const add = async (name: SideName, ...rest: Tail<Parameters<Testbed['startService']>>): Promise<void> => {
    sides.push({ name, target: (await testbed.startService(`${database} ${name}`, ...rest)).target });
  };
  if (database === 'SQLite') {
    await add('usual');
    if (memory !== undefined) await add('without flushes', undefined, undefined, memory);
    return sides;
  }
  for (const [name, settings] of [
    ['usual', {}],
    ['without flushes', { fsync: 'off' }],
  ] as const) {
    const server = await testbed.startDatabase(settings);
    if (server !== undefined) await add(name, { address: await server.newDatabase('vault'), server });
  }
  return sides;
}

type Tail<List extends readonly unknown[]> = List extends readonly [unknown, ...infer Rest] ? Rest : never;

const isEcho = ({ name }: Pick<Side, 'name'>): boolean => name === 'bare echo' || name === 'service echo';

async function runRound(testbed: Testbed, side: Side, request: Request, seconds: number): Promise<Round> {
  const { target, rounds } = side;
  const sent = isEcho(side) ? ECHO : request;
  const { uses, account = 'usual' } = sent;
  const expected = (rounds.at(-1)?.perSecond ?? RECORDS) * seconds * RESERVE;
  if (uses !== undefined) await testbed.fill(target, uses, account, Math.ceil(expected) + CONNECTIONS);
  return testbed.run(target, sent, { seconds });
}

/** Undefined without rounds of the service as it is. */
export function tailFigure(
  request: string,
  database: DatabaseName,
  sides: readonly Omit<Side, 'target'>[],
): TailFigure | undefined {
  const of = (rounds: readonly Round[], value: (round: Round) => number): number => median(rounds.map(value));
  const usual = sides.find(({ name }) => name === 'usual');
  if (usual === undefined) return undefined;
  return {
    ...{ request, database, p50: of(usual.rounds, ({ p50 }) => p50), p99: of(usual.rounds, ({ p99 }) => p99) },
    spread: Object.fromEntries(sides.map(({ name, rounds }) => [name, of(rounds, ({ p99, p50 }) => p99 / p50)])),
  };
}

/** Measures the requests over one database. Only its services run: idle ones have periodic work too, which is a cause of its own. */
async function measureDatabase(
  database: DatabaseName,
  { rounds, seconds, warmSeconds, only }: TailSettings,
  print: (line: string) => void,
): Promise<TailFigure[]> {
  const testbed = new Testbed();
  const memory = existsSync(IN_MEMORY) ? mkdtempSync(join(IN_MEMORY, 'cardvault-bench-')) : undefined;
  try {
    const { pem } = (await testbed.startService('certificate')).service;
    await testbed.stopServices();
    const started: Omit<Side, 'rounds'>[] = [
      { name: 'bare echo', target: await testbed.startBareEcho(pem) },
      { name: 'service echo', target: await testbed.startServiceEcho() },
      ...(await startServices(testbed, database, memory)),
    ];
    await testbed.connect(
      started.map(({ target }) => target),
      CONNECTIONS,
    );
    const figures: TailFigure[] = [];
    for (const name of MEASURED) {
      if (only.length > 0 && !only.some((part) => name.includes(part))) continue;
      print(`${name}, ${database}`);
      const request = requestNamed(name);
      const sides = started.map((side): Side => ({ ...side, rounds: [] }));
      for (const side of sides) {
        const { reads, account = 'usual' } = request;
        if (reads !== undefined && !isEcho(side)) await testbed.fill(side.target, reads, account, RECORDS);
        await runRound(testbed, side, request, warmSeconds);
      }
      for (let round = 0; round < rounds; round++)
        for (let turn = 0; turn < sides.length; turn++) {
          const side = sides[(turn + round) % sides.length] as Side;
          side.rounds.push(await runRound(testbed, side, request, seconds));
        }
      figures.push(...[tailFigure(name, database, sides) ?? []].flat());
    }
    return figures;
  } finally {
    await testbed.stop();
    if (memory !== undefined) rmSync(memory, { recursive: true, force: true });
  }
}

export async function measureTails(settings: TailSettings, print: (line: string) => void): Promise<TailFigures> {
  const figures: TailFigure[] = [];
  for (const database of ['SQLite', 'PostgreSQL'] as const)
    figures.push(...(await measureDatabase(database, settings, print)));
  return { ...settings, figures };
}

/** The section of RESULTS.md. */
export function tailSection({ figures, rounds, seconds }: TailFigures, { date, cores, processor }: Conditions): string {
  const table: Table = [
    ['request', 'database', 'p50 ms', 'p99 ms', ...SIDES],
    ...figures.map(({ request, database, p50, p99, spread }) => [
      request,
      database,
      p50.toFixed(2),
      p99.toFixed(1),
      ...SIDES.map((name) => spread[name]?.toFixed(1) ?? '-'),
    ]),
  ];
  return `## What makes the tails

\`npm run bench -- --tails\` on ${date}, ${cores} cores (${processor}): the 99th percentile beside the median, at services that each leave out one cause, ${CONNECTIONS} connections, medians
of ${rounds} rounds of ${seconds} s at each in turns, one database after the other. Times and "usual" are of the service as it is. The bare echo is \`node:https\` alone: what load, server and host on the same cores make.
The service echo adds authentication, log, metrics and limits, and stores nothing. Without flushes the files of SQLite are in memory, and PostgreSQL has \`fsync = off\`.

${aligned(table)}`;
}
