import { join } from 'node:path';
import type { Inserts, InsertsOrder, InsertsReport, Store } from './bare-inserts.ts';
import { Child } from './child.ts';
import { DatabaseServer, type DatabaseUsage } from './database-server.ts';
import type { Load, LoadOrder, LoadReport } from './load.ts';
import type { Plan } from './requests.ts';
import type { DatabaseLayout } from './scenario.ts';
import type { Ready, Usage } from './server.ts';
import { Service } from './service.ts';
import type { Signatures, SignerOrder, SignerReport } from './signer.ts';

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
  /** The number of units that one request counts. */
  readonly each: number;
  readonly p50: number;
  readonly p99: number;
  /** CPU microseconds of the server for each request: all threads, and the main thread alone. */
  readonly cpu: number;
  readonly main: number;
  readonly rss: number;
  /** CPU microseconds of the load for each request; where there is no load, absent. */
  readonly load?: number;
  /** Groups of writes sent to the database, with their requests or rows; absent: unknown. */
  readonly groups?: { readonly perSecond: number; readonly size: number };
  /** CPU microseconds of PostgreSQL's processes for each request. */
  readonly database?: number;
}

/** Resources used so far at a layout: by all its nodes, and by their database server if there is one. */
interface Used extends Usage {
  readonly server: DatabaseUsage | undefined;
}

/** All processes of the benchmark, and one round of each kind. */
export class Bench {
  readonly #settings: Settings;
  readonly #directory: string;
  readonly #load = new Child<LoadOrder, LoadReport>('load.ts', []);
  readonly #signer = new Child<SignerOrder, SignerReport>('signer.ts', []);
  readonly #inserts = new Child<InsertsOrder, InsertsReport>('bare-inserts.ts', []);
  readonly #nodes = new Map<DatabaseLayout, Service[]>();
  /** One for each node; the first node of a layout holds the records to read. */
  readonly #ready = new Map<DatabaseLayout, readonly Ready[]>();
  #database: DatabaseServer | undefined;

  constructor(settings: Settings, directory: string) {
    this.#settings = settings;
    this.#directory = directory;
  }

  /** The node over SQLite. */
  async start(): Promise<void> {
    const service = this.#service('sqlite', '', this.#settings.rows);
    this.#nodes.set('sqlite', [service]);
    const ready = await service.ready();
    this.#ready.set('sqlite', [ready]);
    this.#nodes.set('bare', [service]);
    this.#ready.set('bare', [{ ...ready, port: ready.barePort }]);
  }

  /** Starts the nodes over PostgreSQL; returns the reason when there are none. */
  async startPostgres(): Promise<string | undefined> {
    const database = await DatabaseServer.start();
    if ('why' in database) return database.why;
    this.#database = database;
    const first = this.#service('postgres', database.address, this.#settings.rows);
    this.#nodes.set('postgres', [first]);
    const ready = await first.ready();
    // In the folder of the first, where the root key is.
    const second = this.#service('postgres', database.address, 'joins');
    this.#nodes.set('two nodes', [first, second]);
    this.#ready.set('postgres', [ready]);
    this.#ready.set('two nodes', [ready, await second.ready()]);
    return undefined;
  }

  /** The release of PostgreSQL; undefined without one. */
  get databaseRelease(): string | undefined {
    return this.#database?.release;
  }

  ready(layout: DatabaseLayout): Ready {
    const [ready] = this.#ready.get(layout) ?? [];
    if (ready === undefined) throw new Error(`nothing was started: ${layout}`);
    return ready;
  }

  /** Opened again for each scenario, because a node closes unused connections. Those of a layout are spread over its nodes. */
  async connect(layouts: readonly DatabaseLayout[]): Promise<void> {
    const nodesOf = (layout: DatabaseLayout) => {
      const nodes = this.#ready.get(layout) ?? [];
      const connections = Math.ceil(this.#settings.connections / nodes.length);
      return nodes.map(({ port, authority }) => ({ port, authority, connections }));
    };
    const nodes = Object.fromEntries(layouts.map((layout) => [layout, nodesOf(layout)]));
    await this.#load.send({ kind: 'connect', layouts: nodes });
  }

  prepare(layout: DatabaseLayout, plan: Omit<Plan, 'secret'>): Promise<LoadReport> {
    return this.#load.send({ kind: 'prepare', plan: { ...plan, secret: this.ready(layout).secret } });
  }

  async configure(layout: DatabaseLayout, settings: Readonly<Record<string, string>>): Promise<void> {
    await this.#nodes.get(layout)?.[0]?.configure(settings);
  }

  async usage(layout: DatabaseLayout): Promise<Used> {
    const nodes = await Promise.all((this.#nodes.get(layout) ?? []).map((node) => node.usage()));
    const sum = (value: (usage: Usage) => number): number => nodes.reduce((total, usage) => total + value(usage), 0);
    return {
      cpu: sum(({ cpu }) => cpu),
      main: sum(({ main }) => main),
      rss: sum(({ rss }) => rss),
      groups: sum(({ groups }) => groups),
      server: layout === 'sqlite' || layout === 'bare' ? undefined : await this.#database?.usage(),
    };
  }

  async round(layout: DatabaseLayout, name: string, seconds: number, each: number): Promise<Round> {
    const before = await this.usage(layout);
    const load = await this.#run(layout, name, seconds);
    const after = await this.usage(layout);
    const groups = (after.server ?? after).groups - (before.server ?? before).groups;
    const database = (after.server?.cpu ?? Number.NaN) - (before.server?.cpu ?? Number.NaN);
    return {
      perSecond: (load.requests * each) / load.seconds,
      each,
      p50: load.p50,
      p99: load.p99,
      cpu: (after.cpu - before.cpu) / load.requests,
      main: (after.main - before.main) / load.requests,
      rss: after.rss,
      load: load.cpu / load.requests,
      ...(groups > 0 && { groups: { perSecond: groups / load.seconds, size: load.requests / groups } }),
      ...(Number.isFinite(database) && { database: database / load.requests }),
    };
  }

  /** One round of bare signing. */
  async signatures(seconds: number): Promise<Round> {
    const report = await this.#signer.send({ milliseconds: seconds * 1000 });
    if (!('signatures' in report)) throw new Error('the signer did not run');
    const { count, seconds: took, p50, p99, cpu, main, rss }: Signatures = report.signatures;
    return { perSecond: count / took, each: 1, p50, p99, cpu: cpu / count, main: main / count, rss };
  }

  /** One round of bare inserts. */
  async inserts(kind: Store['kind'], size: number, seconds: number): Promise<Round> {
    const before = await this.#database?.usage();
    const order = { store: this.#store(kind), rowsPerGroup: size, milliseconds: seconds * 1000 };
    const report = await this.#inserts.send(order);
    if (!('inserts' in report)) throw new Error('the inserts did not run');
    const after = await this.#database?.usage();
    const { rows, groups, seconds: took, p50, p99, cpu, main, rss }: Inserts = report.inserts;
    const database = kind === 'postgres' ? (after?.cpu ?? Number.NaN) - (before?.cpu ?? Number.NaN) : Number.NaN;
    return {
      ...{ perSecond: rows / took, each: 1, p50, p99, cpu: cpu / rows, main: main / rows, rss },
      groups: { perSecond: groups / took, size },
      ...(Number.isFinite(database) && { database: database / rows }),
    };
  }

  async stop(): Promise<void> {
    await this.#load.send({ kind: 'disconnect' });
    for (const node of this.#services()) await node.stop();
  }

  /** Whatever still runs. */
  async end(): Promise<void> {
    for (const child of [...this.#services(), this.#load, this.#signer, this.#inserts]) child.kill();
    await this.#database?.stop();
  }

  #services(): Set<Service> {
    return new Set([...this.#nodes.values()].flat());
  }

  #service(folder: string, database: string, rows: number | 'joins'): Service {
    const directory = join(this.#directory, folder);
    return new Service({ directory, database, rows, profiles: this.#settings.profiles });
  }

  #store(kind: Store['kind']): Store {
    if (kind === 'postgres') return { kind, service: this.#database?.address ?? '' };
    const [service, own] = [join(this.#directory, 'sqlite', 'cardvault.db'), join(this.#directory, 'inserts.db')];
    return { kind, service, own };
  }

  async #run(layout: DatabaseLayout, name: string, seconds: number): Promise<Load> {
    const report = await this.#load.send({ kind: 'run', layout, name, milliseconds: seconds * 1000 });
    if (!('load' in report) || report.load === undefined) throw new Error('the load did not run');
    const { load } = report;
    // A refusal is quick: with one of them among the responses the figures would flatter.
    if (load.failures > 0) throw new Error(`${name}: ${load.failures} of ${load.requests} responses were failures`);
    return load;
  }
}
