import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import type { Tenant } from '../src/kernel/environment.ts';
import type { Pan } from '../src/kernel/pan.ts';
import { AccountNumbers, type StoredUnit } from '../src/storage/account-numbers.ts';
import type { Database, UnitOfWork } from '../src/storage/database.ts';
import { Connection } from '../src/storage/sqlite/connection.ts';
import { writeGroup } from '../src/storage/sqlite/group-writer.ts';
import type { Scheme } from '../src/vault/scheme.ts';
import { Vault } from '../src/vault/vault.ts';
import { startTestService, type TestService } from '../test/fixtures/test-service.ts';
import { inTransaction } from '../test/fixtures/transactions.ts';
import { DatabaseServer } from './database-server.ts';
import { randomPan } from './requests.ts';

/**
 * Measures what a card costs: bytes in SQLite and in PostgreSQL, and the time of SQLite's writer. Run:
 * node bin/cardvault.mjs --run bench/storage-size.ts
 */
const CARDS = 20_000;
const CARDS_PER_UNIT = 100;

interface Variant {
  readonly name: string;
  readonly scheme: Scheme;
  readonly tags: readonly string[];
}

const VARIANTS: readonly Variant[] = [
  { name: 'scheme 7, no tag', scheme: 7, tags: [] },
  { name: 'scheme 7, 1 tag', scheme: 7, tags: ['web'] },
  { name: 'scheme 1, no tag', scheme: 1, tags: [] },
];

/** How cards come to the writer: units in a group, cards in a unit, and the number of groups that are measured. */
const GROUPS = [
  { name: 'groups of 32', units: 32, cards: 1, groups: 200 },
  { name: 'groups of 128', units: 128, cards: 1, groups: 60 },
  { name: 'units of 100 cards', units: 1, cards: CARDS_PER_UNIT, groups: 60 },
];
/** The fraction of the groups whose time is not counted. */
const WARM_UP = 0.2;

/** Returns the unit that tokenizes this many new cards. It is not committed. */
async function prepare(service: TestService, tenant: Tenant, { scheme, tags }: Variant, cards: number) {
  const { core } = service;
  let prepared: UnitOfWork = { writes: [] };
  const database: Database = Object.assign(Object.create(core.database) as Database, {
    commit: async (unit: UnitOfWork) => {
      prepared = unit;
      return { committed: true };
    },
  });
  await inTransaction({ database, clock: core.clock }, (transaction) =>
    new Vault(core).tokenize(transaction, tenant, {
      cards: Array.from({ length: cards }, () => ({
        pan: randomPan() as Pan,
        name: 'Ana Lopez',
        expiry: { month: '12', year: '2030' },
      })),
      tags,
      format: { scheme, bin: 6 },
      persistent: false,
      creator: { id: 'key_00000000000000', name: 'till' },
    }),
  );
  return prepared;
}

/** Returns the bytes of each table and index that a token writes to. */
function sizesInSqlite(file: string): [name: string, bytes: number][] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = database
      .prepare("select name, sum(pgsize) as bytes from dbstat where name like 'token%' group by name order by name")
      .all();
    return rows.map((row) => [String(row['name']), Number(row['bytes'])]);
  } finally {
    database.close();
  }
}

async function sizesInPostgres(address: string): Promise<[name: string, bytes: number][]> {
  const client = new Client({ connectionString: address });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string; bytes: string }>(
      "select relname as name, pg_relation_size(oid) as bytes from pg_class where relname like 'token%' order by relname",
    );
    return rows.map(({ name, bytes }) => [name, Number(bytes)]);
  } finally {
    await client.end();
  }
}

function report(name: string, sizes: readonly (readonly [name: string, bytes: number])[]): void {
  const total = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
  const parts = sizes.map(([table, bytes]) => `${table} ${Math.round(bytes / CARDS)}`).join(', ');
  process.stdout.write(`${name}: ${Math.round(total / CARDS)} bytes a card (${parts})\n`);
}

/** Returns the groups of units that the writer gets, for each kind of group. */
async function prepareGroups(service: TestService, tenant: Tenant, variant: Variant): Promise<StoredUnit[][][]> {
  const numbers = new AccountNumbers((sql, ...values) => service.core.database.readStored(sql, ...values));
  const prepared: StoredUnit[][][] = [];
  for (const { units, cards, groups } of GROUPS) {
    const created: StoredUnit[][] = [];
    for (let group = 0; group < groups; group++) {
      const gathered: StoredUnit[] = [];
      for (let unit = 0; unit < units; unit++)
        gathered.push(await numbers.convert(await prepare(service, tenant, variant, cards)));
      created.push(gathered);
    }
    prepared.push(created);
  }
  return prepared;
}

/** Returns the median CPU time of a card in the writer in microseconds, its flush included, for each kind of group. */
function measureWriter(prepared: readonly StoredUnit[][][], file: string): number[] {
  const connection = new Connection(file, { readOnly: false });
  try {
    return GROUPS.map(({ units, cards, groups }, index) => {
      const times = (prepared[index] ?? []).map((group) => {
        const before = process.cpuUsage();
        const results = writeGroup(connection, undefined, group);
        const { user, system } = process.cpuUsage(before);
        if (!results.every((result) => 'committed' in result && result.committed))
          throw new Error('a unit was not committed');
        return user + system;
      });
      const counted = times.slice(Math.floor(groups * WARM_UP)).toSorted((one, other) => one - other);
      return (counted[Math.floor(counted.length / 2)] ?? Number.NaN) / (units * cards);
    });
  } finally {
    connection.close();
  }
}

/** Runs with a folder of its own, which is removed with all that is left in it. */
async function withFolder<T>(measure: (directory: string) => Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-size-'));
  try {
    return await measure(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Runs on a service that has the cards of a variant. */
async function withCards<T>(
  options: Parameters<typeof startTestService>[0],
  variant: Variant,
  measure: (service: TestService, tenant: Tenant) => Promise<T>,
): Promise<T> {
  const service = await startTestService(options);
  try {
    const tenant: Tenant = { account: await service.newAccount(), environment: 'sandbox' };
    for (let created = 0; created < CARDS; created += CARDS_PER_UNIT)
      await service.core.database.commit(await prepare(service, tenant, variant, CARDS_PER_UNIT));
    return await measure(service, tenant);
  } finally {
    await service.stop();
  }
}

const measureInSqlite = (variant: Variant): Promise<void> =>
  withFolder(async (directory) => {
    const file = join(directory, 'cardvault.db');
    const prepared = await withCards({ directory }, variant, async (service, tenant) => {
      await service.core.database.scrub();
      report(`SQLite, ${variant.name}`, sizesInSqlite(file));
      return prepareGroups(service, tenant, variant);
    });
    const times = measureWriter(prepared, file);
    const costs = GROUPS.map(({ name }, index) => `${name} ${times[index]?.toFixed(1)}`).join(', ');
    process.stdout.write(`SQLite, ${variant.name}: CPU microseconds a card in the writer: ${costs}\n`);
  });

async function measureInPostgres(variant: Variant): Promise<void> {
  const server = await DatabaseServer.start();
  if ('why' in server) {
    process.stdout.write(`PostgreSQL: not measured: ${server.why}\n`);
    return;
  }
  try {
    await withFolder((directory) =>
      withCards({ directory, variables: { CARDVAULT_DATABASE_URL: server.address } }, variant, async () =>
        report(`PostgreSQL ${server.release}, ${variant.name}`, await sizesInPostgres(server.address)),
      ),
    );
  } finally {
    await server.stop();
  }
}

for (const variant of VARIANTS) {
  await measureInSqlite(variant);
  await measureInPostgres(variant);
}
