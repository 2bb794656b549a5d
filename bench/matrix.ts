import {
  type DatabaseName,
  type EchoFigure,
  type Figure,
  type Matrix,
  type MatrixSettings,
  median,
} from './figures.ts';
import { ECHO, REQUESTS, type Request } from './requests.ts';
import type { Service } from './service.ts';
import { type Round, type Target, Testbed } from './testbed.ts';

/** Every request over each database with each number of connections, each round beside a round of the bare echo. */

/** The number of connections for latency at 70 % load and for ratios to signing. */
const USUAL_CONNECTIONS = 64;
const OPEN_SHARE = 0.7;
/** Parts of the time at 70 % load: a stall of the host is in one or two of them. */
const OPEN_SLICES = 5;
/** Records that are made before a round that uses them up, beside the number of the round before. */
const RESERVE = 1.4;
const FIRST_PER_SECOND = 1500;
interface Node {
  readonly database: DatabaseName;
  readonly target: Target;
  readonly service: Service;
}

/** The rounds of one request: one of each side in each. */
interface Side {
  readonly database: DatabaseName | '-';
  readonly target: Target;
  readonly rounds: Round[];
}

/** CPU microseconds of the signatures of a request in one round: alone, and in a bare server. */
interface SigningRound {
  readonly alone: number;
  readonly server: number;
}

export function selected(settings: MatrixSettings): { requests: readonly Request[]; isEchoed: boolean } {
  const isWanted = ({ name }: Request) =>
    settings.only.length === 0 || settings.only.some((part) => name.includes(part));
  return { requests: REQUESTS.filter(isWanted), isEchoed: isWanted(ECHO) };
}

/** Returns how long a measurement takes, roughly, in seconds. */
export function estimateSeconds(settings: MatrixSettings): number {
  const { rounds, seconds, connections, databases, openSeconds, settleSeconds, warmRequests, warmSeconds } = settings;
  const { requests, isEchoed } = selected(settings);
  const sides = databases.length;
  const inRounds = (rounds + 1) * seconds * connections.length;
  // Records that are used up take as long to make.
  const weights = requests.map(({ uses }) => 1 + sides * (uses === undefined ? 1 : 2));
  const open = connections.includes(USUAL_CONNECTIONS) ? openSeconds * sides * requests.length : 0;
  const echo = isEchoed ? inRounds * 2 : 0;
  const warm = warmRequests > 0 ? (warmSeconds / 2) * sides * requests.length : 0;
  return settleSeconds + 10 + weights.reduce((sum, weight) => sum + weight, 0) * inRounds + echo + open + warm;
}

/** Runs the matrix, and is done with one number of connections before it begins with the next. */
class MatrixRun {
  readonly #settings: MatrixSettings;
  readonly #testbed: Testbed;
  readonly #print: (line: string) => void;
  readonly #figures: Figure[] = [];
  readonly #problems: string[] = [];
  readonly #echoes = new Map<number, Round[]>();
  /** Names of requests, with their targets, whose code is compiled. */
  readonly #warmed = new Set<string>();
  /** Names of the targets with open connections, and the number of them. */
  #connected = '';
  #echo: Target | undefined;
  /** Signatures alone, and a bare server that makes one for each request. */
  #signing: { readonly alone: ReturnType<Testbed['startSigner']>; readonly server: Target } | undefined;

  constructor(settings: MatrixSettings, testbed: Testbed, print: (line: string) => void) {
    this.#settings = settings;
    this.#testbed = testbed;
    this.#print = print;
  }

  async run(): Promise<Matrix> {
    const { databases, connections } = this.#settings;
    const { requests, isEchoed } = selected(this.#settings);
    const testbed = this.#testbed;
    const server = databases.includes('PostgreSQL') ? await testbed.startDatabase() : undefined;
    const nodes: Node[] = [];
    if (databases.includes('SQLite')) nodes.push({ database: 'SQLite', ...(await testbed.startService('SQLite')) });
    if (server !== undefined) {
      const database = { address: await server.newDatabase('vault'), server };
      nodes.push({ database: 'PostgreSQL', ...(await testbed.startService('PostgreSQL', database)) });
    } else if (databases.includes('PostgreSQL')) this.#problems.push('PostgreSQL: there is none on this machine');
    const [first] = nodes;
    if (first === undefined) throw new Error('there is no database to measure');
    this.#echo = await testbed.startBareEcho(first.service.pem);
    const serviceEcho = isEchoed ? await testbed.startServiceEcho() : undefined;
    if (requests.some(({ signatures }) => signatures !== undefined))
      this.#signing = { alone: testbed.startSigner(), server: await testbed.startBareEcho(first.service.pem, true) };
    await new Promise((resolve) => setTimeout(resolve, this.#settings.settleSeconds * 1000));
    const idle = nodes.map(({ service }) => service.memory);
    await this.#fill(
      nodes.map(({ target }) => target),
      requests,
    );
    const sides = nodes.map(({ database, target }) => ({ database, target }));
    for (const count of connections) {
      if (serviceEcho !== undefined) await this.#try(ECHO, count, [{ database: '-', target: serviceEcho }]);
      for (const request of requests) await this.#try(request, count, sides);
    }
    const openEcho = await this.#openEcho();
    return {
      ...{ settings: this.#settings, isLimited: true },
      ...(server !== undefined && { postgres: server.release }),
      ...{ figures: this.#figures, echoes: this.#toEchoFigures(openEcho), problems: this.#problems },
      memory: nodes.map(({ database, service }, index) => ({
        ...{ database, startMs: service.startMs, idle: idle[index] ?? Number.NaN, loaded: service.memory },
      })),
    };
  }

  /** Creates the records that the requests read. */
  async #fill(targets: readonly Target[], requests: readonly Request[]): Promise<void> {
    this.#print('creating records to read');
    await this.#testbed.connect(targets, USUAL_CONNECTIONS);
    for (const target of targets)
      for (const { reads, account = 'usual' } of requests)
        if (reads !== undefined) await this.#testbed.fill(target, reads, account, this.#settings.records);
  }

  /** Measures a request; when that fails, the others are measured nevertheless. */
  async #try(request: Request, connections: number, at: readonly Omit<Side, 'rounds'>[]): Promise<void> {
    this.#print(`${request.name}, ${connections} connections`);
    try {
      await this.#measure(request, connections, at);
    } catch (error) {
      // The server may have closed some of the connections.
      this.#connected = '';
      this.#problems.push(`${request.name}, ${connections} connections: ${(error as Error).message}`);
    }
  }

  async #measure(request: Request, connections: number, at: readonly Omit<Side, 'rounds'>[]): Promise<void> {
    const echo: Side = { database: '-', target: this.#echo as Target, rounds: [] };
    const sides = at.map((side): Side => ({ ...side, rounds: [] }));
    const signing = connections === USUAL_CONNECTIONS && request.signatures !== undefined ? this.#signing : undefined;
    const targets = sides.map(({ target }) => target);
    const echoes = signing === undefined ? [echo.target] : [echo.target, signing.server];
    await this.#connect([...echoes, ...targets], connections, echoes);
    const { seconds, rounds, openSeconds } = this.#settings;
    for (const side of sides) await this.#warm(side, request, connections);
    for (const side of sides) side.rounds.length = 0;
    const signatures: SigningRound[] = [];
    for (let round = 0; round < rounds; round++) {
      const turns = [
        async () => void echo.rounds.push(await this.#testbed.run(echo.target, ECHO, { seconds })),
        ...sides.map((side) => () => this.#round(side, request, connections, seconds)),
      ];
      // Another side begins in each round.
      for (let turn = 0; turn < turns.length; turn++) await turns[(turn + round) % turns.length]?.();
      if (signing === undefined) continue;
      const { cpu: one } = await signing.alone(seconds);
      const { cpu: server } = await this.#testbed.run(signing.server, ECHO, { seconds });
      const more = (request.signatures ?? 1) - 1;
      signatures.push({ alone: one + more * one, server: server + more * one });
    }
    this.#echoes.set(connections, [...(this.#echoes.get(connections) ?? []), ...echo.rounds]);
    const isOpen = openSeconds > 0 && connections === USUAL_CONNECTIONS;
    for (const side of sides) {
      const figure = toFigure(request, connections, side, echo.rounds, signatures);
      const open = isOpen ? await this.#openRound(side, request, figure.perSecond * OPEN_SHARE) : undefined;
      this.#figures.push({ ...figure, ...(open !== undefined && { open }) });
    }
  }

  /** Opens connections and sends requests to the echoes, unless those of the request before are the same: each round uses all of them. */
  async #connect(targets: readonly Target[], connections: number, echoes: readonly Target[]): Promise<void> {
    const wanted = [...targets.map(({ name }) => name), connections].join();
    if (this.#connected === wanted) return;
    await this.#testbed.connect(targets, connections);
    this.#connected = wanted;
    for (const echo of echoes) await this.#testbed.run(echo, ECHO, { seconds: this.#settings.seconds });
  }

  /** Sends requests until their code is compiled: the first thousand cost half as much again as those of a node in use. */
  async #warm(side: Side, request: Request, connections: number): Promise<void> {
    const { seconds, warmRequests, warmSeconds } = this.#settings;
    const name = `${side.target.name} ${request.name}`;
    const missing = this.#warmed.has(name) ? 0 : warmRequests;
    for (let sent = 0, took = 0; took === 0 || (took < warmSeconds && sent < missing); took += seconds) {
      sent += (await this.#round(side, request, connections, seconds)).perSecond * seconds;
    }
    this.#warmed.add(name);
  }

  /** Runs a round, and creates the records before it that it uses up. */
  async #round(
    side: Side,
    request: Request,
    connections: number,
    seconds: number,
    arrivals: { readonly perSecond?: number; readonly sliceSeconds?: number } = {},
  ): Promise<Round> {
    const { target, rounds } = side;
    const { uses, account = 'usual' } = request;
    const expected = arrivals.perSecond ?? rounds.at(-1)?.perSecond ?? FIRST_PER_SECOND;
    if (uses !== undefined)
      await this.#testbed.fill(target, uses, account, Math.ceil(expected * seconds * RESERVE) + connections);
    const round = await this.#testbed.run(target, request, { seconds, ...arrivals });
    rounds.push(round);
    return round;
  }

  async #openRound(side: Side, request: Request, perSecond: number): Promise<NonNullable<Figure['open']>> {
    const { openSeconds } = this.#settings;
    const sliceSeconds = openSeconds / OPEN_SLICES;
    const round = await this.#round(side, request, USUAL_CONNECTIONS, openSeconds, { perSecond, sliceSeconds });
    return { perSecond: round.perSecond, p50: round.p50, p99: round.p99, usualP99: round.usualP99 };
  }

  /** Shows which part of the latency at 70 % load is that of the machine and of the measurement. */
  async #openEcho(): Promise<Figure['open']> {
    const { openSeconds } = this.#settings;
    const rounds = this.#echoes.get(USUAL_CONNECTIONS);
    if (rounds === undefined || openSeconds === 0) return undefined;
    const echo: Side = { database: '-', target: this.#echo as Target, rounds: [] };
    await this.#connect([echo.target], USUAL_CONNECTIONS, []);
    return this.#openRound(echo, ECHO, mediansOf(rounds).perSecond * OPEN_SHARE);
  }

  #toEchoFigures(open: Figure['open']): EchoFigure[] {
    return [...this.#echoes].map(([connections, rounds]) => ({
      ...{ connections, ...mediansOf(rounds) },
      ...(connections === USUAL_CONNECTIONS && open !== undefined && { open }),
    }));
  }
}

const mediansOf = (rounds: readonly Round[]) => {
  const of = (value: (round: Round) => number): number => median(rounds.map(value));
  return {
    ...{ perSecond: of(({ perSecond }) => perSecond), p50: of(({ p50 }) => p50), p99: of(({ p99 }) => p99) },
    ...{ cpu: of(({ cpu }) => cpu), databaseCpu: of(({ databaseCpu }) => databaseCpu) },
    loadShare: of(({ loadShare }) => loadShare),
  };
};

function toFigure(
  request: Request,
  connections: number,
  { database, rounds }: Side,
  echoes: readonly Round[],
  signatures: readonly SigningRound[],
): Figure {
  const beside = (value: (round: Round, echo: Round) => number): number =>
    median(rounds.map((round, index) => value(round, echoes[index] as Round)));
  const { name, cards = 1 } = request;
  return {
    ...{ request: name, database, connections },
    ...mediansOf(rounds),
    rate: beside((round, echo) => (round.perSecond * cards) / echo.perSecond),
    cpuRatio: beside((round, echo) => (round.cpu + round.databaseCpu) / echo.cpu),
    ...(signatures.length > 0 && {
      signing: median(rounds.map(({ cpu }, index) => (signatures[index]?.alone ?? Number.NaN) / cpu)),
      bareSigning: median(rounds.map(({ cpu }, index) => (signatures[index]?.server ?? Number.NaN) / cpu)),
    }),
  };
}

export async function measureMatrix(settings: MatrixSettings, print: (line: string) => void): Promise<Matrix> {
  const testbed = new Testbed();
  try {
    return await new MatrixRun(settings, testbed, print).run();
  } finally {
    await testbed.stop();
  }
}
