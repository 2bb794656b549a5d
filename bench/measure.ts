import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bench, type Round, type Settings } from './bench.ts';
import { Child } from './child.ts';
import { type EnvelopesOrder, type EnvelopesReport, WORKS, type Work } from './envelopes.ts';
import type { Plan } from './requests.ts';
import { type DatabaseLayout, needsPostgres, type Scenario } from './scenario.ts';
import { SCENARIOS } from './scenarios.ts';
import { type StartTimes, startTimes } from './start-times.ts';

export interface Result {
  readonly scenario: Scenario;
  readonly durable: readonly Round[];
  readonly comparison: readonly Round[];
}

/** A scenario that could not run here. */
export interface Shortfall {
  readonly scenario: Scenario;
  readonly why: string;
}

/** Envelopes that one core makes in a second of CPU time, round by round. */
export type Envelopes = Readonly<Record<Work, readonly number[]>>;

export interface Figures {
  readonly settings: Settings;
  readonly results: readonly Result[];
  readonly shortfalls: readonly Shortfall[];
  readonly envelopes: Envelopes | undefined;
  /** Memory of the node over SQLite. */
  readonly rss: { readonly started: number; readonly loaded: number };
  readonly starts: readonly StartTimes[];
  /** The release of PostgreSQL, such as `15.18`; undefined without one. */
  readonly databaseRelease: string | undefined;
}

type Side = (seconds: number) => Promise<Round>;
/** Builds the scenario's own request, with the records to read at a place. */
type PlanAt = (layout: DatabaseLayout) => Omit<Plan, 'secret'>;

/** Returns the side that the service is compared with; `own` returns its last round. */
async function comparisonOf(benchmark: Bench, scenario: Scenario, plan: PlanAt, own: () => Round): Promise<Side> {
  const { name, path, shape, prefix, beside, each, layout = 'sqlite', otherLayout = layout, inserts } = scenario;
  const compared = `${name}, ${scenario.against}`;
  if (inserts !== undefined)
    return (seconds) => benchmark.inserts(inserts, Math.max(1, Math.round(own().groups?.size ?? 1)), seconds);
  const isElsewhere = otherLayout !== layout;
  if (beside === undefined && prefix === undefined && !isElsewhere) return (seconds) => benchmark.signatures(seconds);
  const request = beside ?? { path: (prefix ?? '') + path, shape };
  await benchmark.prepare(otherLayout, { ...plan(otherLayout), ...request, name: compared });
  return (seconds) => benchmark.round(otherLayout, compared, seconds, each);
}

/** Both sides of a scenario in short rounds, taking turns at going first. */
async function measureScenario(benchmark: Bench, scenario: Scenario, settings: Settings): Promise<Result> {
  const {
    name,
    method,
    path,
    shape,
    each,
    keyHeader = 'x-api-key',
    layout = 'sqlite',
    otherLayout = layout,
  } = scenario;
  const plan: PlanAt = (at) => ({ name, method, path, shape, ids: scenario.ids(benchmark.ready(at)), keyHeader });
  await benchmark.connect([...new Set([layout, otherLayout])]);
  if (scenario.settings !== undefined) await benchmark.configure(layout, scenario.settings);
  await benchmark.prepare(layout, plan(layout));
  const own: Side = (seconds) => benchmark.round(layout, name, seconds, each);
  let last = await own(settings.warmUpSeconds);
  const other = await comparisonOf(benchmark, scenario, plan, () => last);
  await other(settings.warmUpSeconds);
  const durable: Round[] = [];
  const comparison: Round[] = [];
  for (let round = 0; round < settings.rounds; round++) {
    const sides = [
      async () => {
        last = await own(settings.seconds);
        durable.push(last);
      },
      async () => void comparison.push(await other(settings.seconds)),
    ];
    for (const side of round % 2 === 0 ? sides : sides.reverse()) await side();
  }
  return { scenario, durable, comparison };
}

/** Pinned to one core where the machine supports it; the figures are CPU time in any case. */
const ONE_CORE = existsSync('/usr/bin/taskset')
  ? { execPath: '/usr/bin/taskset', execArgv: ['-c', '0', process.execPath] }
  : {};

async function measureEnvelopes({ rounds, seconds, warmUpSeconds }: Settings): Promise<Envelopes> {
  const child = new Child<EnvelopesOrder, EnvelopesReport>('envelopes.ts', [], ONE_CORE);
  const run = async (work: Work, milliseconds: number): Promise<number> => {
    const report = await child.send({ work, milliseconds });
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

export async function measure(settings: Settings, print: (line: string) => void): Promise<Figures> {
  const isWanted = (name: string) => settings.only.length === 0 || settings.only.some((part) => name.includes(part));
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-bench-'));
  const benchmark = new Bench(settings, directory);
  try {
    print(`starting the server, with ${settings.rows} tokens`);
    await benchmark.start();
    const { rss: started } = await benchmark.usage('sqlite');
    const selected = SCENARIOS.filter(({ name }) => isWanted(name));
    const withPostgres = selected.filter(needsPostgres);
    if (withPostgres.length > 0) print('starting PostgreSQL and two nodes over it');
    const why = withPostgres.length > 0 ? await benchmark.startPostgres() : undefined;
    const shortfalls = why === undefined ? [] : withPostgres.map((scenario) => ({ scenario, why }));
    const results: Result[] = [];
    for (const scenario of selected) {
      if (why !== undefined && needsPostgres(scenario)) continue;
      print(scenario.name);
      results.push(await measureScenario(benchmark, scenario, settings));
    }
    const { rss: loaded } = await benchmark.usage('sqlite');
    const { databaseRelease } = benchmark;
    await benchmark.stop();
    if (isWanted(ENVELOPES)) print(ENVELOPES);
    const envelopes = isWanted(ENVELOPES) ? await measureEnvelopes(settings) : undefined;
    const starts: StartTimes[] = [];
    for (let start = 0; start < settings.starts; start++) {
      print('starting and stopping the service');
      starts.push(await startTimes(join(directory, `start-${start}`)));
    }
    return { settings, results, shortfalls, envelopes, rss: { started, loaded }, starts, databaseRelease };
  } finally {
    await benchmark.end();
    rmSync(directory, { recursive: true, force: true });
  }
}
