import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Child, variables } from './child.ts';
import { type EnvelopesOrder, type EnvelopesReport, WORKS, type Work } from './envelopes.ts';
import type { Load, LoadOrder, LoadReport } from './load.ts';
import type { Plan } from './requests.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';
import type { Ready, ServerOrder, ServerReport, Usage } from './server.ts';
import type { Signatures, SignerOrder, SignerReport } from './signer.ts';
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

/** One round of one side. */
export interface Round {
  readonly perSecond: number;
  /** What one request counts. */
  readonly each: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU microseconds of the server for each request: all threads, and the main thread alone. */
  readonly cpu: number;
  readonly main: number;
  readonly rss: number;
  /** CPU microseconds of the load for each request; where there is no load, absent. */
  readonly load?: number;
}

export interface Result {
  readonly scenario: Scenario;
  readonly durable: readonly Round[];
  readonly comparison: readonly Round[];
}

/** What one core makes in a second of its time, round by round. */
export type Envelopes = Readonly<Record<Work, readonly number[]>>;

export interface Figures {
  readonly settings: Settings;
  readonly results: readonly Result[];
  readonly envelopes: Envelopes | undefined;
  readonly rss: { readonly started: number; readonly loaded: number };
  readonly starts: readonly StartTimes[];
}

class Bench {
  readonly #settings: Settings;
  readonly #server: Child<ServerOrder, ServerReport>;
  readonly #load: Child<LoadOrder, LoadReport>;
  readonly #signer: Child<SignerOrder, SignerReport>;
  #ready: Ready | undefined;

  constructor(settings: Settings, directory: string) {
    this.#settings = settings;
    const execArgv = settings.profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${settings.profiles}`];
    const env = variables(directory);
    this.#server = new Child('server.ts', [String(settings.rows)], { execArgv, env });
    this.#load = new Child('load.ts', []);
    this.#signer = new Child('signer.ts', []);
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

  configure(settings: Readonly<Record<string, string>>): Promise<ServerReport> {
    return this.#server.ask({ kind: 'configure', settings });
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
      each,
      p50: load.p50,
      p99: load.p99,
      cpu: (after.cpu - before.cpu) / load.requests,
      main: (after.main - before.main) / load.requests,
      rss: after.rss,
      load: load.cpu / load.requests,
    };
  }

  /** One round of bare signing. */
  async signatures(seconds: number): Promise<Round> {
    const report = await this.#signer.ask({ milliseconds: seconds * 1000 });
    if (!('signatures' in report)) throw new Error('the signer did not run');
    const { count, seconds: took, p50, p99, cpu, main, rss }: Signatures = report.signatures;
    return { perSecond: count / took, each: 1, p50, p99, cpu: cpu / count, main: main / count, rss };
  }

  async stop(): Promise<void> {
    await this.#load.ask({ kind: 'disconnect' });
    await this.#server.ask({ kind: 'stop' });
    await this.#server.ended();
  }

  kill(): void {
    this.#server.kill();
    this.#load.kill();
    this.#signer.kill();
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
  const { name, method, path, shape, prefix, beside, each, keyHeader = 'x-api-key' } = scenario;
  const compared = `${name}, ${scenario.against}`;
  const plan = { method, shape, ids: scenario.ids(ready), keyHeader };
  if (scenario.settings !== undefined) await bench.configure(scenario.settings);
  await bench.prepare({ ...plan, name, path });
  const request = beside ?? (prefix === undefined ? undefined : { path: prefix + path, shape });
  if (request !== undefined) await bench.prepare({ ...plan, ...request, name: compared });
  const own = (seconds: number): Promise<Round> => bench.round(name, seconds, each);
  const other = (seconds: number): Promise<Round> =>
    request === undefined ? bench.signatures(seconds) : bench.round(compared, seconds, each);
  for (const side of [other, own]) await side(settings.warmUpSeconds);
  const durable: Round[] = [];
  const comparison: Round[] = [];
  for (let round = 0; round < settings.rounds; round++) {
    const sides = [
      async () => durable.push(await own(settings.seconds)),
      async () => comparison.push(await other(settings.seconds)),
    ];
    for (const side of round % 2 === 0 ? sides : sides.reverse()) await side();
  }
  return { scenario, durable, comparison };
}

/** On one core where the machine can be told so; the figures are of its time in any case. */
const ONE_CORE = existsSync('/usr/bin/taskset')
  ? { execPath: '/usr/bin/taskset', execArgv: ['-c', '0', process.execPath] }
  : {};

async function measureEnvelopes({ rounds, seconds, warmUpSeconds }: Settings): Promise<Envelopes> {
  const child = new Child<EnvelopesOrder, EnvelopesReport>('envelopes.ts', [], ONE_CORE);
  const run = async (work: Work, milliseconds: number): Promise<number> => {
    const report = await child.ask({ work, milliseconds });
    if ('error' in report) throw new Error(report.error);
    return report.perCoreSecond;
  };
  try {
    const envelopes: Record<Work, number[]> = { 'encrypt-sign': [], 'sign-encrypt': [], 'bare signatures': [] };
    for (const work of WORKS) await run(work, warmUpSeconds * 1000);
    for (let round = 0; round < rounds; round++) {
      for (const work of WORKS) envelopes[work].push(await run(work, seconds * 1000));
    }
    return envelopes;
  } finally {
    child.kill();
  }
}

const ENVELOPES = 'wssec envelopes on one core';

export async function measure(settings: Settings, tell: (line: string) => void): Promise<Figures> {
  const isWanted = (name: string) => settings.only.length === 0 || settings.only.some((part) => name.includes(part));
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-bench-'));
  const bench = new Bench(settings, join(directory, 'service'));
  try {
    tell(`starting the server, with ${settings.rows} tokens`);
    const ready = await bench.start();
    const { rss: started } = await bench.usage();
    const results: Result[] = [];
    for (const scenario of SCENARIOS) {
      if (!isWanted(scenario.name)) continue;
      tell(scenario.name);
      results.push(await measureScenario(bench, scenario, ready, settings));
    }
    const { rss: loaded } = await bench.usage();
    await bench.stop();
    if (isWanted(ENVELOPES)) tell(ENVELOPES);
    const envelopes = isWanted(ENVELOPES) ? await measureEnvelopes(settings) : undefined;
    const starts: StartTimes[] = [];
    for (let start = 0; start < settings.starts; start++) {
      tell('starting and stopping the service');
      starts.push(await startTimes(join(directory, `start-${start}`)));
    }
    return { settings, results, envelopes, rss: { started, loaded }, starts };
  } finally {
    bench.kill();
    rmSync(directory, { recursive: true, force: true });
  }
}
