import { whileFlushing } from './disk.ts';
import { CAPACITY_SECONDS, type Interval, median, type Soak, type SoakSettings } from './figures.ts';
import { readMachineTime } from './processes.ts';
import { ECHO, MIX } from './requests.ts';
import type { Service } from './service.ts';
import { whole } from './table.ts';
import { type Target, Testbed } from './testbed.ts';

/**
 * The same load for a long time: 70 % of what the service can do once captures expire, of requests that arrive independently of one another. A
 * virtual machine is faster in one minute and slower in another. So each interval begins with what a bare echo and the service can do, and
 * beside the load the disk is asked for flushes of another file.
 */
const CONNECTIONS = 64;
const INTERVALS = 30;
const SHARE = 0.7;
/** The first captures expire after a minute: from then on their deletion is a part of the load. */
const WARM_SECONDS = 120;
const ECHO_SECONDS = 2;
/** A minute of them: the host is never equally fast for so long. */
const CAPACITY_ROUNDS = 12;

interface Sides {
  readonly testbed: Testbed;
  readonly echo: Target;
  readonly target: Target;
  readonly service: Service;
  readonly sizes: () => Promise<{ readonly database: number; readonly log: number }>;
  /** Requests a second that arrive. */
  readonly offered: number;
}

async function measureInterval(
  { testbed, echo, target, service, sizes, offered }: Sides,
  seconds: number,
): Promise<Omit<Required<Interval>, 'seconds'>> {
  // Neither server keeps a connection open that is idle for long.
  await testbed.connect([echo], CONNECTIONS);
  const { perSecond, p99, cpu } = await testbed.run(echo, ECHO, { seconds: ECHO_SECONDS });
  await testbed.connect([target], CONNECTIONS);
  const { perSecond: capacity } = await testbed.run(target, MIX, { seconds: CAPACITY_SECONDS });
  const before = readMachineTime();
  const [round, flush] = await whileFlushing(testbed.directory, () =>
    testbed.run(target, MIX, { seconds, perSecond: offered }),
  );
  const after = readMachineTime();
  const { database, log } = await sizes();
  return {
    ...{ perSecond: round.perSecond, p50: round.p50, p99: round.p99, cpu: round.cpu + round.databaseCpu },
    reference: {
      echo: { perSecond, p99, cpu },
      capacity,
      usualP99: round.usualP99,
      stolen: (after.stolen - before.stolen) / (after.total - before.total),
      flush,
    },
    ...{ memory: service.memory, databaseBytes: database, logBytes: log },
  };
}

function describe(index: number, { reference, perSecond, p99, memory }: Required<Interval>): string {
  const { echo, capacity, usualP99, stolen, flush } = reference;
  const rates = `${whole(perSecond)}/s of ${whole(capacity)}, echo ${whole(echo.perSecond)}`;
  const times = `p99 ${p99.toFixed(1)} ms, usually ${usualP99.toFixed(1)}`;
  const machine = `p99 of a flush ${flush.p99.toFixed(1)} ms, ${(stolen * 100).toFixed(1)} % stolen`;
  return `${index}/${INTERVALS}: ${rates}, ${times}; ${machine}, ${whole(memory / 2 ** 20)} MiB`;
}

export async function measureSoak(settings: SoakSettings, print: (line: string) => void): Promise<Soak> {
  const testbed = new Testbed();
  try {
    const server = settings.database === 'PostgreSQL' ? await testbed.startDatabase() : undefined;
    if (settings.database === 'PostgreSQL' && server === undefined)
      throw new Error('there is no PostgreSQL on this machine');
    const at = server && { address: await server.newDatabase('vault'), server };
    const { service, target } = await testbed.startService(settings.database, at);
    const sizes: Sides['sizes'] = async () => ({
      database: at === undefined ? service.databaseBytes : await at.server.bytesOf(at.address),
      log: at === undefined ? service.logBytes : 0,
    });
    await testbed.connect([target], CONNECTIONS);
    await testbed.run(target, MIX, { seconds: WARM_SECONDS });
    const capacities: number[] = [];
    for (let round = 0; round < CAPACITY_ROUNDS; round++)
      capacities.push((await testbed.run(target, MIX, { seconds: CAPACITY_SECONDS })).perSecond);
    const capacity = median(capacities);
    const echo = await testbed.startBareEcho(service.pem);
    const sides: Sides = { testbed, echo, target, service, sizes, offered: capacity * SHARE };
    print(`${Math.round(capacity)} requests a second; ${SHARE * 100} % of them for ${settings.minutes} minutes`);
    const intervals: Interval[] = [];
    const length = (settings.minutes * 60) / INTERVALS;
    let problem: string | undefined;
    try {
      for (let index = 1; index <= INTERVALS; index++) {
        const interval = { seconds: index * length, ...(await measureInterval(sides, length)) };
        intervals.push(interval);
        print(describe(index, interval));
      }
    } catch (error) {
      // The intervals before it are worth reading.
      problem = (error as Error).message;
    }
    const postgres = server && { postgres: server.release };
    return { settings, ...postgres, capacity, intervals, ...(problem !== undefined && { problem }) };
  } finally {
    await testbed.stop();
  }
}
