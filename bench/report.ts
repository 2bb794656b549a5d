import { bytesOfRequest } from './capacity.ts';
import {
  CAPACITY_SECONDS,
  type Conditions,
  type Figure,
  type Growth,
  type Import,
  type Interval,
  type Matrix,
  median,
  type PeerComparison,
  type Results,
  rankCorrelation,
  type Soak,
  type Trend,
  trendOf,
} from './figures.ts';
import { REQUESTS } from './requests.ts';
import { aligned, mebibytes, milliseconds, ratio, type Table, whole } from './table.ts';

/** The tables of `bench/RESULTS.md`. */
const USUAL_CONNECTIONS = 64;
const MEMORY_AIMS_MB = { idle: 130, loaded: 400 };
const GROWTH_AIM = 0.8;
const PAGE_BYTES = 4096;
/** Cards for each second of CPU beside the peer's, and the 99th percentile beside the peer's. */
const PEER_AIMS: Readonly<Record<string, { readonly perCpuSecond: number; readonly p99: number }>> = {
  'cardvault, SQLite': { perCpuSecond: 5, p99: 0.5 },
  'cardvault, PostgreSQL': { perCpuSecond: 4, p99: 0.5 },
};

const verdict = (text: string, isMet: boolean): string => `${text}: ${isMet ? 'met' : '**missed**'}`;

/** Marks a rate that the load limited: it is one process, and had no more to give. */
const limitOf = (loadShare: number): string => (loadShare > 0.9 ? ' †' : '');

/** Aims hold for a node over SQLite. */
function aimsOf({ request, database, cpuRatio, rate, p50, p99 }: Figure): string {
  const { aims = {} } = REQUESTS.find(({ name }) => name === request) ?? {};
  if (database !== 'SQLite') return '-';
  const verdicts = [
    ...(aims.cpu === undefined ? [] : [verdict(`CPU ≤ ${aims.cpu}`, cpuRatio <= aims.cpu)]),
    ...(aims.rate === undefined ? [] : [verdict(`rate ≥ ${aims.rate}`, rate >= aims.rate)]),
    ...(aims.spread === undefined ? [] : [verdict(`p99 ≤ ${aims.spread} p50`, p99 <= aims.spread * p50)]),
  ];
  return verdicts.length === 0 ? '-' : verdicts.join(', ');
}

const usualOpen = (figures: readonly Figure[]): string =>
  figures.some(({ open }) => open?.usualP99 !== undefined)
    ? ' Its 99th percentile is the median of those of five parts of the time, because a stall of the host is in one or two of them.'
    : '';

const besideEcho = (figures: readonly Figure[]): Table => [
  [
    'request',
    'database',
    'a second',
    'rate',
    'CPU us',
    'of PostgreSQL',
    'CPU',
    'p50 ms',
    'p99 ms',
    'p50 at 70 %',
    'p99 at 70 %',
    'aims',
  ],
  ...figures.map((figure) => [
    figure.request,
    figure.database,
    whole(figure.perSecond) + limitOf(figure.loadShare),
    ratio(figure.rate),
    whole(figure.cpu),
    figure.database === 'PostgreSQL' ? whole(figure.databaseCpu) : '-',
    ratio(figure.cpuRatio),
    milliseconds(figure.p50),
    milliseconds(figure.p99),
    figure.open === undefined ? '-' : milliseconds(figure.open.p50),
    figure.open === undefined ? '-' : milliseconds(figure.open.usualP99 ?? figure.open.p99),
    aimsOf(figure),
  ]),
];

function byConnections({ figures, settings: { connections } }: Matrix): Table {
  const names = [...new Set(figures.map(({ request, database }) => `${request}\n${database}`))];
  return [
    ['request', 'database', ...connections.map((count) => String(count))],
    ...names.map((name) => {
      const [request = '', database = ''] = name.split('\n');
      const cells = connections.map((count) => {
        const found = figures.find(
          (figure) => figure.request === request && figure.database === database && figure.connections === count,
        );
        return found === undefined ? '-' : `${whole(found.perSecond)} (${milliseconds(found.p99)})`;
      });
      return [request, database, ...cells];
    }),
  ];
}

const echoTable = ({ echoes }: Matrix): Table => [
  ['connections', 'a second', 'p50 ms', 'p99 ms', 'CPU us', 'load, of a core', 'at 70 %: p50 ms', 'p99 ms'],
  ...echoes.map(({ connections, perSecond, p50, p99, cpu, loadShare, open }) => [
    String(connections),
    whole(perSecond) + limitOf(loadShare),
    milliseconds(p50),
    milliseconds(p99),
    cpu.toFixed(1),
    `${whole(loadShare * 100)} %`,
    open === undefined ? '-' : milliseconds(open.p50),
    open === undefined ? '-' : milliseconds(open.usualP99 ?? open.p99),
  ]),
];

/** Shares of the CPU of a request that its signatures should take at least. */
const SIGNING_AIMS: Readonly<Record<string, number>> = { JOSE: 0.85, 'WS-Security': 0.75 };
/** It does what a signed request does without its message: it reads tokens, writes an audit record and responds. */
const WITHOUT_MESSAGE = 'hash with 3 placeholders';

const signingTable = (figures: readonly Figure[]): Table => [
  [
    ...['request', 'database', 'a second', 'CPU us', 'of that signing alone', 'if the message cost nothing', 'aim'],
    'of that a bare server that signs',
  ],
  ...figures
    .filter(({ signing }) => signing !== undefined)
    .map(({ request, database, perSecond, cpu, signing = Number.NaN, bareSigning = Number.NaN }) => {
      const least = figures.find((each) => each.request === WITHOUT_MESSAGE && each.database === database)?.cpu;
      const alone = signing * cpu;
      const aim = Object.entries(SIGNING_AIMS).find(([name]) => request.startsWith(name))?.[1] ?? Number.NaN;
      return [
        ...[request, database, whole(perSecond), whole(cpu), `${whole(signing * 100)} %`],
        least === undefined ? '-' : `${whole((alone / (alone + least)) * 100)} %`,
        verdict(`≥ ${whole(aim * 100)} %`, signing >= aim),
        `${whole(bareSigning * 100)} %`,
      ];
    }),
];

const MEGABYTE = 1e6;
const memoryAim = (bytes: number, aim: number): string => verdict(`≤ ${aim} MB`, bytes <= aim * MEGABYTE);

const memoryTable = ({ memory }: Matrix): Table => [
  ['database', 'ready after ms', 'memory before', 'aim', 'memory after', 'aim'],
  ...memory.map(({ database, startMs, idle, loaded }) => [
    database,
    whole(startMs),
    `${whole(idle / MEGABYTE)} MB`,
    memoryAim(idle, MEMORY_AIMS_MB.idle),
    `${whole(loaded / MEGABYTE)} MB`,
    memoryAim(loaded, MEMORY_AIMS_MB.loaded),
  ]),
];

function conditionsLine(conditions: Conditions, postgres: string | undefined): string {
  const { date, cores, processor, memoryGiB, node, version, settings } = conditions;
  const set = Object.entries(settings).map(([name, value]) => `, ${name}=${value}`);
  const database = postgres === undefined ? '' : `, PostgreSQL ${postgres}`;
  return `${date}; ${cores} ${cores === 1 ? 'core' : 'cores'} (${processor}), ${memoryGiB} GiB; cardvault ${version}, Node ${node}${database}${set.join('')}. Server, database and load share ${cores === 1 ? 'it' : 'them'}.`;
}

function matrixSection(matrix: NonNullable<Results['matrix']>): string {
  const { conditions, postgres, problems, settings } = matrix;
  const usual = matrix.figures.filter(({ connections }) => connections === USUAL_CONNECTIONS);
  const signing = signingTable(usual);
  return `${conditionsLine(conditions, postgres)}

![Requests a second with ${USUAL_CONNECTIONS} connections](results.svg)

## Beside a bare echo

${USUAL_CONNECTIONS} connections. \`rate\`: requests a second beside those of \`node:https\` alone, which reads the body of a tokenization, parses
it and sends a response of fixed bytes; with 100 cards, cards. \`CPU us\`: microseconds of CPU of all threads of the service, and of PostgreSQL; \`CPU\`: both together beside those of
that echo. Both are the median of the ratios of neighboring rounds. "Echo of a tokenization" is the service with an echo in the place of
its vault. It can cost less than the bare server, which serves its requests one after the other, because the service serves all that have arrived together ([0048](../docs/decisions/0048-rounds-of-requests.md)). "At 70 %": latency when requests arrive independently of one another, 70 % of those a second, counted from the arrival that the schedule
intended.${usualOpen(usual)} Aims are those for a node over SQLite. †: the load was the limit.

${aligned(besideEcho(usual))}

## By connections

Requests a second, and the 99th percentile of the latency in milliseconds.

${aligned(byConnections(matrix))}

## The bare echo

${aligned(echoTable(matrix))}
${signing.length === 1 ? '' : `\n## Signatures\n\nCPU of a request, and the share of it that RSA-2048 signatures alone take, made in the same round in a process of their own: two for nested\nJOSE, else one. "If the message cost nothing" is the share beside a hash with three placeholders, which reads tokens, writes an audit record and responds: the most that\na signed request could reach. The last column is the share that a bare \`node:https\` server takes for one request with these signatures: what is beyond it is the work\nof the vault. [Capacity](../docs/capacity.md) has the parts of it.\n\n${aligned(signing)}\n`}
## Memory and start

Resident memory of the service ${settings.settleSeconds} s after the start, and after all requests above: of 256 connections too, on which 25,600 cards are in progress. [Memory by part](#memory-by-part) has the aims after a load of 64 connections.

${aligned(memoryTable(matrix))}
${problems.length === 0 ? '' : `\n## Not measured\n\n${problems.map((problem) => `- ${problem.split('\n')[0]}`).join('\n')}\n`}
## Method

- The service runs as \`npm start\` runs it: TLS 1.3, authentication, log at level info (written to the null device), request log, metrics; every
  response is sent after its commit is on the disk. ${matrix.isLimited === true ? 'Rate limits count each request, and are higher than any rate here.' : 'Only rate limits are off.'} PostgreSQL is one on the same machine with fsync, full_page_writes
  and synchronous_commit on.
- The load is one process of Node with keep-alive connections. Every card number is another one and passes the Luhn check. A request whose response
  is no success ends the measurement of its row.
- Each round of ${settings.seconds} s at one database is beside one at the other and one of the bare echo, in changing order: ${settings.rounds} rounds after a warm-up.
  Requests that use up a record, such as a refund, find records that were created before the round.
- Times of a timer are exact to a millisecond, which limits the median at 70 %.
- CPU is what Linux accounts to all threads of the service, of the echo, and of PostgreSQL.
`;
}

/** Tells what the disk alone can do: it limits a vault whose pages are written at random places. */
const diskLimit = (pages: number): string =>
  `"Written" is what the service writes over SQLite, half of it to its log. In a file of the size of the largest vault the disk alone takes ${whole(pages)} pages of 4 KiB a second at random places, ${whole((pages * PAGE_BYTES) / MEGABYTE)} MB/s, in batches of 4,000 with a flush.`;

function growthSection(growth: NonNullable<Results['growth']>): string {
  const { conditions, postgres, settings, diskPages, before } = growth;
  const earlier =
    before === undefined
      ? ''
      : `\nMeasured before: ${conditionsLine(before.conditions, before.postgres)}\n\n${growthTables(before, diskPages)}\n`;
  return `## Growth

${conditionsLine(conditions, postgres)}

Vaults of several sizes side by side: ${settings.rounds} rounds of ${settings.seconds} s at each in turns, 64 connections. The vaults were filled over their interface, 100 cards in a request:

${growthTables(growth, diskPages)}
${diskPages === undefined ? '' : `\n${diskLimit(diskPages)}\n`}${earlier}`;
}

function growthTables({ fillings, figures }: Pick<Growth, 'fillings' | 'figures'>, diskPages?: number): string {
  const filled: Table = [
    ['database', 'tokens', 'cards a second', 'CPU us a card', 'bytes a card'],
    ...fillings.map(({ database, tokens, cardsPerSecond, cpu, bytes }: Growth['fillings'][number]) => [
      database,
      whole(tokens),
      whole(cardsPerSecond),
      cpu.toFixed(1),
      whole(bytes / tokens),
    ]),
  ];
  const measured: Table = [
    [
      ...['request', 'database', 'tokens', 'a second', 'beside empty', 'CPU beside empty', 'p50 ms', 'p99 ms', 'aim'],
      ...(diskPages === undefined ? [] : ['written']),
    ],
    ...figures.map(({ request, database, tokens, perSecond, rate, cpuRatio, p50, p99, written }) => [
      request,
      database,
      whole(tokens),
      whole(perSecond),
      ratio(rate),
      ratio(cpuRatio),
      milliseconds(p50),
      milliseconds(p99),
      tokens === 0 ? '-' : verdict(`≥ ${GROWTH_AIM}`, rate >= GROWTH_AIM),
      ...(diskPages === undefined ? [] : [written === undefined ? '-' : `${whole(written / MEGABYTE)} MB/s`]),
    ]),
  ];
  return `${aligned(filled)}

${aligned(measured)}`;
}

const SOAK_REFERENCE = [
  'usual p99',
  'echo a second',
  'echo p99',
  'service can',
  'beside the echo',
  'CPU',
  'stolen',
  'flush p99',
];

const soakReference = ({ reference, cpu }: Interval): string[] =>
  reference === undefined
    ? []
    : [
        milliseconds(reference.usualP99),
        whole(reference.echo.perSecond),
        milliseconds(reference.echo.p99),
        whole(reference.capacity),
        ratio(reference.capacity / reference.echo.perSecond),
        ratio(cpu / reference.echo.cpu),
        `${(reference.stolen * 100).toFixed(1)} %`,
        milliseconds(reference.flush.p99),
      ];

const describeTrend = ({ change, isSignificant }: Trend): string =>
  `${change < 0 ? '' : '+'}${(change * 100).toFixed(1)} %${isSignificant ? ', a trend' : ''}`;

interface Followed {
  readonly name: string;
  readonly of: (interval: Interval) => number | undefined;
  /** The change in the second half up to which a figure counts as flat, as a fraction; absent: it only explains others. */
  readonly flat?: number;
  /** True for a figure that may fall, as latency does when the machine becomes faster. */
  readonly mayFall?: true;
}

/** The latency follows the flushes of a disk that other machines share, and the other two do not. */
const FOLLOWED: readonly Followed[] = [
  { name: 'requests a second', of: ({ perSecond }) => perSecond, flat: 0.02 },
  { name: 'requests a second that it can do', of: ({ reference }) => reference?.capacity },
  { name: 'p50', of: ({ p50 }) => p50 },
  { name: 'usual p99', of: ({ reference }) => reference?.usualP99, flat: 0.25, mayFall: true },
  { name: 'p99 of a flush of another file', of: ({ reference }) => reference?.flush.p99 },
  { name: 'CPU of a request', of: ({ cpu }) => cpu },
  { name: 'memory', of: ({ memory }) => memory, flat: 0.05 },
];

function describeFlat({ flat, mayFall }: Followed, { change }: Trend): string {
  if (flat === undefined) return '-';
  const isFlat = change <= flat && (mayFall === true || change >= -flat);
  return `${mayFall === true ? '≤' : '±'} ${flat * 100} %: ${isFlat ? 'met' : '**missed**'}`;
}

/** The change of each figure over all intervals, and over the second half of them, in which the memory has its size. */
function trendTable(intervals: readonly Interval[]): Table {
  return [
    ['figure', 'whole time', 'second half', 'flat'],
    ...FOLLOWED.map((followed) => {
      const { name, of } = followed;
      const values = intervals.map((interval) => of(interval) ?? Number.NaN);
      const half = trendOf(values.slice(Math.floor(values.length / 2)));
      return [name, describeTrend(trendOf(values)), describeTrend(half), describeFlat(followed, half)];
    }),
  ];
}

/** Says how far the latency is that of the disk. */
function describeDisk(intervals: readonly Interval[]): string {
  const references = intervals.flatMap(({ reference }) => reference ?? []);
  const [latency, flush] = [references.map(({ usualP99 }) => usualP99), references.map(({ flush }) => flush.p99)];
  const correlation = rankCorrelation(latency, flush);
  const calmer = median(flush);
  const inCalm = references.filter((each) => each.flush.p99 <= calmer).map(({ usualP99 }) => usualP99);
  return `Each response waits for a flush. Kendall's correlation of the usual p99 with that of a flush is ${correlation.toFixed(2)} (1: the same order). In the half of the intervals in
which a flush took up to ${milliseconds(calmer)} ms, the usual p99 was ${milliseconds(Math.min(...inCalm))} to ${milliseconds(Math.max(...inCalm))} ms, with a median of ${milliseconds(median(inCalm))}.`;
}

/** The growth of the database may differ from the computed one by this fraction. */
const COMPUTED_WITHIN = 0.1;

/** Compares the growth of the database with what the documentation computes. */
export function describeFiles(intervals: readonly Interval[]): string {
  const [first, ...later] = intervals;
  const last = later.at(-1);
  if (first === undefined || last === undefined) return '';
  const requests = later.reduce((sum, { seconds, perSecond, reference }, index) => {
    const length = seconds - (intervals[index]?.seconds ?? 0);
    return sum + perSecond * length + (reference?.capacity ?? 0) * CAPACITY_SECONDS;
  }, 0);
  const computed = bytesOfRequest('SQLite');
  const grown = (last.databaseBytes - first.databaseBytes) / requests;
  const isAsComputed = Math.abs(grown / computed - 1) <= COMPUTED_WITHIN;
  return `The database grew by ${whole(grown)} bytes a request between the first interval and the last, and [Capacity](../docs/capacity.md) computes ${whole(computed)} (± ${COMPUTED_WITHIN * 100} %: ${isAsComputed ? 'met' : '**missed**'}): of ten requests
six leave a token with a tag, two an authorization, and two a record of the audit log when their capture has expired.`;
}

function soakSection({
  conditions,
  postgres,
  settings,
  capacity,
  intervals,
  problem,
}: Soak & { conditions: Conditions }): string {
  const hasReference = intervals.some(({ reference }) => reference !== undefined);
  const table: Table = [
    [
      ...['minutes', 'a second', 'p50 ms', 'p99 ms', 'CPU us', 'memory', 'database', 'write-ahead log'],
      ...(hasReference ? SOAK_REFERENCE : []),
    ],
    ...intervals.map((interval) => [
      (interval.seconds / 60).toFixed(1),
      whole(interval.perSecond),
      milliseconds(interval.p50),
      milliseconds(interval.p99),
      whole(interval.cpu),
      mebibytes(interval.memory),
      mebibytes(interval.databaseBytes),
      mebibytes(interval.logBytes),
      ...soakReference(interval),
    ]),
  ];
  const explanation = `

"Usual p99" is the median of the 99th percentiles of each five seconds. Each interval begins with what a bare echo and the service can do, in requests a
second; "CPU" is that of a request beside that of the echo. "Stolen" is the time of all cores that the host gave to other machines. "Flush p99" is of four
kilobytes in another file, beside the load.`;
  const trends = `
From the first interval to the last, by the median of the slopes between all pairs (Theil and Sen). "A trend" is named where Kendall's test finds a
relation with time, which it does without one in a case of twenty. "Flat" is the change in the second half up to which a figure counts as flat; latency may also fall, as it does when the host becomes faster.

${aligned(trendTable(intervals))}

${describeDisk(intervals)}
${settings.database === 'SQLite' ? `\n${describeFiles(intervals)}\n` : ''}`;
  return `## Soak

${conditionsLine(conditions, postgres)}

${settings.minutes} minutes over ${settings.database} at 70 % of ${whole(capacity)} requests a second, which arrive independently of one another: of ten, six tokenize a card, two
create a capture that expires after a minute, two authorize a payment.${problem === undefined ? '' : ` It ended early: ${problem.split('\n')[0]}.`}${hasReference ? explanation : ''}

${aligned(table)}
${hasReference ? trends : ''}`;
}

function peerSection({
  conditions,
  postgres,
  rounds,
  seconds,
  figures,
}: PeerComparison & { conditions: Conditions }): string {
  const peer = figures.at(-1);
  const table: Table = [
    [
      'service',
      'cards a second',
      'p50 ms',
      'p99 ms',
      'CPU us',
      'of PostgreSQL',
      'cards a CPU-second',
      'beside the peer',
      'aims',
    ],
    ...figures.map(({ name, perSecond, p50, p99, cpu, databaseCpu, perCpuSecond }) => {
      const aims = PEER_AIMS[name];
      const isFast = p99 <= (aims?.p99 ?? 0) * (peer?.p99 ?? 0);
      return [
        name,
        whole(perSecond),
        milliseconds(p50),
        milliseconds(p99),
        whole(cpu),
        databaseCpu === 0 ? '-' : whole(databaseCpu),
        whole(1e6 / (cpu + databaseCpu)),
        ratio(perCpuSecond),
        aims === undefined
          ? '-'
          : `${verdict(`≥ ${aims.perCpuSecond}`, perCpuSecond >= aims.perCpuSecond)}, ${verdict(`p99 ≤ ${aims.p99}`, isFast)}`,
      ];
    }),
  ];
  return `## Beside another vault

${conditionsLine(conditions, postgres)}

Adds of one card to hyperswitch-card-vault, which is written in Rust, over PostgreSQL, and to cardvault; TLS, every card another one, 64 connections,
${rounds} rounds of ${seconds} s in turns. [How to repeat it](peer.md).

${aligned(table)}
`;
}

const IMPORT_AIM = 0.8;

function importSection({ conditions, postgres, figures }: Import & { conditions: Conditions }): string {
  const table: Table = [
    ['database', 'cards', 'by requests, a second', 'by import, a second', 'ratio', 'aim'],
    ...figures.map(({ database, cards, requested, imported }) => [
      database,
      whole(cards),
      whole(requested),
      whole(imported),
      ratio(imported / requested),
      verdict(`≥ ${IMPORT_AIM}`, imported / requested >= IMPORT_AIM),
    ]),
  ];
  return `## Import

${conditionsLine(conditions, postgres)}

The same number of cards by requests of 100 cards over 64 connections, and by \`cardvault import\` from CSV; scheme 7, one tag, each into an empty vault, one after the other.

${aligned(table)}
`;
}

/** The page, without the sections of other commands. */
export function resultsPage({ matrix, growth, soak, peer, import: imported }: Results): string {
  const sections = [
    matrix === undefined ? [] : [matrixSection(matrix)],
    growth === undefined ? [] : [growthSection(growth)],
    soak === undefined ? [] : [soakSection(soak)],
    peer === undefined ? [] : [peerSection(peer)],
    imported === undefined ? [] : [importSection(imported)],
  ].flat();
  return `# Benchmark results

Written by \`npm run bench\`; how: [Benchmarks](README.md).

${sections.join('\n')}`;
}
