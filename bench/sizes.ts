import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseConfig } from '../src/config.ts';
import { openCore } from '../src/core.ts';
import type { Pan } from '../src/kernel/pan.ts';
import type { Scheme } from '../src/vault/scheme.ts';
import { Vault } from '../src/vault/vault.ts';
import { systemClocks } from '../test/fixtures/clock.ts';
import type { DatabaseServer } from './database-server.ts';
import type { Conditions } from './figures.ts';
import { PAN, panWriter } from './requests.ts';
import { settingsFor } from './service.ts';
import { aligned, type Table } from './table.ts';
import { Testbed } from './testbed.ts';

/** Measures the bytes of a card in the tables of tokens and their indexes, over both databases. */

/** The bytes of a card that the project means to reach, by database. */
interface Aims {
  readonly sqlite: number;
  readonly postgres?: number;
}

interface Kind {
  readonly name: string;
  readonly aims: Aims;
  readonly scheme: Scheme;
  readonly tags: readonly string[];
}

const KINDS: readonly Kind[] = [
  { name: 'scheme 7, no tag', scheme: 7, tags: [], aims: { sqlite: 372 } },
  { name: 'scheme 7, 1 tag', scheme: 7, tags: ['web'], aims: { sqlite: 418, postgres: 639 } },
  { name: 'scheme 1, no tag', scheme: 1, tags: [], aims: { sqlite: 377 } },
];
/** A unit is what one request writes. */
const CARDS_PER_UNIT = 100;
const OPERATOR = { actor: { type: 'operator' as const, name: 'bench' } };

/** Bytes of a card by table and index. */
type Parts = Readonly<Record<string, number>>;

export interface SizeFigures {
  readonly cards: number;
  readonly kinds: readonly { readonly name: string; readonly sqlite: Parts; readonly postgres: Parts | undefined }[];
  readonly postgres: string | undefined;
}

/** `database`: its address; empty is SQLite in the folder. */
async function fill(directory: string, database: string, { scheme, tags }: Kind, cards: number): Promise<void> {
  const core = await openCore(parseConfig(settingsFor(directory, database)), systemClocks);
  try {
    const { transactions, accounts } = core;
    const { id } = await transactions.run({ origin: OPERATOR }, (transaction) => accounts.create(transaction, 'sizes'));
    const tenant = { account: id, environment: 'sandbox' } as const;
    const vault = new Vault(core);
    const write = panWriter(randomInt(2 ** 31));
    const pan = Buffer.from(PAN);
    const newCard = () => {
      write(pan, 0);
      return { pan: pan.toString('latin1') as Pan, name: 'Ana Lopez', expiry: { month: '12', year: '30' } };
    };
    const request = {
      tags,
      format: { scheme, bin: 6 as const },
      persistent: false,
      creator: { id: 'bench', name: 'bench' },
    };
    for (let written = 0; written < cards; written += CARDS_PER_UNIT)
      await transactions.run({ origin: OPERATOR, account: tenant.account }, (transaction) =>
        vault.tokenize(transaction, tenant, { ...request, cards: Array.from({ length: CARDS_PER_UNIT }, newCard) }),
      );
  } finally {
    await core.close();
  }
}

const TABLES = ['tokens', 'token_tags'];

function sizesOfSqlite(directory: string): Record<string, number> {
  const database = new DatabaseSync(join(directory, 'cardvault.db'), { readOnly: true });
  try {
    const rows = database
      .prepare(
        `select s.name, sum(pgsize) as bytes from dbstat s join sqlite_schema o on o.name = s.name
         where o.tbl_name in (${TABLES.map(() => '?').join()}) group by s.name`,
      )
      .all(...TABLES);
    return Object.fromEntries(rows.map(({ name, bytes }) => [String(name), Number(bytes)]));
  } finally {
    database.close();
  }
}

async function sizesOfPostgres(server: DatabaseServer, address: string): Promise<Record<string, number>> {
  const rows = await server.read(
    address,
    `select c.relname as name, pg_relation_size(c.oid) as bytes from pg_class c left join pg_index i on i.indexrelid = c.oid
     where coalesce(i.indrelid, c.oid) in (select oid from pg_class where relname in (${TABLES.map((name) => `'${name}'`)}))
       and c.relkind in ('r', 'i')`,
  );
  return Object.fromEntries(rows.map(({ name, bytes }) => [String(name), Number(bytes)]));
}

const perCard = (sizes: Readonly<Record<string, number>>, cards: number): Parts =>
  Object.fromEntries(Object.entries(sizes).map(([name, bytes]) => [name, bytes / cards]));

export async function measureSizes(cards: number, print: (line: string) => void): Promise<SizeFigures> {
  const testbed = new Testbed();
  try {
    const server = await testbed.startDatabase();
    const kinds: SizeFigures['kinds'][number][] = [];
    for (const [index, kind] of KINDS.entries()) {
      print(kind.name);
      const directory = join(testbed.directory, String(index));
      await fill(directory, '', kind, cards);
      const sqlite = perCard(sizesOfSqlite(directory), cards);
      const address = await server?.newDatabase(`sizes_${index}`);
      if (server === undefined || address === undefined) kinds.push({ name: kind.name, sqlite, postgres: undefined });
      else {
        await fill(join(testbed.directory, `${index}-postgres`), address, kind, cards);
        kinds.push({ name: kind.name, sqlite, postgres: perCard(await sizesOfPostgres(server, address), cards) });
      }
    }
    return { cards, kinds, postgres: server?.release };
  } finally {
    await testbed.stop();
  }
}

const bytes = (value: number | undefined): string => (value ?? 0).toFixed(0);

function describeAim(total: number, aim: number | undefined): string {
  if (aim === undefined) return '-';
  return `≤ ${aim}: ${Math.round(total) <= aim ? 'met' : '**missed**'}`;
}

const aimOf = (kind: string, database: keyof Aims): number | undefined =>
  KINDS.find(({ name }) => name === kind)?.aims[database];

interface SizeRow {
  readonly name: string;
  readonly parts: Parts;
}

function tableOf(title: string, database: keyof Aims, rows: readonly SizeRow[]): string {
  const all = new Set(rows.flatMap(({ parts }) => Object.keys(parts)));
  // An empty index has one page.
  const names = [...all].sort().filter((name) => rows.some(({ parts }) => (parts[name] ?? 0) >= 1));
  const table: Table = [
    ['card', `${title}, bytes`, 'aim', ...names.map((name) => `of \`${name}\``)],
    ...rows.map(({ name, parts }) => {
      const total = Object.values(parts).reduce((sum, part) => sum + part, 0);
      const aim = describeAim(total, aimOf(name, database));
      return [name, bytes(total), aim, ...names.map((part) => bytes(parts[part]))];
    }),
  ];
  return aligned(table);
}

/** The section of RESULTS.md. */
export function sizeSection({ cards, kinds, postgres }: SizeFigures, { date }: Conditions): string {
  const sqlite = kinds.map(({ name, sqlite: parts }) => ({ name, parts }));
  const others = kinds.flatMap(({ name, postgres: parts }) => (parts === undefined ? [] : [{ name, parts }]));
  return `## What a card costs to store

\`npm run bench -- --sizes\` on ${date}: ${cards.toLocaleString('en-US')} tokens with expiry and name in units of ${CARDS_PER_UNIT} cards; the pages of \`tokens\`, \`token_tags\` and their
indexes, divided by the number of cards.

${tableOf('SQLite', 'sqlite', sqlite)}
${others.length === 0 ? '' : `\n${tableOf(`PostgreSQL ${postgres}`, 'postgres', others)}\n`}
In PostgreSQL a row has a header of 28 bytes, a primary key is an index of its own, and the cards of one unit have one time and random slots, so their
index entries do not fill their pages: that is 100 bytes for an entry of 60. What a card costs the writer of SQLite is in the table of request threads.`;
}
