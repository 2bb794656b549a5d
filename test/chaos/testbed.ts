import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseConfig } from '../../src/config.ts';
import { openCore } from '../../src/core.ts';
import { systemClocks } from '../fixtures/clock.ts';
import { SeededRandom } from '../simulation/seeded-random.ts';
import { Cluster, type Row } from './cluster.ts';
import { ExpectedRecords } from './expected-records.ts';
import { Ledger } from './ledger.ts';
import { NetworkLink } from './network-link.ts';
import { Node } from './node.ts';
import { SETTINGS } from './payment-requests.ts';
import { RetryingClient } from './retrying-client.ts';

const NODES = 2;
const BUSY_MS = 5000;
const OPERATOR = { actor: { type: 'operator' as const, name: 'chaos' } };

/** `sqlite`: one node alone, with a database in its folder. */
export interface TestbedOptions {
  readonly database: 'postgres' | 'sqlite';
  readonly diskMegabytes: number | undefined;
  readonly seed: number;
  /** Request threads of each node. */
  readonly workers: number;
}

/** Everything that a run needs, set up and whole. */
export class Testbed {
  readonly seeded: SeededRandom;
  readonly nodes: readonly Node[];
  readonly cluster: Cluster | undefined;
  /** The links of each node, to each server. */
  readonly links: readonly (readonly NetworkLink[])[];
  readonly ledger = new Ledger();
  readonly expectedRecords: ExpectedRecords;
  readonly retryingClient: RetryingClient;
  /** The account of all records. */
  readonly key: string;
  readonly hasDisks: boolean;
  readonly #directory: string;

  private constructor(
    parts: Pick<Testbed, 'seeded' | 'nodes' | 'cluster' | 'links' | 'key' | 'hasDisks'>,
    directory: string,
  ) {
    this.seeded = parts.seeded;
    this.nodes = parts.nodes;
    this.cluster = parts.cluster;
    this.links = parts.links;
    this.key = parts.key;
    this.hasDisks = parts.hasDisks;
    this.#directory = directory;
    this.expectedRecords = new ExpectedRecords(this.seeded.branch());
    this.retryingClient = new RetryingClient(this.nodes, this.ledger, this.key, this.seeded.branch());
  }

  static async set({ database, diskMegabytes, seed, workers }: TestbedOptions): Promise<Testbed> {
    const directory = mkdtempSync(join(tmpdir(), 'cardvault-chaos-'));
    process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
    const cluster = database === 'sqlite' ? undefined : await Cluster.start({ diskMegabytes });
    const links: NetworkLink[][] = [];
    const nodes: Node[] = [];
    try {
      const rootKey = { CARDVAULT_ROOT_KEY_FILE: join(directory, 'root.key') };
      for (let number = 1; number <= (cluster === undefined ? 1 : NODES); number++) {
        const own = await Promise.all((cluster?.ports ?? []).map((port) => NetworkLink.to(port)));
        links.push(own);
        const url = cluster?.address(own.map(({ port }) => port)) ?? `sqlite:${join(directory, FILE)}`;
        const variables = { ...rootKey, CARDVAULT_DATABASE_URL: url, CARDVAULT_WORKERS: String(workers) };
        nodes.push(new Node(number, join(directory, `node-${number}`), variables));
      }
      const key = await newKey(nodes[0] as Node);
      await Promise.all(nodes.map((node) => node.start()));
      const hasDisks = cluster !== undefined && diskMegabytes !== undefined;
      return new Testbed({ seeded: new SeededRandom(seed), nodes, cluster, links, key, hasDisks }, directory);
    } catch (error) {
      await clear(nodes, links, cluster, directory);
      throw error;
    }
  }

  /** A statement of SQL, run beside the nodes; its rows. */
  async query(sql: string): Promise<Row[]> {
    if (this.cluster !== undefined) return this.cluster.query(sql);
    const database = new DatabaseSync(join(this.#directory, FILE), { timeout: BUSY_MS });
    try {
      return database.prepare(sql).all();
    } finally {
      database.close();
    }
  }

  clear(): Promise<void> {
    return clear(this.nodes, this.links, this.cluster, this.#directory);
  }
}

const FILE = 'cardvault.db';

async function clear(
  nodes: readonly Node[],
  links: readonly (readonly NetworkLink[])[],
  cluster: Cluster | undefined,
  directory: string,
): Promise<void> {
  for (const node of nodes) {
    node.resume();
    await node.kill();
  }
  for (const link of links.flat()) link.close();
  await cluster?.stop();
  if (existsSync(directory)) rmSync(directory, { recursive: true, force: true });
}

/** A new vault with an account that may pay; returns its key. */
async function newKey({ directory, variables }: Node): Promise<string> {
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
