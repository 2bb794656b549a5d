/** Figures as they are stored: measurements write them, pages and picture are made of them. CPU is microseconds. */

/** Machine, date and versions of a measurement. */
export interface Conditions {
  /** Such as `2026-01-31`. */
  readonly date: string;
  readonly cores: number;
  readonly processor: string;
  readonly memoryGiB: number;
  readonly node: string;
  readonly version: string;
  /** Settings from the environment that change how fast a node is. */
  readonly settings: Readonly<Record<string, string>>;
}

export type Measured<Figures> = Figures & { readonly conditions: Conditions };

/** The newest result of each measurement, as `bench/results.json` stores them. Pages and picture are made of it. */
export interface Results {
  readonly matrix?: Measured<Matrix>;
  readonly growth?: Measured<Growth>;
  readonly soak?: Measured<Soak>;
  readonly peer?: Measured<PeerComparison>;
  readonly import?: Measured<Import>;
}

export type DatabaseName = 'SQLite' | 'PostgreSQL';

export interface MatrixSettings {
  readonly rounds: number;
  /** Length of a round. */
  readonly seconds: number;
  readonly connections: readonly number[];
  /** Parts of names of requests to measure; none is all. */
  readonly only: readonly string[];
  readonly databases: readonly DatabaseName[];
  /** Requests of each kind before the first round, for at most `warmSeconds`: code has to be compiled. */
  readonly warmRequests: number;
  readonly warmSeconds: number;
  /** Seconds at 70 % load for each request; 0 is none. */
  readonly openSeconds: number;
  /** Seconds between the start and the first request. */
  readonly settleSeconds: number;
  /** Records to read, of each kind. */
  readonly records: number;
}

/** One request, database and number of connections: medians over the rounds. CPU is for each request. */
export interface Figure {
  readonly request: string;
  readonly database: DatabaseName | '-';
  readonly connections: number;
  readonly perSecond: number;
  /** Requests, or cards, a second beside those of the bare echo in the same round. */
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpu: number;
  readonly databaseCpu: number;
  /** CPU of service and database beside that of the bare echo in the same round. */
  readonly cpuRatio: number;
  /** The fraction of a core that the load took. */
  readonly loadShare: number;
  /** CPU of the signatures of a request, made alone in the same round, beside the CPU of the service. */
  readonly signing?: number;
  /** CPU of a bare server that makes the same signatures, beside the CPU of the service. */
  readonly bareSigning?: number;
  /**
   * Latency when requests arrive independently of one another at 70 % of the rate. `usualP99`: the median of those of five parts of the
   * time; absent in older results.
   */
  readonly open?: {
    readonly perSecond: number;
    readonly p50: number;
    readonly p99: number;
    readonly usualP99?: number;
  };
}

/** The bare echo, medians over all rounds with this number of connections. `open`: as of a request, at 70 % of its own rate. */
export interface EchoFigure {
  readonly open?: Figure['open'];
  readonly connections: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpu: number;
  readonly loadShare: number;
}

export interface Memory {
  readonly database: DatabaseName;
  /** Milliseconds from the start to the first 200 of /readyz. */
  readonly startMs: number;
  /** Bytes: before the first request, and after all of them. */
  readonly idle: number;
  readonly loaded: number;
}

export interface Matrix {
  /** True where rate limits count each request; results of before 2026-11-28 were made without limits. */
  readonly isLimited?: boolean;
  readonly settings: MatrixSettings;
  readonly postgres?: string;
  readonly figures: readonly Figure[];
  readonly echoes: readonly EchoFigure[];
  readonly memory: readonly Memory[];
  /** Requests that could not be measured, each with the reason. */
  readonly problems: readonly string[];
}

export interface GrowthSettings {
  /** Tokens of each vault, beside the empty one. */
  readonly sizes: readonly number[];
  readonly databases: readonly DatabaseName[];
  readonly rounds: number;
  readonly seconds: number;
}

/** A vault that was filled. CPU is for each card, of service and database. */
export interface Filling {
  readonly database: DatabaseName;
  readonly tokens: number;
  readonly cardsPerSecond: number;
  readonly cpu: number;
  /** Bytes of the database with its indexes, less those of an empty vault. */
  readonly bytes: number;
}

/** Medians over the rounds. */
export interface GrowthFigure {
  readonly database: DatabaseName;
  readonly request: string;
  readonly tokens: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** Requests a second beside those of the empty vault in the same round. */
  readonly rate: number;
  /** CPU of service and database beside that of the empty vault in the same round. */
  readonly cpuRatio: number;
  /** Bytes a second that the service writes over SQLite. Results of before 2026-11-28 have none. */
  readonly written?: number;
}

/** Databases that the newest measurement left out, as they were measured before. */
export type EarlierGrowth = Measured<Pick<Growth, 'postgres' | 'fillings' | 'figures'>>;

export interface Growth {
  readonly settings: GrowthSettings;
  readonly postgres?: string;
  readonly fillings: readonly Filling[];
  readonly figures: readonly GrowthFigure[];
  /** Random pages of four kilobytes a second that the disk takes in a file of the size of the largest vault over SQLite. */
  readonly diskPages?: number;
  readonly before?: EarlierGrowth;
}

export interface SoakSettings {
  readonly minutes: number;
  readonly database: DatabaseName;
}

/** Each interval of a soak begins with what the service can do in so many seconds. */
export const CAPACITY_SECONDS = 5;

/** One interval of a long load. */
export interface Interval {
  /** Its end, in seconds since the begin. */
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** For each request, of service and database. */
  readonly cpu: number;
  /** It tells the machine from the service. Results of before 2026-11-27 have none. */
  readonly reference?: {
    /** A bare echo, which was measured at the begin of the interval. */
    readonly echo: { readonly perSecond: number; readonly p99: number; readonly cpu: number };
    /** Requests a second that the service could do at the begin of the interval. */
    readonly capacity: number;
    /** The median of the 99th percentiles of each five seconds. */
    readonly usualP99: number;
    /** The fraction of the time of all cores that the host gave to other machines. */
    readonly stolen: number;
    /** Milliseconds of a flush of four kilobytes in another file, beside the load. */
    readonly flush: { readonly p50: number; readonly p99: number };
  };
  /** Bytes. */
  readonly memory: number;
  readonly databaseBytes: number;
  /** The write-ahead log of SQLite; 0 over PostgreSQL. */
  readonly logBytes: number;
}

export interface Soak {
  readonly settings: SoakSettings;
  readonly postgres?: string;
  /** Requests a second that the service could do before the first interval. */
  readonly capacity: number;
  readonly intervals: readonly Interval[];
  /** The reason why it ended early. */
  readonly problem?: string;
}

/** Medians over the rounds; CPU is for each card. */
export interface PeerFigure {
  readonly name: string;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly cpu: number;
  readonly databaseCpu: number;
  /** Cards for each second of CPU, of service and database, beside those of the peer in the same round. */
  readonly perCpuSecond: number;
}

export interface PeerComparison {
  readonly rounds: number;
  readonly seconds: number;
  readonly postgres: string;
  readonly figures: readonly PeerFigure[];
}

export interface ImportSettings {
  readonly cards: number;
  readonly databases: readonly DatabaseName[];
}

export interface Import {
  readonly settings: ImportSettings;
  readonly postgres?: string;
  /** Cards a second, by requests of 100 cards and by the import of a file. */
  readonly figures: readonly {
    readonly database: DatabaseName;
    readonly cards: number;
    readonly requested: number;
    readonly imported: number;
  }[];
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2;
}

/** Returns the value below which a fraction of sorted values is; NaN when there are none. */
export const percentile = (sorted: ArrayLike<number>, fraction: number): number =>
  sorted[Math.floor((sorted.length - 1) * fraction)] ?? Number.NaN;

/** The pairs of values that both sides order alike, less those that they order differently (Kendall). */
function concordance(one: readonly number[], other: readonly number[]): number {
  let sum = 0;
  for (let later = 0; later < one.length; later++)
    for (let earlier = 0; earlier < later; earlier++)
      sum += Math.sign(difference(one, later, earlier)) * Math.sign(difference(other, later, earlier));
  return sum;
}

const difference = (values: readonly number[], one: number, other: number): number =>
  (values[one] ?? Number.NaN) - (values[other] ?? Number.NaN);

const pairsOf = ({ length }: readonly number[]): number => (length * (length - 1)) / 2;

/** Kendall's rank correlation: 1 when both sides order all pairs alike, 0 without a relation. */
export const rankCorrelation = (one: readonly number[], other: readonly number[]): number =>
  concordance(one, other) / pairsOf(one);

/** How values change from the first to the last. */
export interface Trend {
  /** The change by the median of the slopes between all pairs (Theil and Sen), as a fraction of the median. */
  readonly change: number;
  /** True when order and values are related by Kendall's test, which is wrong in one of twenty cases without a relation. */
  readonly isSignificant: boolean;
}

const NORMAL_95 = 1.96;

/** A few values that are far from the others, as of minutes in which the machine stalls, change neither result much. */
export function trendOf(values: readonly number[]): Trend {
  const { length } = values;
  const slopes = values.flatMap((_, later) =>
    Array.from({ length: later }, (_, earlier) => difference(values, later, earlier) / (later - earlier)),
  );
  const deviation = Math.sqrt((length * (length - 1) * (2 * length + 5)) / 18);
  return {
    change: (median(slopes) * (length - 1)) / median(values),
    // One less, because the sum takes whole steps of two (correction for continuity).
    isSignificant: Math.abs(concordance(values, [...values.keys()])) - 1 > NORMAL_95 * deviation,
  };
}
