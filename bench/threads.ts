import { type Conditions, median } from './figures.ts';
import { type Request, requestNamed } from './requests.ts';
import type { Service } from './service.ts';
import { aligned, ratio, type Table, whole } from './table.ts';
import { type Round, type Target, Testbed } from './testbed.ts';

/** Services with different numbers of request threads side by side, over SQLite, whose one writer all of them share. */

export interface ThreadSettings {
  readonly rounds: number;
  readonly seconds: number;
  readonly workers: readonly number[];
}

/** Medians of the rounds. CPU is microseconds for each request. */
interface ThreadFigure {
  readonly request: string;
  readonly workers: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpu: number;
  readonly writerCpu: number;
  /** Requests for each transaction of the writer. */
  readonly group: number;
  /** Requests a second beside those of the first number of threads in the same round. */
  readonly rate: number;
}

export interface ThreadFigures extends ThreadSettings {
  readonly figures: readonly ThreadFigure[];
}

const REQUESTS = ['tokenize 1 card, scheme 7', 'inspect a token', 'authorize a payment'];
/** Many, so that the writer gets large groups from each thread. */
const CONNECTIONS = 512;
const TOKENS = 2000;

interface Side {
  readonly workers: number;
  readonly service: Service;
  readonly target: Target;
  readonly rounds: (Round & { readonly writerCpu: number; readonly group: number })[];
}

async function runRound(testbed: Testbed, { service, target, rounds }: Side, request: Request, seconds: number) {
  const before = { cpu: service.writerCpu, transactions: service.transactions };
  const round = await testbed.run(target, request, { seconds });
  const requests = round.perSecond * seconds;
  const group = requests / (service.transactions - before.transactions);
  rounds.push({ ...round, writerCpu: (service.writerCpu - before.cpu) / requests, group });
}

function toFigures(request: string, sides: readonly Side[]): ThreadFigure[] {
  const [first] = sides;
  return sides.map(({ workers, rounds }) => {
    const of = (value: (round: Side['rounds'][number]) => number): number => median(rounds.map(value));
    return {
      ...{ request, workers, perSecond: of(({ perSecond }) => perSecond), p50: of(({ p50 }) => p50) },
      ...{ p99: of(({ p99 }) => p99), cpu: of(({ cpu }) => cpu), writerCpu: of(({ writerCpu }) => writerCpu) },
      group: of(({ group }) => group),
      rate: median(rounds.map(({ perSecond }, index) => perSecond / (first?.rounds[index]?.perSecond ?? Number.NaN))),
    };
  });
}

export async function measureThreads(settings: ThreadSettings, print: (line: string) => void): Promise<ThreadFigures> {
  const { rounds, seconds, workers } = settings;
  const testbed = new Testbed();
  try {
    const services: Omit<Side, 'rounds'>[] = [];
    for (const count of workers) {
      const variables = { CARDVAULT_WORKERS: String(count) };
      services.push({ workers: count, ...(await testbed.startService(`${count} threads`, undefined, variables)) });
    }
    await testbed.connect(
      services.map(({ target }) => target),
      CONNECTIONS,
    );
    for (const { target } of services) await testbed.fill(target, 'tokens', 'usual', TOKENS);
    const figures: ThreadFigure[] = [];
    for (const name of REQUESTS) {
      print(name);
      const sides = services.map((service): Side => ({ ...service, rounds: [] }));
      const request = requestNamed(name);
      for (const side of sides) await testbed.run(side.target, request, { seconds });
      for (let round = 0; round < rounds; round++)
        for (let turn = 0; turn < sides.length; turn++)
          await runRound(testbed, sides[(turn + round) % sides.length] as Side, request, seconds);
      figures.push(...toFigures(name, sides));
    }
    return { ...settings, figures };
  } finally {
    await testbed.stop();
  }
}

/** The section of RESULTS.md. */
export function threadSection(
  { figures, rounds, seconds }: ThreadFigures,
  { date, cores, processor }: Conditions,
): string {
  const table: Table = [
    ['request', 'threads', 'a second', 'beside one', 'p50 ms', 'p99 ms', 'CPU us', 'of it the writer', 'a transaction'],
    ...figures.map(({ request, workers, perSecond, rate, p50, p99, cpu, writerCpu, group }) => [
      request,
      String(workers),
      whole(perSecond),
      ratio(rate),
      p50.toFixed(1),
      p99.toFixed(1),
      whole(cpu),
      writerCpu.toFixed(1),
      Number.isFinite(group) ? whole(group) : '-',
    ]),
  ];
  return `## Request threads

\`npm run bench -- --threads\` on ${date}, ${cores} cores (${processor}), SQLite: services with different numbers of request threads side by side, ${rounds} rounds of
${seconds} s at each in turns, ${CONNECTIONS} connections. The load runs on the same cores, so that more threads than cores less two cannot be faster; what they show is
what sharing one writer costs. A million divided by the microseconds of the writer is what one writer can do in a second. The last column is
the number of requests for each transaction of the writer: an authorization makes three commits, and reads make some of others for their audit records.

${aligned(table)}`;
}
