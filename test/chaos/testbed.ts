import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { systemClocks } from '../fixtures/clock.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';
import { Cluster } from './cluster.ts';
import type { DatabaseCluster, Row } from './database-cluster.ts';
import { ExpectedRecords } from './expected-records.ts';
import { Ledger } from './ledger.ts';
import { NetworkLink } from './network-link.ts';
import { Node } from './node.ts';
import { PatroniCluster } from './patroni.ts';
import { SETTINGS } from './payment-requests.ts';
import { Pooler } from './pooler.ts';
import { RepmgrCluster } from './repmgr.ts';
import { RetryingClient } from './retrying-client.ts';

const NODES = 2;
const BUSY_MS = 5000;
const OPERATOR = { actor: { type: 'operator' as const, name: 'chaos' } };

export type Manager = 'patroni' | 'repmgr';

/** `sqlite`: one node alone, with a database in its folder. */
export interface TestbedOptions {
  readonly database: 'postgres' | 'sqlite';
  /** The program that manages the servers; absent: the testbed does. */
  readonly manager?: Manager;
  /** `pgbouncer`: nodes reach each server through PgBouncer. */
  readonly pooler?: 'pgbouncer';
  readonly diskMegabytes: number | undefined;
  readonly seed: number;
  /** Request threads of each node. */
  readonly workers: number;
  /** The command of the program that makes the vault and that nodes run at first; absent: this one. */
  readonly bin?: string;
}

/** Everything that a run needs, set up and whole. */
export class Testbed {
  readonly seeded: SeededRandom;
  readonly nodes: readonly Node[];
  readonly cluster: DatabaseCluster | undefined;
  /** One before each server; none without PgBouncer. */
  readonly poolers: readonly Pooler[];
  /** The links of each node, to each server. */
  readonly links: readonly (readonly NetworkLink[])[];
  readonly ledger = new Ledger();
  readonly expectedRecords: ExpectedRecords;
  readonly retryingClient: RetryingClient;
  /** The account of all records. */
  readonly key: string;
  readonly hasDisks: boolean;
  /** Request threads of each node. */
  readonly workers: number;
  readonly #directory: string;

  private constructor(
    parts: Pick<Testbed, 'seeded' | 'nodes' | 'cluster' | 'poolers' | 'links' | 'key' | 'hasDisks' | 'workers'>,
    directory: string,
  ) {
    this.seeded = parts.seeded;
    this.nodes = parts.nodes;
    this.cluster = parts.cluster;
    this.poolers = parts.poolers;
    this.links = parts.links;
    this.key = parts.key;
    this.hasDisks = parts.hasDisks;
    this.workers = parts.workers;
    this.#directory = directory;
    this.expectedRecords = new ExpectedRecords(this.seeded.branch());
    this.retryingClient = new RetryingClient(this.nodes, this.ledger, this.key, this.seeded.branch());
  }

  static async set(options: TestbedOptions): Promise<Testbed> {
    const { diskMegabytes, seed, workers } = options;
    const directory = mkdtempSync(join(tmpdir(), 'cardvault-chaos-'));
    process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
    const cluster = await startCluster(options);
    const links: NetworkLink[][] = [];
    const nodes: Node[] = [];
    const poolers: Pooler[] = [];
    const parts = { nodes, links, cluster, poolers, directory };
    try {
      const rootKey = { CARDVAULT_ROOT_KEY_FILE: join(directory, 'root.key') };
      if (options.pooler !== undefined) poolers.push(...(await startPoolers(cluster)));
      const ports = poolers.length > 0 ? poolers.map(({ port }) => port) : (cluster?.servers.ports ?? []);
      for (let number = 1; number <= (cluster === undefined ? 1 : NODES); number++) {
        const own = await Promise.all(ports.map((port) => NetworkLink.to(port)));
        links.push(own);
        const url = cluster?.servers.address(own.map(({ port }) => port)) ?? `sqlite:${join(directory, FILE)}`;
        const variables = { ...rootKey, CARDVAULT_DATABASE_URL: url, CARDVAULT_WORKERS: String(workers) };
        nodes.push(new Node(number, join(directory, `node-${number}`), variables, options.bin));
      }
      const key = await newKey(nodes[0] as Node);
      await Promise.all(nodes.map((node) => node.start()));
      const hasDisks = cluster !== undefined && diskMegabytes !== undefined;
      const seeded = new SeededRandom(seed);
      return new Testbed({ seeded, nodes, cluster, poolers, links, key, hasDisks, workers }, directory);
    } catch (error) {
      await clear(parts);
      throw error;
    }
  }

  /** A statement of SQL, run beside the nodes; its rows. */
  async query(sql: string): Promise<Row[]> {
    if (this.cluster !== undefined) return this.cluster.servers.query(sql);
    const database = new DatabaseSync(join(this.#directory, FILE), { timeout: BUSY_MS });
    try {
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  }

  clear(): Promise<void> {
    const { nodes, links, cluster, poolers } = this;
    return clear({ nodes, links, cluster, poolers, directory: this.#directory });
  }
}

const FILE = 'cardvault.db';

async function startCluster({
  database,
  manager,
  diskMegabytes,
}: TestbedOptions): Promise<DatabaseCluster | undefined> {
  if (database === 'sqlite') return undefined;
  if (manager === 'patroni') return PatroniCluster.start();
  return manager === 'repmgr' ? RepmgrCluster.start() : Cluster.start({ diskMegabytes });
}

/** Nodes log in at PgBouncer, and PgBouncer at the server, with the password of the database's address. */
async function startPoolers(cluster: DatabaseCluster | undefined): Promise<Pooler[]> {
  if (cluster === undefined) return [];
  const { ports } = cluster.servers;
  const { username: name, password } = new URL(cluster.servers.address(ports.slice(0, 1)));
  return Promise.all(ports.map((port) => Pooler.start(port, [{ name, password }])));
}

/** The parts that a testbed has started. */
interface Started {
  readonly nodes: readonly Node[];
  readonly links: readonly (readonly NetworkLink[])[];
  readonly cluster: DatabaseCluster | undefined;
  readonly poolers: readonly Pooler[];
  readonly directory: string;
}

async function clear({ nodes, links, cluster, poolers, directory }: Started): Promise<void> {
  for (const node of nodes) {
    node.resume();
    await node.kill();
  }
  for (const link of links.flat()) link.close();
  for (const pooler of poolers) await pooler.stop();
  await cluster?.stop();
  if (existsSync(directory)) rmSync(directory, { recursive: true, force: true });
}

/** A new vault with an account that may pay; returns its key. */
async function newKey(node: Node): Promise<string> {
  if (node.bin !== undefined) return newKeyByCommands(node);
  const { directory, variables } = node;
  const core = await openCore(parseConfig({ ...variables, CARDVAULT_DATA_DIR: directory }), systemClocks);
  try {
    const account = (
      await core.transactions.run({ origin: OPERATOR }, (transaction) => core.accounts.create(transaction, 'Chaos'))
    ).id;
    const request = { processor: 'simulator', settings: SETTINGS, force: false };
    await core.transactions.run({ origin: OPERATOR }, (transaction) =>
      core.activations.enable(transaction, { account, environment: 'sandbox' }, request),
    );
    const allowList = [{ cidr: '127.0.0.1', note: '' }];
    const traits = { name: 'chaos', description: '', permissions: [], allowList, expiresAt: undefined };
    return (
      await core.transactions.run({ origin: OPERATOR }, (transaction) =>
        core.accounts.createKey(transaction, account, 'sandbox', traits),
      )
    ).secret;
  } finally {
    await core.close();
  }
}

/** The same by the commands of another program. */
async function newKeyByCommands(node: Node): Promise<string> {
  const run = async (...args: readonly string[]) => {
    const { code, out, err } = await node.command(...args, '--json');
    if (code !== 0) throw new Error(`${args.join(' ')}: ${code} ${out}${err}`);
    return JSON.parse(out);
  };
  await run('migrate');
  const { id } = await run('account', 'create', '--name', 'Chaos');
  const tenant = ['--account', id, '--environment', 'sandbox'];
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['--setting', `${name}=${value}`]);
  await run('payments', 'enable', ...tenant, '--processor', 'simulator', ...settings);
  return (await run('key', 'create', ...tenant, '--name', 'chaos', '--ip', '127.0.0.1')).key;
}
