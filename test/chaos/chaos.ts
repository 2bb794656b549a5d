import { setTimeout as wait } from 'node:timers/promises';
import { checkPaymentsAgree, checkPaymentsComplete } from './check-payments.ts';
import {
  checkAuditComplete,
  checkCaptureCounts,
  checkCapturesExist,
  checkDeletions,
  checkKeysAnswered,
  checkResponsesStored,
  checkSwept,
  checkTokenCounts,
  checkTokensExist,
} from './check-records.ts';
import { FAULTS, type Fault, type Hit } from './faults.ts';
import { Load } from './load.ts';
import { Probe, type Recovery } from './probe.ts';
import { Stage, type StageOptions } from './stage.ts';

/** Milliseconds of load around each fault. */
interface Pace {
  readonly warmUp: number;
  /** After the first write: delayed messages may still arrive late. */
  readonly settles: number;
  /** From then on, nothing may fail. */
  readonly calm: number;
}

export const PACE = {
  full: { warmUp: 4000, settles: 3000, calm: 3000 },
  quick: { warmUp: 1500, settles: 1500, calm: 1000 },
};

export interface Options extends StageOptions {
  /** Faults by name; empty: all that can be done. */
  readonly only: readonly string[];
  /** Rounds start until this number of milliseconds has passed; 0: one round. */
  readonly lasts: number;
  readonly clients: number;
  readonly pace: Pace;
  /** Captures that end while the load runs; it takes a minute more to see them end. */
  readonly captureEnds: boolean;
  readonly tell: (line: string) => void;
}

/** One fault that was injected, and how each node came out of it. */
export interface Injected extends Hit {
  readonly fault: Fault;
  readonly recoveries: readonly Recovery[];
}

export interface Outcome {
  readonly options: Options;
  /** The PostgreSQL servers; undefined with SQLite. */
  readonly release: string | undefined;
  readonly injected: readonly Injected[];
  readonly skipped: readonly { readonly name: string; readonly why: string }[];
  /** When the load began and ended, milliseconds of the right clock. */
  readonly load: { readonly began: number; readonly ended: number };
  readonly stage: Stage;
  /** One line each. */
  readonly findings: readonly string[];
}

/** Everything has to work again within this time, otherwise the run fails. */
const RECOVERS_WITHIN_MS = 30_000;
const ANSWERED_WITHIN_MS = 60_000;
const ENDED_WITHIN_MS = 90_000;
const SWEPT_WITHIN_MS = 20_000;
/** In the first minute no capture can end. */
const CLOCKS = ['clock-stops', 'clock-jumps'];
const FIRST_ENDS_AFTER_MS = 58_000;

/** Sets everything up, breaks one thing after the other under load, and checks what is left of it. */
export async function runChaos(options: Options): Promise<Outcome> {
  const stage = await Stage.set(options);
  try {
    const skipped: { name: string; why: string }[] = [];
    const plan = FAULTS.filter((fault) => {
      const isWanted = options.only.length === 0 || options.only.includes(fault.name);
      const why = isWanted ? fault.lacks?.(stage) : undefined;
      if (why !== undefined) skipped.push({ name: fault.name, why });
      return isWanted && why === undefined;
    });
    const { injected, load } = await underLoad(stage, plan, options);
    await checkAll(stage, options.tell);
    const { cluster } = stage;
    return { options, release: cluster?.release, injected, skipped, load, stage, findings: findingsOf(stage) };
  } finally {
    await stage.clear();
  }
}

async function underLoad(stage: Stage, plan: readonly Fault[], options: Options) {
  const { nodes, ledger, courier, stock, dice } = stage;
  const parts = { nodes, ledger, courier, stock, dice };
  const clients = new Load(parts, options);
  const probes = nodes.map((node) => new Probe(node, { ...parts, dice: dice.branch() }));
  const began = Date.now();
  clients.start();
  for (const probe of probes) probe.start();
  const injected: Injected[] = [];
  try {
    await wait(options.pace.warmUp);
    for (let faults = plan; faults.length > 0; faults = shuffled(plan, stage)) {
      for (const fault of faults) {
        if (CLOCKS.includes(fault.name)) await wait(Math.max(0, began + FIRST_ENDS_AFTER_MS - Date.now()));
        injected.push(await inject(stage, fault, probes, options));
      }
      if (Date.now() - began >= options.lasts) break;
    }
  } finally {
    options.tell('no new requests');
    for (const probe of probes) await probe.stop();
    await clients.stop();
  }
  const ended = Date.now();
  if (options.captureEnds) options.tell('waiting for the last captures to end');
  await clients.captureEnds();
  return { injected, load: { began, ended } };
}

const shuffled = (plan: readonly Fault[], { dice }: Stage): Fault[] =>
  plan
    .map((fault) => ({ fault, at: dice.below(2 ** 30) }))
    .sort((one, other) => one.at - other.at)
    .map(({ fault }) => fault);

async function inject(
  stage: Stage,
  fault: Fault,
  probes: readonly Probe[],
  { pace, tell }: Options,
): Promise<Injected> {
  const { courier, ledger, nodes, dice } = stage;
  courier.calmSince = Number.POSITIVE_INFINITY;
  ledger.during = fault.name;
  const hit = await fault.run(stage, dice.branch());
  for (const probe of probes) await recovered(stage, fault, probe, hit.ended);
  const recoveries = probes.map((probe) => probe.recovery(hit.began, hit.ended));
  await fault.repair?.(stage);
  await wait(pace.settles);
  courier.calmSince = Date.now();
  await wait(pace.calm);
  for (const node of nodes)
    for (const how of node.endings.splice(0)) ledger.found(`node ${node.number} ended by itself: ${how}`);
  ledger.during = '';
  const told = recoveries.map(({ sinceEnded, longest }) => `${sinceEnded ?? 'never'} (longest ${longest})`);
  tell(`${fault.name}, ${hit.whom}: ${hit.ended - hit.began} ms; writes again after ${told.join(', ')} ms`);
  return { ...hit, fault, recoveries };
}

/** One line each, with what the log of the node says of it. */
export function findingsOf({ ledger, nodes }: Stage): string[] {
  return ledger.findings.map(({ during, what, attempt, times }) => {
    const log = attempt && nodes[attempt.node - 1]?.logged(attempt.id);
    return [
      during === '' ? 'in the end' : during,
      what,
      ...(times > 1 ? [`${times} times`] : []),
      ...(log === undefined ? [] : [log]),
    ].join(': ');
  });
}

async function recovered({ ledger }: Stage, fault: Fault, probe: Probe, ended: number): Promise<void> {
  while (probe.firstAfter(ended) === undefined) {
    if (Date.now() - ended > RECOVERS_WITHIN_MS) {
      ledger.found(`node ${probe.node.number} writes nothing ${RECOVERS_WITHIN_MS} ms after ${fault.name}`);
      return;
    }
    await wait(20);
  }
}

/** Everything acknowledged is stored, and nothing else is. */
export async function checkAll(stage: Stage, tell: Options['tell']): Promise<void> {
  const steps: readonly [string, () => Promise<void>][] = [
    ['every key is answered', () => checkKeysAnswered(stage, ANSWERED_WITHIN_MS)],
    ['every payment ends', () => checkPaymentsComplete(stage, ENDED_WITHIN_MS)],
    ['tokens are there', () => checkTokensExist(stage)],
    ['captures are there', () => checkCapturesExist(stage)],
    ['what was deleted is gone', () => checkDeletions(stage)],
    ['tokens are counted', () => checkTokenCounts(stage)],
    ['captures are counted', () => checkCaptureCounts(stage)],
    ['what has ended is swept', () => checkSwept(stage, SWEPT_WITHIN_MS)],
    ['payments agree', () => checkPaymentsAgree(stage)],
    ['answers are kept', () => checkResponsesStored(stage)],
    ['the audit log is whole', () => checkAuditComplete(stage)],
  ];
  for (const [name, check] of steps) {
    const [began, findings] = [Date.now(), stage.ledger.findings.length];
    await check();
    tell(`${name}: ${stage.ledger.findings.length - findings} findings, ${Date.now() - began} ms`);
  }
}
