import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child, variables } from './child.ts';
import { ECHO, UNSTORED } from './comparisons.ts';
import type { Load, LoadOrder, LoadReport } from './load.ts';
import type { Plan, Shape } from './requests.ts';
import type { Ready, ServerOrder, ServerReport, Usage } from './server.ts';
import { type StartTimes, startTimes } from './start-times.ts';

export interface Settings {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly connections: number;
  /** Tokens in the database before the first request. */
  readonly rows: number;
  readonly starts: number;
  /** Parts of names of scenarios to run; none is all. */
  readonly only: readonly string[];
  /** Where the server leaves CPU profiles. */
  readonly profiles?: string | undefined;
}

export interface Scenario {
  readonly name: string;
  readonly method: Plan['method'];
  readonly path: string;
  readonly shape: Shape;
  readonly against: string;
  readonly prefix: string;
  /** The ratio we mean to reach. */
  readonly aim: number;
  /** What one request counts, and what is counted. */
  readonly each: number;
  readonly unit: string;
  readonly ids: (ready: Ready) => readonly string[];
}

const NO_IDS = (): readonly string[] => [''];
const REQUESTS = { each: 1, unit: 'requests' };
const TOKENIZATION = { method: 'POST', path: '/v1/tokenization/simple' } as const;
const RETRIEVAL = '/transactions/requests/{id}';

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'tokenize 1 card, durable',
    ...TOKENIZATION,
    ...REQUESTS,
    shape: 'card',
    against: 'echo',
    prefix: ECHO,
    aim: 0.6,
    ids: NO_IDS,
  },
  {
    name: 'tokenize 100 cards, durable',
    ...TOKENIZATION,
    each: 100,
    unit: 'cards',
    shape: 'hundred cards',
    against: 'the same without storage',
    prefix: UNSTORED,
    aim: 0.8,
    ids: NO_IDS,
  },
  {
    name: 'create a capture, durable',
    method: 'POST',
    path: '/transactions/requests',
    ...REQUESTS,
    shape: 'capture',
    against: 'echo',
    prefix: ECHO,
    aim: 0.65,
    ids: NO_IDS,
  },
  {
    name: 'retrieve a capture, audit record durable',
    method: 'GET',
    path: RETRIEVAL,
    ...REQUESTS,
    shape: 'none',
    against: 'echo',
    prefix: ECHO,
    aim: 0.6,
    ids: ({ captures }) => captures,
  },
  {
    name: 'inspect a token',
    method: 'GET',
    path: '/v1/tokens/{id}/inspect',
    ...REQUESTS,
    shape: 'none',
    against: 'echo',
    prefix: ECHO,
    aim: 0.8,
    ids: ({ tokens }) => tokens,
  },
];

/** One round of one side. */
export interface Round {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU microseconds of the server for each request: all threads, and the main thread alone. */
  readonly cpu: number;
  readonly main: number;
  readonly rss: number;
  /** CPU microseconds of the load for each request. */
  readonly load: number;
}

export interface Result {
  readonly scenario: Scenario;
  readonly durable: readonly Round[];
  readonly comparison: readonly Round[];
}

export interface Figures {
  readonly settings: Settings;
  readonly results: readonly Result[];
  readonly rss: { readonly started: number; readonly loaded: number };
  readonly starts: readonly StartTimes[];
}

class Bench {
  readonly #settings: Settings;
  readonly #server: Child<ServerOrder, ServerReport>;
  readonly #load: Child<LoadOrder, LoadReport>;
  #ready: Ready | undefined;

  constructor(settings: Settings, directory: string) {
    this.#settings = settings;
    const execArgv = settings.profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${settings.profiles}`];
    const env = variables(directory);
    this.#server = new Child('server.ts', [String(settings.rows)], { execArgv, env });
    this.#load = new Child('load.ts', []);
  }

  async start(): Promise<Ready> {
    const report = await this.#server.report();
    if (!('ready' in report)) throw new Error('the server did not start');
    this.#ready = report.ready;
    const { port, authority } = report.ready;
    const { connections } = this.#settings;
    await this.#load.ask({ kind: 'connect', port, authority, connections });
    return report.ready;
  }

  prepare(plan: Omit<Plan, 'secret'>): Promise<LoadReport> {
    return this.#load.ask({ kind: 'prepare', plan: { ...plan, secret: this.#ready?.secret ?? '' } });
  }

  async usage(): Promise<Usage> {
    const report = await this.#server.ask({ kind: 'usage' });
    if (!('usage' in report)) throw new Error('the server did not tell its usage');
    return report.usage;
  }

  async round(name: string, seconds: number, each: number): Promise<Round> {
    const before = await this.usage();
    const load = await this.#run(name, seconds);
    const after = await this.usage();
    return {
      perSecond: (load.requests * each) / load.seconds,
      p50: load.p50,
      p99: load.p99,
      cpu: (after.cpu - before.cpu) / load.requests,
      main: (after.main - before.main) / load.requests,
      rss: after.rss,
      load: load.cpu / load.requests,
    };
  }

  async stop(): Promise<void> {
    await this.#load.ask({ kind: 'disconnect' });
    await this.#server.ask({ kind: 'stop' });
    await this.#server.ended();
  }

  kill(): void {
    this.#server.kill();
    this.#load.kill();
  }

  async #run(name: string, seconds: number): Promise<Load> {
    const report = await this.#load.ask({ kind: 'run', name, milliseconds: seconds * 1000 });
    if (!('load' in report) || report.load === undefined) throw new Error('the load did not run');
    const { load } = report;
    // A refusal is quick: with one of them among the answers the figures would flatter.
    if (load.failures > 0) throw new Error(`${name}: ${load.failures} of ${load.requests} answers were failures`);
    return load;
  }
}

/** Both sides of a scenario in short rounds, taking turns at going first. */
async function measureScenario(bench: Bench, scenario: Scenario, ready: Ready, settings: Settings): Promise<Result> {
  const { name, method, path, shape, prefix, each } = scenario;
  const compared = `${name}, ${scenario.against}`;
  const ids = scenario.ids(ready);
  await bench.prepare({ name, method, path, shape, ids });
  await bench.prepare({ name: compared, method, path: prefix + path, shape, ids });
  for (const side of [compared, name]) await bench.round(side, settings.warmUpSeconds, each);
  const durable: Round[] = [];
  const comparison: Round[] = [];
  for (let round = 0; round < settings.rounds; round++) {
    const sides = [
      async () => durable.push(await bench.round(name, settings.seconds, each)),
      async () => comparison.push(await bench.round(compared, settings.seconds, each)),
    ];
    for (const side of round % 2 === 0 ? sides : sides.reverse()) await side();
  }
  return { scenario, durable, comparison };
}

export async function measure(settings: Settings, tell: (line: string) => void): Promise<Figures> {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-bench-'));
  const bench = new Bench(settings, join(directory, 'service'));
  try {
    tell(`starting the server, with ${settings.rows} tokens`);
    const ready = await bench.start();
    const { rss: started } = await bench.usage();
    const results: Result[] = [];
    for (const scenario of SCENARIOS) {
      if (settings.only.length > 0 && !settings.only.some((part) => scenario.name.includes(part))) continue;
      tell(scenario.name);
      results.push(await measureScenario(bench, scenario, ready, settings));
    }
    const { rss: loaded } = await bench.usage();
    await bench.stop();
    const starts: StartTimes[] = [];
    for (let start = 0; start < settings.starts; start++) {
      tell('starting and stopping the service');
      starts.push(await startTimes(join(directory, `start-${start}`)));
    }
    return { settings, results, rss: { started, loaded }, starts };
  } finally {
    bench.kill();
    rmSync(directory, { recursive: true, force: true });
  }
}
