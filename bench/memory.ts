import { spawn } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import { type Conditions, median } from './figures.ts';
import { type Memory, memoryPartsOf } from './processes.ts';
import { MIX, requestNamed } from './requests.ts';
import { aligned, type Table } from './table.ts';
import { Testbed } from './testbed.ts';

/**
 * Measures the memory of the service, idle and after load, beside Node with the same threads and libraries of Node: the service cannot
 * take less.
 */

export interface MemorySettings {
  readonly rounds: number;
  /** Seconds between the start of a process and the reading of its memory. */
  readonly settleSeconds: number;
  /** Seconds of load of each kind. */
  readonly seconds: number;
  /** Numbers of request threads, ascending. */
  readonly workers: readonly number[];
}

/** Medians of the rounds. */
export interface MemoryFigures extends MemorySettings {
  readonly bare: readonly { readonly name: string; readonly idle: Memory }[];
  readonly services: readonly { readonly workers: number; readonly idle: Memory; readonly loaded: Memory }[];
}

const HTTPS = `
  const { createServer } = await import('node:https');
  createServer(() => undefined).listen(0, '127.0.0.1');
`;
/** Evaluated as a module, as the program is. */
const WRITER = `
  const { Worker } = await import('node:worker_threads');
  const writer = "import 'node:crypto'; const { DatabaseSync } = await import('node:sqlite'); new DatabaseSync(':memory:'); setInterval(() => undefined, 1e6)";
  new Worker(writer, { eval: true });
`;
const BARE: Readonly<Record<string, string>> = {
  'Node without a program': 'setInterval(() => undefined, 1e6)',
  'A server of `node:https`': HTTPS,
  'The same with a thread that has `node:sqlite` and `node:crypto`': HTTPS + WRITER,
};

const LOADS = [requestNamed('tokenize 100 cards, scheme 1'), MIX];
const CONNECTIONS = 64;

async function measureBare(program: string, settleSeconds: number): Promise<Memory> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: 'ignore' });
  try {
    await wait(settleSeconds * 1000);
    if (child.exitCode !== null) throw new Error('a bare process ended');
    return memoryPartsOf(child.pid ?? 0);
  } finally {
    child.kill('SIGKILL');
  }
}

async function measureService(workers: number, { settleSeconds, seconds }: MemorySettings) {
  const testbed = new Testbed();
  try {
    const { service, target } = await testbed.startService('memory', undefined, { CARDVAULT_WORKERS: String(workers) });
    await wait(settleSeconds * 1000);
    const idle = service.memoryParts;
    await testbed.connect([target], CONNECTIONS);
    for (const load of LOADS) await testbed.run(target, load, { seconds });
    return { idle, loaded: service.memoryParts };
  } finally {
    await testbed.stop();
  }
}

function medianOf(all: readonly Memory[]): Memory {
  const of = (name: keyof Memory): number => median(all.map((memory) => memory[name]));
  return { resident: of('resident'), file: of('file'), anonymous: of('anonymous') };
}

export async function measureMemory(settings: MemorySettings, print: (line: string) => void): Promise<MemoryFigures> {
  const { rounds, settleSeconds, workers } = settings;
  const repeat = async <Result>(name: string, measure: () => Promise<Result>): Promise<Result[]> => {
    print(name);
    const results: Result[] = [];
    for (let round = 0; round < rounds; round++) results.push(await measure());
    return results;
  };
  const bare: MemoryFigures['bare'][number][] = [];
  for (const [name, program] of Object.entries(BARE))
    bare.push({ name, idle: medianOf(await repeat(name, () => measureBare(program, settleSeconds))) });
  const services: MemoryFigures['services'][number][] = [];
  for (const count of workers) {
    const measured = await repeat(`service with ${count} request threads`, () => measureService(count, settings));
    const [idle, loaded] = [measured.map((each) => each.idle), measured.map((each) => each.loaded)];
    services.push({ workers: count, idle: medianOf(idle), loaded: medianOf(loaded) });
  }
  return { ...settings, bare, services };
}

const MEGABYTE = 1e6;
const megabytes = (bytes: number): string => `${(bytes / MEGABYTE).toFixed(0)} MB`;
const cells = ({ resident, file, anonymous }: Memory): string[] => [resident, file, anonymous].map(megabytes);
const NONE = ['-', '-', '-'];

/** Bytes that a service with one request thread may take, and an idle one for each further thread. */
const AIMS = { idle: 130e6, loaded: 400e6, further: 60e6 };

const verdict = (value: number, aim: number): string =>
  `${megabytes(value)} (≤ ${megabytes(aim)}: ${value <= aim ? 'met' : '**missed**'})`;

/** Compares the figures with the aims; empty without the service that has one request thread. */
function describeAims(services: MemoryFigures['services']): string {
  const [first, ...others] = services;
  if (first === undefined || first.workers !== 1) return '';
  const further = others.map(
    ({ workers, idle }, index) =>
      (idle.resident - (services[index]?.idle.resident ?? Number.NaN)) / (workers - (services[index]?.workers ?? 0)),
  );
  const list = further.map((bytes) => verdict(bytes, AIMS.further)).join(', ');
  const threads = list === '' ? '' : ` Idle, each further thread takes ${list}.`;
  return `With one request thread the service takes ${verdict(first.idle.resident, AIMS.idle)} idle and ${verdict(first.loaded.resident, AIMS.loaded)} loaded.${threads}\n\n`;
}

/** The section of RESULTS.md. */
export function memorySection(figures: MemoryFigures, { date, cores, processor, node }: Conditions): string {
  const { bare, services, rounds, settleSeconds, seconds } = figures;
  const table: Table = [
    ['process', 'idle', 'of it program', 'of it its own', 'loaded', 'of it program', 'of it its own'],
    ...bare.map(({ name, idle }) => [name, ...cells(idle), ...NONE]),
    ...services.map(({ workers, idle, loaded }) => [
      `The service with ${workers} request ${workers === 1 ? 'thread' : 'threads'}`,
      ...cells(idle),
      ...cells(loaded),
    ]),
  ];
  return `## Memory by part

\`npm run bench -- --memory\` on ${date}, ${cores} cores (${processor}), Node ${node}, SQLite: resident memory, medians of ${rounds} starts. "Program" are
the pages of the files of Node and of its libraries that were used; they are shared by all processes of one Node and can be read again, so the system
takes them back when it needs memory. "Its own" is the heap of V8 and of the allocator. Idle is ${settleSeconds} s after the start; loaded
is at the end of ${seconds} s of tokenizations of 100 cards and ${seconds} s of the requests of a merchant, on ${CONNECTIONS} connections as fast as they are
answered. The first three processes have no program of ours: the third has the threads of an idle service. Under load each request thread has the objects of the requests that it
serves, its areas of 32 MB for young objects and its cache of the database in addition: the goal for a further thread is judged while it is idle.

${describeAims(services)}${aligned(table)}`;
}
