import { randomBytes } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { encodeArray, typeOf } from '../src/storage/postgres/encode-array.ts';
import { toSlot } from '../src/vault/slot.ts';
import { randomPan } from './requests.ts';

/**
 * The most that a database can make of the service's writes: a process that only inserts rows of the shape of
 * tokens, in groups, each group one durable transaction. The rows go into a table of the same columns and indexes.
 */
export interface InsertsOrder {
  readonly store: Store;
  readonly rowsPerGroup: number;
  readonly milliseconds: number;
}

/** `service`: the address or file of the service's database; `own`: the file of the one to write to. */
export type Store =
  | { readonly kind: 'postgres'; readonly service: string }
  | { readonly kind: 'sqlite'; readonly service: string; readonly own: string };

export interface Inserts {
  readonly rows: number;
  readonly groups: number;
  readonly seconds: number;
  /** Milliseconds, of a group. */
  readonly p50: number;
  readonly p99: number;
  /** CPU microseconds of all threads, and of the main thread alone. */
  readonly cpu: number;
  readonly main: number;
  readonly rss: number;
}

export type InsertsReport = { readonly inserts: Inserts } | { readonly error: string };

type Cell = string | number | Uint8Array | null;
type Line = Readonly<Record<string, Cell>>;

/** How rows get into a store; each lane writes a group at a time. */
interface Target {
  readonly sample: Line;
  readonly lanes: readonly ((rows: readonly (readonly Cell[])[]) => Promise<void>)[];
}

/** The number of connections that the service has for writing. */
const CONNECTIONS = 2;
const POOL = 1000;
const SQLITE_PRAGMAS = [
  'journal_mode = wal',
  'synchronous = full',
  'wal_autocheckpoint = 16000',
  'cache_size = -131072',
];

async function openPostgres(address: string): Promise<Target> {
  const clients = Array.from({ length: CONNECTIONS }, () => new Client({ connectionString: address }));
  for (const client of clients) await client.connect();
  const [first] = clients;
  await first?.query('create table bare_tokens (like tokens including all)');
  const found = await first?.query<Line>('select * from tokens limit 1');
  const sample = Object.fromEntries(
    // The driver pg returns values that may exceed a number as text.
    Object.entries(found?.rows[0] ?? {}).map(([name, value]) => [name, name === 'created_at' ? Number(value) : value]),
  );
  const columns = Object.keys(sample).filter((name) => sample[name] !== null);
  const kinds = columns.map((name) => typeOf(sample[name] as Exclude<Cell, null>));
  const sources = kinds.map((kind, index) => `$${index + 1}::${kind}[]`);
  const text = `insert into bare_tokens (${columns.join(', ')}) select * from unnest(${sources.join(', ')})
    on conflict do nothing`;
  const lanes = clients.map((client) => async (rows: readonly (readonly Cell[])[]) => {
    const values = kinds.map((kind, column) =>
      encodeArray(
        kind,
        rows.map((row) => row[column] ?? null),
      ),
    );
    await client.query({ name: 'insert', text, values });
  });
  return { sample, lanes };
}

function openSqlite({ service, own }: Store & { kind: 'sqlite' }): Target {
  const source = new DatabaseSync(service, { readOnly: true });
  const schema = source.prepare("select sql from sqlite_schema where tbl_name = 'tokens' and sql is not null").all();
  const sample = source.prepare('select * from tokens limit 1').get() as Line;
  source.close();
  const database = new DatabaseSync(own);
  for (const pragma of SQLITE_PRAGMAS) database.exec(`pragma ${pragma}`);
  for (const { sql } of schema) database.exec(String(sql));
  const columns = Object.keys(sample).filter((name) => sample[name] !== null);
  const values = columns.map(() => '?').join(', ');
  const insert = database.prepare(
    `insert into tokens (${columns.join(', ')}) values (${values}) on conflict do nothing`,
  );
  const lane = async (rows: readonly (readonly Cell[])[]): Promise<void> => {
    database.exec('begin immediate');
    for (const row of rows) insert.run(...row);
    database.exec('commit');
  };
  return { sample, lanes: [lane] };
}

const targets = new Map<Store['kind'], Promise<Target>>();

function targetFor(store: Store): Promise<Target> {
  let target = targets.get(store.kind);
  if (target === undefined) {
    target = store.kind === 'postgres' ? openPostgres(store.service) : Promise.resolve(openSqlite(store));
    targets.set(store.kind, target);
  }
  return target;
}

/** Rows like the sample, each under a slot of its own; what is sealed or a digest is random bytes. */
function rowMaker(sample: Line): () => Cell[] {
  const columns = Object.entries(sample).filter(([, value]) => value !== null);
  const bytes = new Map(
    columns.flatMap(([name, value]) =>
      value instanceof Uint8Array
        ? [[name, Array.from({ length: POOL }, () => randomBytes(value.length))] as const]
        : [],
    ),
  );
  let created = 0;
  return () => {
    created = (created + 1) % POOL;
    return columns.map(([name, value]) =>
      name === 'slot' ? (toSlot(randomPan()) ?? '') : (bytes.get(name)?.[created] ?? value),
    );
  };
}

async function run({ store, rowsPerGroup, milliseconds }: InsertsOrder): Promise<Inserts> {
  const { sample, lanes } = await targetFor(store);
  const row = rowMaker(sample);
  const latencies: number[] = [];
  const before = { all: process.cpuUsage(), main: process.threadCpuUsage() };
  const start = performance.now();
  const end = start + milliseconds;
  const writeOn = async (lane: Target['lanes'][number]): Promise<void> => {
    for (let at = performance.now(); at < end; ) {
      await lane(Array.from({ length: rowsPerGroup }, row));
      const now = performance.now();
      latencies.push(now - at);
      at = now;
    }
  };
  await Promise.all(lanes.map(writeOn));
  const seconds = (performance.now() - start) / 1000;
  const [all, main] = [process.cpuUsage(before.all), process.threadCpuUsage(before.main)];
  latencies.sort((one, other) => one - other);
  const at = (share: number): number => latencies[Math.floor((latencies.length - 1) * share)] ?? Number.NaN;
  return {
    rows: latencies.length * rowsPerGroup,
    groups: latencies.length,
    seconds,
    p50: at(0.5),
    p99: at(0.99),
    cpu: all.user + all.system,
    main: main.user + main.system,
    rss: process.memoryUsage.rss(),
  };
}

process.on('message', (order: InsertsOrder) => {
  run(order).then(
    (inserts) => process.send?.({ inserts } satisfies InsertsReport),
    (error: Error) => process.send?.({ error: error.message } satisfies InsertsReport),
  );
});
process.on('disconnect', () => process.exit(0));
