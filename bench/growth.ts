import { measureRandomPages } from './disk.ts';
import {
  type DatabaseName,
  type Filling,
  type Growth,
  type GrowthFigure,
  type GrowthSettings,
  type Measured,
  median,
} from './figures.ts';
import { FILLED_BY, type Request, requestNamed } from './requests.ts';
import { type Round, type Target, Testbed } from './testbed.ts';

/** Vaults of different sizes side by side: what a vault that has grown does beside an empty one, in the same rounds. */
const MEASURED = [
  'tokenize 1 card, scheme 1',
  'tokenize 1 card, scheme 7',
  'tokenize 100 cards, scheme 7',
  'inspect a token',
];
const CONNECTIONS = 64;
/** A vault is filled in parts; tokens of each part are inspected later, so that reads go to all of it. */
const PARTS = 20;
const TOKENS_OF_PART = 200;
const READ = PARTS * TOKENS_OF_PART;
const FILLING_SECONDS = 6 * 3600;
const DISK_SECONDS = 20;
/** A larger log, as the guide to scaling recommends: with the default most of the time is spent on checkpoints. */
const POSTGRES_SETTINGS = { max_wal_size: '16GB', shared_buffers: '2GB' };

interface Vault {
  readonly database: DatabaseName;
  readonly tokens: number;
  readonly target: Target;
  readonly bytes: () => Promise<number>;
  readonly tidy: () => Promise<void>;
  /** Bytes that the service has written so far; undefined where another process writes. */
  readonly written: () => number | undefined;
}

interface WritingRound extends Round {
  /** Bytes a second. */
  readonly written: number | undefined;
}

async function runRound(
  testbed: Testbed,
  { target, written }: Vault,
  request: Request,
  seconds: number,
): Promise<WritingRound> {
  const before = written();
  const round = await testbed.run(target, request, { seconds });
  const after = written();
  return { ...round, written: before === undefined || after === undefined ? undefined : (after - before) / seconds };
}

async function fillVault(testbed: Testbed, vault: Vault, print: (line: string) => void): Promise<Filling> {
  const { target, database, tokens } = vault;
  const request = FILLED_BY.tokens;
  const { cards = 1 } = request;
  const emptyBytes = await vault.bytes();
  await testbed.connect([target], CONNECTIONS);
  const start = performance.now();
  const cpu = target.cpu() + target.databaseCpu();
  for (let part = 1; part <= PARTS; part++) {
    const atMost = Math.ceil((tokens / PARTS - TOKENS_OF_PART) / cards);
    if (atMost > 0) await testbed.run(target, request, { seconds: FILLING_SECONDS, atMost });
    await testbed.fill(target, 'tokens', 'usual', part * TOKENS_OF_PART);
    const perSecond = Math.round((tokens * part) / PARTS / ((performance.now() - start) / 1000));
    print(`${target.name}: ${Math.round((part / PARTS) * 100)} %, ${perSecond} cards a second`);
  }
  return {
    ...{ database, tokens, cardsPerSecond: tokens / ((performance.now() - start) / 1000) },
    cpu: (target.cpu() + target.databaseCpu() - cpu) / tokens,
    bytes: (await vault.bytes()) - emptyBytes,
  };
}

/** Each request in rounds at all vaults of a database, in turns. */
async function measureVaults(
  testbed: Testbed,
  vaults: readonly Vault[],
  settings: GrowthSettings,
): Promise<GrowthFigure[]> {
  const { rounds, seconds } = settings;
  const figures: GrowthFigure[] = [];
  for (const name of MEASURED) {
    const request = requestNamed(name);
    await testbed.connect(
      vaults.map(({ target }) => target),
      CONNECTIONS,
    );
    const measured = vaults.map((vault) => ({ ...vault, rounds: [] as WritingRound[] }));
    for (const { target } of measured) await testbed.run(target, request, { seconds });
    for (let round = 0; round < rounds; round++)
      for (let turn = 0; turn < measured.length; turn++) {
        const vault = measured[(turn + round) % measured.length];
        if (vault !== undefined) vault.rounds.push(await runRound(testbed, vault, request, seconds));
      }
    const [empty] = measured;
    for (const { database, tokens, rounds: own } of measured) {
      const beside = (value: (round: Round) => number): number =>
        median(own.map((round, index) => value(round) / value(empty?.rounds[index] as Round)));
      const of = (value: (round: WritingRound) => number): number => median(own.map(value));
      figures.push({
        ...{ database, request: name, tokens, perSecond: of(({ perSecond }) => perSecond) },
        ...{ p50: of(({ p50 }) => p50), p99: of(({ p99 }) => p99), rate: beside(({ perSecond }) => perSecond) },
        cpuRatio: beside(({ cpu, databaseCpu }) => cpu + databaseCpu),
        ...(database === 'SQLite' && { written: of(({ written = Number.NaN }) => written) }),
      });
    }
  }
  return figures;
}

/** Keeps the figures of the databases that were not measured this time. */
export function withEarlier(growth: Measured<Growth>, last: Measured<Growth> | undefined): Measured<Growth> {
  const { databases } = growth.settings;
  const isLeft = ({ database }: { readonly database: DatabaseName }): boolean => !databases.includes(database);
  const earlier = [last, last?.before].find((each) => each?.figures.some(isLeft));
  if (earlier === undefined) return growth;
  const { conditions, postgres, fillings, figures } = earlier;
  const before = { conditions, fillings: fillings.filter(isLeft), figures: figures.filter(isLeft) };
  return { ...growth, before: postgres === undefined ? before : { ...before, postgres } };
}

export async function measureGrowth(settings: GrowthSettings, print: (line: string) => void): Promise<Growth> {
  const testbed = new Testbed();
  try {
    const fillings: Filling[] = [];
    const figures: GrowthFigure[] = [];
    const server = settings.databases.includes('PostgreSQL')
      ? await testbed.startDatabase(POSTGRES_SETTINGS)
      : undefined;
    for (const database of settings.databases) {
      if (database === 'PostgreSQL' && server === undefined) continue;
      const vaults: Vault[] = [];
      for (const tokens of [0, ...settings.sizes]) {
        const at =
          database === 'SQLite' || server === undefined ? undefined : await server.newDatabase(`vault_${tokens}`);
        const { service, target } = await testbed.startService(
          `${database}, ${tokens} tokens`,
          at === undefined || server === undefined ? undefined : { address: at, server },
        );
        const bytes = async (): Promise<number> =>
          at === undefined || server === undefined ? service.databaseBytes : server.bytesOf(at);
        const tidy = async (): Promise<void> => (at === undefined ? undefined : server?.tidy(at));
        const written = (): number | undefined => (at === undefined ? service.writtenBytes : undefined);
        vaults.push({ database, tokens, target, bytes, tidy, written });
      }
      for (const vault of vaults) {
        if (vault.tokens > 0) fillings.push(await fillVault(testbed, vault, print));
        else {
          await testbed.connect([vault.target], CONNECTIONS);
          await testbed.fill(vault.target, 'tokens', 'usual', READ);
        }
        await vault.tidy();
      }
      print(`${database}: measuring`);
      figures.push(...(await measureVaults(testbed, vaults, settings)));
      await testbed.stopServices();
    }
    const [largest = 0] = fillings.flatMap(({ database, bytes }) => (database === 'SQLite' ? bytes : [])).toReversed();
    print('the disk alone');
    const diskPages = measureRandomPages(testbed.directory, largest, DISK_SECONDS);
    return { settings, ...(server !== undefined && { postgres: server.release }), fillings, figures, diskPages };
  } finally {
    await testbed.stop();
  }
}
