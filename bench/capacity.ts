import type { DatabaseName, Figure, Results } from './figures.ts';
import { aligned, ratio, type Table, whole } from './table.ts';

/** The tables of `docs/capacity.md`, computed from measured figures. */
const CONNECTIONS = 64;
/** Cores are planned to be this busy at the peak. */
const BUSY = 0.6;
/** Disk beside the rows: free pages, the write-ahead log, room to grow. */
const DISK_FACTOR = 1.5;
/**
 * A node with its caches, in gigabytes, and each of its request threads but the first; and the part of the size of the tokens that their
 * indexes are, which have to be in memory.
 */
const MEMORY = { node: 0.5, thread: 0.15, indexes: { SQLite: 1 / 3, PostgreSQL: 0.4 } };
/** The CPU of a request in a node with several request threads, beside that with one. */
const THREADS_FACTOR = 1.1;
/** Bytes of a row with its index entries, from the table of sizes in docs/scaling.md. The deletion of an expired capture leaves a record of the audit log. */
export const ROW_BYTES = {
  SQLite: { token: 400, auditRecord: 400, authorization: 800 },
  PostgreSQL: { token: 660, auditRecord: 460, authorization: 1290 },
} as const satisfies Record<DatabaseName, object>;
const SECONDS_OF_DAY = 86_400;
/** Pages at random places that a card changes in a large vault. */
const PAGES_OF_CARD = 3;
/** Dollars a month. */
const PRICES = { core: 30, gigabyte: 0.1, memory: 4 };
/** Gigabytes of memory that come with a core. */
const MEMORY_OF_CORE = 4;
/** Bytes of a card when no growth was measured. */
const USUAL_BYTES = { SQLite: 395, PostgreSQL: 694 };
/** Six of ten requests tokenize a card. */
const SHARE_OF_CARDS = 0.6;
/** Requests of a merchant, in tenths, and the row that each of them leaves for ever. */
const MIX = [
  { request: 'tokenize 1 card, scheme 7', share: SHARE_OF_CARDS, leaves: 'token' },
  { request: 'create a capture', share: 0.2, leaves: 'auditRecord' },
  { request: 'authorize a payment', share: 0.2, leaves: 'authorization' },
] as const;
const EXAMPLES: readonly { readonly cards: number; readonly perSecond: number }[] = [
  { cards: 1e6, perSecond: 100 },
  { cards: 10e6, perSecond: 1000 },
  { cards: 100e6, perSecond: 5000 },
  { cards: 1e9, perSecond: 20_000 },
];

const DATABASES: readonly DatabaseName[] = ['SQLite', 'PostgreSQL'];

/** Returns the bytes that a request of the mix leaves on average, when its captures have expired. */
export const bytesOfRequest = (database: DatabaseName): number =>
  MIX.reduce((sum, { share, leaves }) => sum + share * ROW_BYTES[database][leaves], 0);

const coresFor = (microseconds: number, perSecond: number): number => (microseconds * perSecond) / 1e6 / BUSY;

function bytesOfCard(results: Results, database: DatabaseName): number {
  const fillings = [...(results.growth?.before?.fillings ?? []), ...(results.growth?.fillings ?? [])];
  const largest = fillings.filter((filling) => filling.database === database).at(-1);
  return largest === undefined ? USUAL_BYTES[database] : largest.bytes / largest.tokens;
}

const perThousand = (figures: readonly Figure[]): Table => [
  ['1,000 a second of', 'SQLite, cores', 'PostgreSQL, cores of nodes', 'PostgreSQL, cores of the database'],
  ...[...new Set(figures.map(({ request }) => request))].map((name) => {
    const of = (database: DatabaseName, value: (figure: Figure) => number): string => {
      const found = figures.find((figure) => figure.request === name && figure.database === database);
      return found === undefined ? '-' : ratio(coresFor(value(found), 1000));
    };
    return [
      name,
      of('SQLite', ({ cpu }) => cpu),
      of('PostgreSQL', ({ cpu }) => cpu),
      of('PostgreSQL', ({ databaseCpu }) => databaseCpu),
    ];
  }),
];

function examples(results: Results, figures: readonly Figure[]): Table {
  const mean = (database: DatabaseName, value: (figure: Figure) => number): number =>
    MIX.reduce((sum, { request, share }) => {
      const found = figures.find((figure) => figure.request === request && figure.database === database);
      return sum + share * (found === undefined ? Number.NaN : value(found));
    }, 0);
  const rows = EXAMPLES.flatMap(({ cards, perSecond }) =>
    DATABASES.map((database) => {
      const one = coresFor(
        mean(database, ({ cpu }) => cpu),
        perSecond,
      );
      // Over SQLite one node has a request thread for each core; over PostgreSQL there are more nodes.
      const isThreaded = database === 'SQLite' && one > 1;
      const nodes = isThreaded ? one * THREADS_FACTOR : one;
      const server = coresFor(
        mean(database, ({ databaseCpu }) => databaseCpu),
        perSecond,
      );
      const gigabytes = (cards * bytesOfCard(results, database) * DISK_FACTOR) / 1e9;
      const cores = Math.ceil(nodes) + Math.ceil(server);
      const indexes = (cards * bytesOfCard(results, database) * MEMORY.indexes[database]) / 1e9;
      const processes = isThreaded
        ? MEMORY.node + (Math.ceil(nodes) - 1) * MEMORY.thread
        : Math.ceil(nodes) * MEMORY.node;
      const memory = processes + indexes;
      const more = Math.max(0, memory - cores * MEMORY_OF_CORE);
      const pages = perSecond * SHARE_OF_CARDS * PAGES_OF_CARD;
      return [
        whole(cards),
        whole(perSecond),
        database,
        whole(Math.ceil(nodes)),
        database === 'SQLite' ? '-' : whole(Math.ceil(server)),
        `${whole(Math.ceil(memory))} GB`,
        `${whole(Math.ceil(gigabytes))} GB`,
        `${whole(Math.ceil((perSecond * SECONDS_OF_DAY * bytesOfRequest(database)) / 1e9))} GB`,
        database === 'SQLite' ? whole(pages) : '-',
        `$${whole(cores * PRICES.core + gigabytes * PRICES.gigabyte + more * PRICES.memory)}`,
      ];
    }),
  );
  return [
    [
      ...['cards', 'requests a second', 'database', 'cores of nodes', 'cores of the database', 'memory'],
      ...['disk for the cards', 'more for each day at this rate', 'random pages a second', 'a month'],
    ],
    ...rows,
  ];
}

export function capacityTables(results: Results): string {
  const { matrix } = results;
  if (matrix === undefined) return 'Run `npm run bench` to compute these tables.';
  const figures = matrix.figures.filter(({ connections, database }) => connections === CONNECTIONS && database !== '-');
  const { date, cores, processor } = matrix.conditions;
  const bytes = DATABASES.map((database) => `${whole(bytesOfCard(results, database))} bytes over ${database}`).join(
    ', ',
  );
  const left = DATABASES.map((database) => `${whole(bytesOfRequest(database))} bytes over ${database}`).join(' and ');
  return `Measured on ${date} with ${cores} cores (${processor}). Cores are ${BUSY * 100} % busy.

${aligned(perThousand(figures))}

A card takes ${bytes}. The examples send six tokenizations, two captures and two authorizations of ten requests; they have ${Math.round((DISK_FACTOR - 1) * 100)} % of
free disk and the indexes of the tokens in memory. A large vault writes ${PAGES_OF_CARD} pages of 4 KiB at random places for each card: over SQLite, where the disk takes fewer a second, or one writer
is not enough, use PostgreSQL, which gathers the changes of a page in its memory. Over SQLite a node with several request threads takes ${THREADS_FACTOR} times the CPU of one with one thread. The rate
is that of the peak. "More for each day" is what a whole day at that rate adds, cards included: a request leaves ${left} on average when its captures have expired; audit records and payments are never deleted. "A month" counts $${PRICES.core} for a core with ${MEMORY_OF_CORE} GB of memory, $${PRICES.memory} for each
further gigabyte of memory, and $${PRICES.gigabyte} for each of the disk.

${aligned(examples(results, figures))}
`;
}
