import type { Interval, Soak, SoakSettings } from './figures.ts';
import { MIX } from './requests.ts';
import type { Service } from './service.ts';
import { type Target, Testbed } from './testbed.ts';

/** The same load for a long time: 70 % of what the service can do, of requests that arrive independently of one another. */
const CONNECTIONS = 64;
const INTERVALS = 30;
const SHARE = 0.7;
const CAPACITY_SECONDS = 20;

type Sizes = () => Promise<{ readonly database: number; readonly log: number }>;

async function measureInterval(
  testbed: Testbed,
  target: Target,
  service: Service,
  sizes: Sizes,
  perSecond: number,
  seconds: number,
) {
  const round = await testbed.run(target, MIX, { seconds, perSecond });
  const { database, log } = await sizes();
  return {
    ...{ perSecond: round.perSecond, p50: round.p50, p99: round.p99, cpu: round.cpu + round.databaseCpu },
    ...{ memory: service.memory, databaseBytes: database, logBytes: log },
  };
}

const describe = (index: number, { perSecond, p99, memory }: Omit<Interval, 'seconds'>): string =>
  `${index}/${INTERVALS}: ${Math.round(perSecond)}/s, p99 ${p99.toFixed(1)} ms, ${Math.round(memory / 2 ** 20)} MiB`;

export async function measureSoak(settings: SoakSettings, print: (line: string) => void): Promise<Soak> {
  const testbed = new Testbed();
  try {
    const server = settings.database === 'PostgreSQL' ? await testbed.startDatabase() : undefined;
    if (settings.database === 'PostgreSQL' && server === undefined)
      throw new Error('there is no PostgreSQL on this machine');
    const at = server && { address: await server.newDatabase('vault'), server };
    const { service, target } = await testbed.startService(settings.database, at);
    const sizes: Sizes = async () => ({
      database: at === undefined ? service.databaseBytes : await at.server.bytesOf(at.address),
      log: at === undefined ? service.logBytes : 0,
    });
    await testbed.connect([target], CONNECTIONS);
    // The compiler of the code is still at work in the first seconds.
    await testbed.run(target, MIX, { seconds: CAPACITY_SECONDS / 2 });
    const { perSecond: capacity } = await testbed.run(target, MIX, { seconds: CAPACITY_SECONDS });
    print(`${Math.round(capacity)} requests a second; ${SHARE * 100} % of them for ${settings.minutes} minutes`);
    const intervals: Interval[] = [];
    const length = (settings.minutes * 60) / INTERVALS;
    let problem: string | undefined;
    try {
      for (let index = 1; index <= INTERVALS; index++) {
        const interval = await measureInterval(testbed, target, service, sizes, capacity * SHARE, length);
        intervals.push({ seconds: index * length, ...interval });
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
