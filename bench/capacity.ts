import type { DatabaseName, Figure, Results } from './figures.ts';
import { aligned, ratio, type Table, whole } from './table.ts';

/** The tables of `docs/capacity.md`, computed from measured figures. */
const CONNECTIONS = 64;
/** Cores are planned to be this busy at the peak. */
const BUSY = 0.6;
/** Disk beside the rows: free pages, the write-ahead log, room to grow. */
const DISK_FACTOR = 1.5;
/** A node with its caches, in gigabytes; and the part of the size of the tokens that their indexes are, which have to be in memory. */
const MEMORY = { node: 0.5, indexes: 1 / 3 };
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
/** Requests of a merchant, in tenths. */
const MIX: readonly { readonly request: string; readonly share: number }[] = [
  { request: 'tokenize 1 card, scheme 7', share: SHARE_OF_CARDS },
  { request: 'create a capture', share: 0.2 },
  { request: 'authorize a payment', share: 0.2 },
];
const EXAMPLES: readonly { readonly cards: number; readonly perSecond: number }[] = [
  { cards: 1e6, perSecond: 100 },
  { cards: 10e6, perSecond: 1000 },
  { cards: 100e6, perSecond: 5000 },
  { cards: 1e9, perSecond: 20_000 },
];

const DATABASES: readonly DatabaseName[] = ['SQLite', 'PostgreSQL'];

const coresFor = (microseconds: number, perSecond: number): number => (microseconds * perSecond) / 1e6 / BUSY;

function bytesOfCard(results: Results, database: DatabaseName): number {
  const largest = results.growth?.fillings.filter((filling) => filling.database === database).at(-1);
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
      const nodes = coresFor(
        mean(database, ({ cpu }) => cpu),
        perSecond,
      );
      const server = coresFor(
        mean(database, ({ databaseCpu }) => databaseCpu),
        perSecond,
      );
      const gigabytes = (cards * bytesOfCard(results, database) * DISK_FACTOR) / 1e9;
      const cores = Math.ceil(nodes) + Math.ceil(server);
      const indexes = (cards * bytesOfCard(results, database) * MEMORY.indexes) / 1e9;
      const more = Math.max(0, MEMORY.node + indexes - cores * MEMORY_OF_CORE);
      const pages = perSecond * SHARE_OF_CARDS * PAGES_OF_CARD;
      return [
        whole(cards),
        whole(perSecond),
        database,
        whole(Math.ceil(nodes)),
        database === 'SQLite' ? '-' : whole(Math.ceil(server)),
        `${whole(Math.ceil(MEMORY.node + indexes))} GB`,
        `${whole(Math.ceil(gigabytes))} GB`,
        database === 'SQLite' ? whole(pages) : '-',
        `$${whole(cores * PRICES.core + gigabytes * PRICES.gigabyte + more * PRICES.memory)}`,
      ];
    }),
  );
  return [
    [
      ...['cards', 'requests a second', 'database', 'cores of nodes', 'cores of the database', 'memory', 'disk'],
      ...['random pages a second', 'a month'],
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
  return `Measured on ${date} with ${cores} cores (${processor}). Cores are ${BUSY * 100} % busy.

${aligned(perThousand(figures))}

A card takes ${bytes}. The examples send six tokenizations, two captures and two authorizations of ten requests; they have ${Math.round((DISK_FACTOR - 1) * 100)} % of
free disk and the indexes of the tokens in memory. A large vault writes ${PAGES_OF_CARD} pages of 4 KiB at random places for each card: over SQLite, where the disk takes fewer a second, or one writer
is not enough, use PostgreSQL, which gathers the changes of a page in its memory. They cost each month $${PRICES.core} a core with ${MEMORY_OF_CORE} GB of memory, $${PRICES.memory} for each
further gigabyte of memory, and $${PRICES.gigabyte} for each of the disk.

${aligned(examples(results, figures))}
`;
}
