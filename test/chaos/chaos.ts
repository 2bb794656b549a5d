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
import { Testbed, type TestbedOptions } from './testbed.ts';

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

export interface Options extends TestbedOptions {
  /** Instead of the faults of `npm run chaos`. */
  readonly faults?: readonly Fault[];
  /** Names of the faults; empty: all that this machine supports. */
  readonly only: readonly string[];
  /** Rounds start until this number of milliseconds has passed; 0: one round. */
  readonly lasts: number;
  /** The load lasts until this number of requests of each kind in `ENOUGH_OF` was acknowledged. */
  readonly enough: number;
  readonly clients: number;
  readonly pace: Pace;
  /** Captures that expire while the load runs; the run then takes a minute more. */
  readonly captureEnds: boolean;
  readonly log: (line: string) => void;
}

/** An injected fault, and how each node recovered from it. */
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
  /** Start and end of the load, in milliseconds of the right clock. */
  readonly load: { readonly began: number; readonly ended: number };
  readonly testbed: Testbed;
  /** One line for each finding. */
  readonly findings: readonly string[];
}

/** The kinds of requests without which a run proves little. */
const ENOUGH_OF = ['tokenize', 'persistent', 'create capture', 'delete token', 'payment', 'authorization'] as const;
const ENOUGH_WITHIN_MS = 60_000;
/** Everything has to work again within this time, otherwise the run fails. */
const RECOVERS_WITHIN_MS = 30_000;
const ANSWERED_WITHIN_MS = 60_000;
const ENDED_WITHIN_MS = 90_000;
const SWEPT_WITHIN_MS = 20_000;
/** In the first minute no capture can expire. */
const CLOCKS = ['clock-stops', 'clock-jumps'];
const FIRST_ENDS_AFTER_MS = 58_000;

/** Starts the testbed, injects one fault after the other under load, and checks the records. */
export async function runChaos(options: Options): Promise<Outcome> {
  const testbed = await Testbed.set(options);
  try {
    const skipped: { name: string; why: string }[] = [];
    const plan = (options.faults ?? FAULTS).filter((fault) => {
      const isWanted = options.only.length === 0 || options.only.includes(fault.name);
      const why = isWanted ? fault.lacks?.(testbed) : undefined;
      if (why !== undefined) skipped.push({ name: fault.name, why });
      return isWanted && why === undefined;
    });
    const { injected, load } = await underLoad(testbed, plan, options);
    await checkAll(testbed, options.log);
    const { cluster } = testbed;
    return { options, release: cluster?.release, injected, skipped, load, testbed, findings: findingsOf(testbed) };
  } finally {
    await testbed.clear();
  }
}

async function underLoad(testbed: Testbed, plan: readonly Fault[], options: Options) {
  const { nodes, ledger, retryingClient, expectedRecords, seeded } = testbed;
  const parts = { nodes, ledger, retryingClient, expectedRecords, seeded };
  const clients = new Load(parts, options);
  const probes = nodes.map((node) => new Probe(node, { ...parts, seeded: seeded.branch() }));
  const began = Date.now();
  clients.start();
  for (const probe of probes) probe.start();
  const injected: Injected[] = [];
  try {
    await wait(options.pace.warmUp);
    for (let faults = plan; faults.length > 0; faults = shuffled(plan, testbed)) {
      for (const fault of faults) {
        if (CLOCKS.includes(fault.name)) await wait(Math.max(0, began + FIRST_ENDS_AFTER_MS - Date.now()));
        injected.push(await inject(testbed, fault, probes, options));
      }
      if (Date.now() - began >= options.lasts) break;
    }
    await untilEnough(testbed, options.enough);
  } finally {
    options.log('no new requests');
    for (const probe of probes) await probe.stop();
    await clients.stop();
  }
  const ended = Date.now();
  if (options.captureEnds) options.log('waiting for the last captures to end');
  await clients.captureEnds();
  return { injected, load: { began, ended } };
}

/** A slow machine has sent few requests when the last fault is over. */
async function untilEnough({ ledger }: Testbed, enough: number): Promise<void> {
  const until = Date.now() + ENOUGH_WITHIN_MS;
  for (const kind of ENOUGH_OF)
    while (ledger.acknowledged(kind).length < enough) {
      if (Date.now() > until) throw new Error(`${ledger.acknowledged(kind).length} of ${kind} are too few`);
      await wait(50);
    }
}

const shuffled = (plan: readonly Fault[], { seeded }: Testbed): Fault[] =>
  plan
    .map((fault) => ({ fault, at: seeded.below(2 ** 30) }))
    .sort((one, other) => one.at - other.at)
    .map(({ fault }) => fault);

async function inject(
  testbed: Testbed,
  fault: Fault,
  probes: readonly Probe[],
  { pace, log }: Options,
): Promise<Injected> {
  const { retryingClient, ledger, nodes, seeded } = testbed;
  retryingClient.calmSince = Number.POSITIVE_INFINITY;
  ledger.during = fault.name;
  const hit = await fault.run(testbed, seeded.branch());
  for (const probe of probes) await recovered(testbed, fault, probe, hit.ended);
  const recoveries = probes.map((probe) => probe.recovery(hit.began, hit.ended));
  await fault.repair?.(testbed);
  await wait(pace.settles);
  retryingClient.calmSince = Date.now();
  await wait(pace.calm);
  for (const node of nodes)
    for (const how of node.endings.splice(0)) ledger.found(`node ${node.number} ended by itself: ${how}`);
  ledger.during = '';
  const durations = recoveries.map(({ sinceEnded, longest }) => `${sinceEnded ?? 'never'} (longest ${longest})`);
  log(`${fault.name}, ${hit.whom}: ${hit.ended - hit.began} ms; writes again after ${durations.join(', ')} ms`);
  return { ...hit, fault, recoveries };
}

/** One line for each finding, with the node's log lines about it. */
export function findingsOf({ ledger, nodes }: Testbed): string[] {
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

async function recovered({ ledger }: Testbed, fault: Fault, probe: Probe, ended: number): Promise<void> {
  // A killed node serves again by now: how long a process takes to start depends on what else runs on the machine.
  const since = Date.now();
  while (probe.firstAfter(ended) === undefined) {
    if (Date.now() - since > RECOVERS_WITHIN_MS) {
      ledger.found(`node ${probe.node.number} writes nothing ${RECOVERS_WITHIN_MS} ms after ${fault.name}`);
      return;
    }
    await wait(20);
  }
}

/** Everything acknowledged is stored, and nothing else is. */
export async function checkAll(testbed: Testbed, log: Options['log']): Promise<void> {
  const steps: readonly [string, () => Promise<void>][] = [
    ['every key is answered', () => checkKeysAnswered(testbed, ANSWERED_WITHIN_MS)],
    ['every payment ends', () => checkPaymentsComplete(testbed, ENDED_WITHIN_MS)],
    ['tokens are there', () => checkTokensExist(testbed)],
    ['captures are there', () => checkCapturesExist(testbed)],
    ['what was deleted is gone', () => checkDeletions(testbed)],
    ['tokens are counted', () => checkTokenCounts(testbed)],
    ['captures are counted', () => checkCaptureCounts(testbed)],
    ['what has ended is swept', () => checkSwept(testbed, SWEPT_WITHIN_MS)],
    ['payments agree', () => checkPaymentsAgree(testbed)],
    ['answers are kept', () => checkResponsesStored(testbed)],
    ['the audit log is whole', () => checkAuditComplete(testbed)],
  ];
  for (const [name, check] of steps) {
    const [began, findings] = [Date.now(), testbed.ledger.findings.length];
    await check();
    log(`${name}: ${testbed.ledger.findings.length - findings} findings, ${Date.now() - began} ms`);
  }
}
