import { cpus, totalmem } from 'node:os';
import type { Round } from './bench.ts';
import type { Figures, Result } from './measure.ts';

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  const [low, high] = [sorted[Math.floor(middle)] ?? Number.NaN, sorted[Math.ceil(middle)] ?? Number.NaN];
  return { median: (low + high) / 2, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN };
}

const median = (rounds: readonly Round[], value: (round: Round) => number): number => spread(rounds.map(value)).median;

/** Each durable round against the comparison's round beside it. */
export const ratios = ({ durable, comparison }: Result, value = (round: Round) => round.perSecond): Spread =>
  spread(durable.map((round, index) => value(round) / value(comparison[index] as Round)));

const thousands = (value: number): string => Math.round(value).toLocaleString('en-US');
const withDigits = (value: number, digits: number): string => value.toFixed(digits);
const mebibytes = (bytes: number): string => `${Math.round(bytes / 2 ** 20)} MiB`;

export type Table = readonly (readonly string[])[];

export const ratioTable = ({ results, shortfalls }: Figures): Table => [
  ['scenario', 'against', 'durable/s', 'comparison/s', 'ratio', 'min-max', 'target', 'ratio of CPU', 'of main thread'],
  ...results.map((result) => {
    const { scenario, durable, comparison } = result;
    const ratio = ratios(result);
    const byCpu = ratios(result, ({ cpu, each }) => each / cpu);
    const byMain = ratios(result, ({ main, each }) => each / main);
    const perSecond = median(durable, (round) => round.perSecond);
    return [
      scenario.name,
      scenario.against,
      `${thousands(perSecond)} ${scenario.unit}${scenario.each > 1 ? ` (${thousands(perSecond / scenario.each)} requests)` : ''}`,
      thousands(median(comparison, ({ perSecond }) => perSecond)),
      withDigits(ratio.median, 2),
      `${withDigits(ratio.min, 2)}-${withDigits(ratio.max, 2)}`,
      scenario.target === undefined ? '-' : withDigits(scenario.target, 2),
      withDigits(byCpu.median, 2),
      // Bare signing leaves its main thread idle, and bare inserts are no requests.
      comparison[0]?.load === undefined ? '-' : withDigits(byMain.median, 2),
    ];
  }),
  ...shortfalls.map(({ scenario, why }) => [scenario.name, scenario.against, why, ...Array(6).fill('-')]),
];

export const latencyTable = ({ results }: Figures): Table => [
  ['scenario', 'side', 'p50 ms', 'p99 ms', 'server CPU us', 'main thread us', 'requests per CPU-second', 'load CPU us'],
  ...results.flatMap(({ scenario, durable, comparison }) =>
    [
      { side: 'durable', rounds: durable },
      { side: scenario.against, rounds: comparison },
    ].map(({ side, rounds }) => [
      scenario.name,
      side,
      withDigits(
        median(rounds, ({ p50 }) => p50),
        2,
      ),
      withDigits(
        median(rounds, ({ p99 }) => p99),
        2,
      ),
      withDigits(
        median(rounds, ({ cpu }) => cpu),
        1,
      ),
      withDigits(
        median(rounds, ({ main }) => main),
        1,
      ),
      thousands(1e6 / median(rounds, ({ cpu }) => cpu)),
      rounds[0]?.load === undefined
        ? '-'
        : withDigits(
            median(rounds, ({ load = Number.NaN }) => load),
            1,
          ),
    ]),
  ),
];

/** Returns the table of groups sent to the database, and of the resources that PostgreSQL spent on them. */
export function groupTable({ results }: Figures): Table {
  const rows = results.flatMap(({ scenario, durable, comparison }) =>
    [
      { side: 'durable', rounds: durable },
      { side: scenario.against, rounds: comparison },
    ].flatMap(({ side, rounds }) =>
      rounds.every(({ groups }) => groups === undefined) ? [] : [[scenario.name, side, ...groupCells(rounds)]],
    ),
  );
  const head = ['scenario', 'side', 'groups/s', 'in each', 'PostgreSQL CPU us', 'node CPU us'];
  return rows.length === 0 ? [] : [head, ...rows];
}

const groupCells = (rounds: readonly Round[]): string[] => [
  thousands(median(rounds, ({ groups }) => groups?.perSecond ?? 0)),
  withDigits(
    median(rounds, ({ groups }) => groups?.size ?? 0),
    1,
  ),
  rounds[0]?.database === undefined
    ? '-'
    : withDigits(
        median(rounds, ({ database = Number.NaN }) => database),
        1,
      ),
  withDigits(
    median(rounds, ({ cpu }) => cpu),
    1,
  ),
];

/** Envelopes without a server, and what signatures alone come to on the same core. */
export function envelopeTable({ envelopes }: Figures): Table {
  if (envelopes === undefined) return [];
  const signatures = envelopes['bare signatures'];
  return [
    ['order', 'envelopes per core-second', 'min-max', 'target', 'bare signatures per core-second', 'ratio', 'min-max'],
    ...(['encrypt-sign', 'sign-encrypt'] as const).map((order) => {
      const spreadOf = spread(envelopes[order]);
      const ratio = spread(envelopes[order].map((count, round) => count / (signatures[round] ?? Number.NaN)));
      return [
        order,
        thousands(spreadOf.median),
        `${thousands(spreadOf.min)}-${thousands(spreadOf.max)}`,
        '1,900',
        thousands(spread(signatures).median),
        withDigits(ratio.median, 2),
        `${withDigits(ratio.min, 2)}-${withDigits(ratio.max, 2)}`,
      ];
    }),
  ];
}

export function otherTable({ rss, starts }: Figures): Table {
  const first = spread(starts.map((times) => times.first));
  const second = spread(starts.map((times) => times.second));
  const times = ({ median, min, max }: Spread): string =>
    `${Math.round(median)} ms (${Math.round(min)}-${Math.round(max)})`;
  return [
    ['figure', 'value'],
    ['memory (RSS) before the load', mebibytes(rss.started)],
    ['memory (RSS) after the load', mebibytes(rss.loaded)],
    ...(starts.length === 0
      ? []
      : [
          ['first start to first 200 of /healthz', times(first)],
          ['second start to first 200 of /healthz', times(second)],
        ]),
  ];
}

/** Columns padded to one width, as Markdown reads tables. */
export function aligned(table: Table): string {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...rows] = table.map(line);
  return [head, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows].join('\n');
}

export function tables(figures: Figures): string {
  const all = [ratioTable, latencyTable, groupTable, envelopeTable, otherTable].map((table) => table(figures));
  return all
    .filter((table) => table.length > 0)
    .map(aligned)
    .join('\n\n');
}

export function resultsPage(figures: Figures, date: Date): string {
  const { settings, databaseRelease } = figures;
  const database = databaseRelease === undefined ? 'there was none' : `PostgreSQL ${databaseRelease}`;
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node} on ${process.platform}`;
  return `# Benchmark results

${date.toISOString().slice(0, 10)}; ${machine}. Server and load share these cores.

## Ratios

What the service reaches beside a comparison on the same server, in the same minutes. The echo reads and validates the
same request and returns a record of the same shape, without cipher and database; "without storage" does everything but
the commit. Ratios are the median over the rounds, each durable round against the comparison's round beside it. Ratio
of CPU: requests for each CPU second of the server instead of each second of the clock, with all its threads, and of its
main thread alone. "Bare RSA-2048 signing" is all the machine can do: asynchronous signatures and nothing else, in a process
of its own, while the service waits. "Tokenize 1 card" is that request of the same service, durable as well. Nested JOSE makes two signatures for each request, plain JOSE and WS-Security one.

"The same over SQLite" is the same request to a node over SQLite. "Bare inserts" is all the database can make of it: a
process that does nothing but insert rows like tokens, into a table of the same columns and indexes, in groups as large as
the service formed a moment before, each a durable transaction; over PostgreSQL with two connections and one statement
for each group. "One node over it" serves the same requests as the two nodes do together, and all share these cores.

${aligned(ratioTable(figures))}

## Latency and CPU

${settings.connections} connections, each with one request at a time; medians over the rounds. CPU is microseconds for
each request.

${aligned(latencyTable(figures))}

## Groups

Requests of a round share transactions. Groups that left for the database each second, how many requests or rows were in
each, and CPU microseconds for each request or row: of all processes of PostgreSQL, and of the nodes or the inserting
process.

${aligned(groupTable(figures))}

## WS-Security on one core

Without a server: from the text of a request of 1.6 kB with 3 placeholders to its envelope, for each second of CPU of all
threads, beside signatures alone in the same process.

${aligned(envelopeTable(figures))}

## Memory and start

${aligned(otherTable(figures))}

## Method

- The server is the service as it is served: TLS 1.3, authentication, request log at level info (written to the null
  device), metrics, SQLite on disk with every answer durable before it is sent. Only rate limits are off. The
  comparisons are further routes of the same server: the same endpoints, with fakes behind them.
- PostgreSQL is a server of the benchmark's own on this machine (${database}): fsync, full_page_writes and
  synchronous_commit are on, 256 MB of shared buffers, otherwise as it comes. Its nodes run with default settings.
- The load is a process of its own on the same machine, with ${settings.connections} keep-alive connections. Card numbers are random and pass the Luhn
  check; requests are made before the clock starts; every answer must be a 200.
- Both sides of a scenario run in turns: ${settings.rounds} rounds of ${settings.seconds} s each, after ${settings.warmUpSeconds} s of warm-up. The database holds
  ${thousands(settings.rows)} tokens at first and grows with every durable round; each database has as many.
- CPU is what the operating system accounts to the server's process and to its main thread.

Repeat with \`npm run bench\`; \`npm run bench -- --quick\` takes half a minute and writes nothing. \`--only PART\` runs
scenarios by a part of their name, \`--rows N\` fills the database first, \`--profile DIRECTORY\` leaves CPU profiles.
`;
}
