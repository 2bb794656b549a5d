import type { Metric, Registry } from 'prom-client';
import { MAC_TABLES } from '../accounts/mac-tables.ts';
import type { StoredVerification } from '../audit/verification-store.ts';
import type { Environment } from '../kernel/environment.ts';
import type { CertificateExpiry } from '../proxy/proxy-configuration-store.ts';
import type { ExecutedWrites } from '../storage/database.ts';
import { RequestDurations } from './request-durations.ts';

/** Sources of the gauges of a vault. One that fails leaves its gauge without a value; the others are still served. */
interface VaultSources {
  readonly isReady: () => Promise<boolean>;
  readonly isTimeTrusted: () => boolean;
  readonly listCertificateExpiries: () => Promise<readonly CertificateExpiry[]>;
  readonly countInDoubtPayments: () => Promise<number>;
  readonly listVerifications: () => Promise<readonly StoredVerification[]>;
  /** Altered rows by table. */
  readonly countAlteredRows: () => Promise<ReadonlyMap<string, number>>;
  readonly countMissingSadKeys: () => Promise<number>;
  /** Milliseconds since the newest backup and since the newest drill without a fault; undefined for none. */
  readonly readBackupAges: () => Promise<Readonly<Record<'backup' | 'drill', number | undefined>>>;
  /** Deliveries of webhooks that wait, up to a bound, and the age of the oldest in seconds. */
  readonly countWaitingWebhooks: () => Promise<{ readonly number: number; readonly ageSeconds: number }>;
  readonly countUnfinishedRotations: () => Promise<number>;
  readonly countOverdueKeys: () => Promise<number>;
  /** When the certificate of the listeners ends, Unix time in milliseconds; undefined when it cannot be read. */
  readonly certificateEnd: () => number | undefined;
  /** The same for each certificate with which the service is a client of another one, by its use. */
  readonly listClientCertificateEnds: () => readonly (readonly [use: string, end: number | undefined])[];
  readonly countExpiringKeys: () => Promise<ReadonlyMap<Environment, number>>;
  /** Bytes of the file system below the data directory, or the file of the database. */
  readonly measureDisk: () => Promise<{ readonly free: number; readonly total: number }>;
  /** Bytes that the database takes. */
  readonly measureDatabase: () => Promise<number>;
  /** How far each receiver of the audit log is behind. */
  readonly measureShipping: () => Promise<readonly ShippingLag[]>;
}

/** The writes of a thread. */
interface WriteState {
  /** Units that wait. */
  readonly waiting: number;
  readonly executed: ExecutedWrites;
}

/** The writes of a thread without a database. */
export const NO_WRITES: WriteState = { waiting: 0, executed: { groups: 0, units: 0 } };

interface ShippingLag {
  readonly target: string;
  readonly records: number;
  /** Age of the oldest record that was not sent, in milliseconds. */
  readonly age: number;
}

/** A counter with one series for each combination of labels. Few combinations occur. */
class Counter<Label extends string> {
  readonly name: string;
  readonly #help: string;
  readonly #series = new Map<string, { readonly labels: Readonly<Record<Label, string>>; value: number }>();

  constructor(name: string, help: string) {
    this.name = name;
    this.#help = help;
  }

  /** `labels`: always in the same order. */
  add(labels: Readonly<Record<Label, string>>, count = 1): void {
    const key = JSON.stringify(labels);
    const series = this.#series.get(key);
    if (series === undefined) this.#series.set(key, { labels, value: count });
    else series.value += count;
  }

  /** Called by the registry. */
  async get() {
    return { name: this.name, help: this.#help, type: 'counter', values: [...this.#series.values()] };
  }
}

const newCounters = () => ({
  failures: new Counter<'listener' | 'failure'>('cardvault_failures_total', 'Failed requests by failure code'),
  unrecorded: new Counter<'listener'>(
    'cardvault_requests_unrecorded_total',
    'Failed requests that are missing in the request log, because too many waited to be written',
  ),
  swept: new Counter<'kind'>('cardvault_swept_records_total', 'Records removed because their time had come'),
  resealed: new Counter<'purpose'>(
    'cardvault_resealed_records_total',
    'Records that a rotation of keys sealed again, by the purpose of the key',
  ),
  operations: new Counter<'environment' | 'processor' | 'operation' | 'result'>(
    'cardvault_payment_operations_total',
    'Operations on payments by result: the status of the payment, failed, or unknown',
  ),
  refusedHosts: new Counter<'environment' | 'processor'>(
    'cardvault_processor_hosts_refused_total',
    'Requests that were not sent because their host is not allowed in production',
  ),
  webhookAttempts: new Counter<'result'>(
    'cardvault_webhook_attempts_total',
    'Attempts to deliver webhooks by result: delivered, retried later, or failed permanently',
  ),
  refusedConnections: new Counter<'listener'>(
    'cardvault_connections_refused_total',
    'Connections that were closed because their address had too many',
  ),
  closedPipelinedConnections: new Counter<'listener'>(
    'cardvault_pipelined_connections_closed_total',
    'Connections that were closed because too many requests on them waited for the response of an earlier one',
  ),
});

type Prometheus = typeof import('prom-client');

/**
 * Prometheus metrics. Labels are route patterns and values of closed lists, never data; the only id is that of the
 * account whose certificate expires. The library is loaded by the first scrape, because loading it costs every process and
 * every thread 60 ms of CPU.
 */
export class Metrics {
  readonly #durations = new RequestDurations();
  readonly #counters = newCounters();
  readonly #readWrites: () => WriteState;
  readonly #vault: VaultSources | undefined;
  #registry: Promise<Registry> | undefined;

  /** `vault`: absent in a thread that only serves requests. */
  constructor(readWrites: () => WriteState, vault?: VaultSources) {
    this.#readWrites = readWrites;
    this.#vault = vault;
  }

  /** Returns all metrics. Time of the processor, garbage collection and delays are measured from the first call on. */
  registry(): Promise<Registry> {
    this.#registry ??= this.#openRegistry();
    return this.#registry;
  }

  async #openRegistry(): Promise<Registry> {
    const prometheus = await import('prom-client');
    const registry = new prometheus.Registry();
    prometheus.collectDefaultMetrics({ register: registry, prefix: 'cardvault_' });
    for (const own of [this.#durations, ...Object.values(this.#counters)])
      registry.registerMetric(own as unknown as Metric);
    const newGauge = gaugesOf(prometheus, registry);
    const waitingHelp = 'Units of writes that wait for the next durable commit';
    newGauge('cardvault_waiting_writes', waitingHelp, [], async () => [[{}, this.#readWrites().waiting]]);
    const addCounter = (name: string, help: string, key: keyof ExecutedWrites): void => {
      const get = async () => {
        const value = this.#readWrites().executed[key];
        return { name, help, type: 'counter', values: [{ labels: {}, value }] };
      };
      registry.registerMetric({ name, get } as unknown as Metric);
    };
    addCounter('cardvault_write_groups_total', 'Groups of units of writes that the database has executed', 'groups');
    addCounter('cardvault_write_units_total', 'Units of writes in these groups', 'units');
    if (this.#vault === undefined) return registry;
    addStateGauges(newGauge, this.#vault);
    addProtectionGauges(newGauge, this.#vault);
    addVerificationGauges(newGauge, this.#vault);
    addShippingGauges(newGauge, this.#vault);
    addBackupGauges(newGauge, this.#vault);
    addSpaceGauges(newGauge, this.#vault);
    return registry;
  }

  observeRequest(listener: string, method: string, route: string, status: number, milliseconds: number): void {
    this.#durations.observe({ listener, method, route, status }, milliseconds / 1000);
  }

  countFailure(listener: string, failure: string): void {
    this.#counters.failures.add({ listener, failure });
  }

  countUnrecordedRequest(listener: string): void {
    this.#counters.unrecorded.add({ listener });
  }

  countOperation(environment: string, processor: string, operation: string, result: string): void {
    this.#counters.operations.add({ environment, processor, operation, result });
  }

  countRefusedHost(environment: string, processor: string): void {
    this.#counters.refusedHosts.add({ environment, processor });
  }

  countRefusedConnection(listener: string): void {
    this.#counters.refusedConnections.add({ listener });
  }

  countTooManyPipelined(listener: string): void {
    this.#counters.closedPipelinedConnections.add({ listener });
  }

  countWebhookAttempt(result: 'delivered' | 'retried' | 'failed'): void {
    this.#counters.webhookAttempts.add({ result });
  }

  countResealed(purpose: string, count: number): void {
    if (count > 0) this.#counters.resealed.add({ purpose }, count);
  }

  countSwept(kind: string, count: number): void {
    this.#counters.swept.add({ kind }, count);
  }
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

type NewGauge = ReturnType<typeof gaugesOf>;

/**
 * Returns a function that adds a gauge, which is read at each scrape. One whose source fails has no value then; the other
 * metrics are needed all the more.
 */
const gaugesOf =
  ({ Gauge }: Prometheus, registry: Registry) =>
  (name: string, help: string, labelNames: string[], read: () => Promise<readonly Sample[]>): void => {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const samples = await read().catch(() => []);
        this.reset();
        // After a reset, a gauge without labels is 0.
        if (labelNames.length === 0) this.remove({});
        for (const [labels, value] of samples) this.set(labels, value);
      },
    });
  };

/** Adds gauges of expiries and payments in doubt. */
function addStateGauges(newGauge: NewGauge, sources: VaultSources): void {
  const certificateLabels = ['account', 'environment', 'certificate'];
  const certificateHelp = 'When a certificate of an account’s proxy ends, Unix time';
  newGauge('cardvault_proxy_certificate_end_seconds', certificateHelp, certificateLabels, async () =>
    (await sources.listCertificateExpiries()).map(({ account, environment, certificate, expiresAt }) => [
      { account, environment, certificate },
      expiresAt / 1000,
    ]),
  );
  newGauge('cardvault_payments_doubtful', 'Payments with an unknown outcome', [], async () => [
    [{}, await sources.countInDoubtPayments()],
  ]);
  const waitingHelp = 'Deliveries of webhooks that wait for their next attempt';
  newGauge('cardvault_webhooks_waiting', waitingHelp, [], async () => [
    [{}, (await sources.countWaitingWebhooks()).number],
  ]);
  const ageHelp = 'Age of the oldest event whose delivery waits, in seconds';
  newGauge('cardvault_webhooks_oldest_waiting_seconds', ageHelp, [], async () => [
    [{}, (await sources.countWaitingWebhooks()).ageSeconds],
  ]);
  newGauge('cardvault_ready', '1 while the database takes reads and writes', [], async () => [
    [{}, (await sources.isReady()) ? 1 : 0],
  ]);
}

/** Adds gauges of the safeguards of records: time, rows, keys. */
function addProtectionGauges(newGauge: NewGauge, sources: VaultSources): void {
  const trustHelp = '1 while the clock agrees with the time that has passed; otherwise nothing expires or is deleted';
  newGauge('cardvault_time_trusted', trustHelp, [], async () => [[{}, sources.isTimeTrusted() ? 1 : 0]]);
  const alteredHelp = 'Rows that were changed in the database itself, by table';
  newGauge('cardvault_altered_rows', alteredHelp, ['table'], async () => {
    const counts = await sources.countAlteredRows();
    return MAC_TABLES.map(({ name: table }) => [{ table }, counts.get(table) ?? 0]);
  });
  const missingHelp =
    'Keys that captures name and that are not here: security codes and track data of those captures are lost';
  newGauge('cardvault_sad_keys_missing', missingHelp, [], async () => [[{}, await sources.countMissingSadKeys()]]);
  const rotationsHelp = 'Keys whose rotation is in progress: records are still sealed under an older version';
  newGauge('cardvault_key_rotations_unfinished', rotationsHelp, [], async () => [
    [{}, await sources.countUnfinishedRotations()],
  ]);
  newGauge('cardvault_keys_overdue', 'Keys that are older than their period', [], async () => [
    [{}, await sources.countOverdueKeys()],
  ]);
  const endHelp = 'When the certificate of the listeners ends, Unix time';
  newGauge('cardvault_certificate_end_seconds', endHelp, [], async () => {
    const end = sources.certificateEnd();
    return end === undefined ? [] : [[{}, end / 1000]];
  });
  const clientHelp = 'When a certificate ends with which the service is a client, Unix time';
  newGauge('cardvault_client_certificate_end_seconds', clientHelp, ['use'], async () =>
    sources.listClientCertificateEnds().flatMap(([use, end]) => (end === undefined ? [] : [[{ use }, end / 1000]])),
  );
  const expiringHelp = 'Active API keys that expire within 14 days and have no successor';
  newGauge('cardvault_api_keys_expiring', expiringHelp, ['environment'], async () =>
    [...(await sources.countExpiringKeys())].map(([environment, count]) => [{ environment }, count]),
  );
}

/** Adds gauges of the disk and the database. */
function addSpaceGauges(newGauge: NewGauge, sources: VaultSources): void {
  const diskHelp = 'Bytes of the file system with the database or, over PostgreSQL, with the data directory';
  newGauge('cardvault_disk_bytes', diskHelp, ['kind'], async () => {
    const { free, total } = await sources.measureDisk();
    return [
      [{ kind: 'free' }, free],
      [{ kind: 'total' }, total],
    ];
  });
  newGauge('cardvault_database_bytes', 'Bytes that the database takes on its disk', [], async () => [
    [{}, await sources.measureDatabase()],
  ]);
}

/** Adds gauges of the ages of backups, which have no value while there is none. */
function addBackupGauges(newGauge: NewGauge, { readBackupAges }: VaultSources): void {
  const ages = (name: string, help: string, kind: 'backup' | 'drill'): void =>
    newGauge(name, help, [], async () => {
      const age = (await readBackupAges())[kind];
      return age === undefined ? [] : [[{}, age / 1000]];
    });
  ages('cardvault_backup_age_seconds', 'Time since the newest verified backup', 'backup');
  ages('cardvault_backup_drill_age_seconds', 'Time since the newest drill of a backup without a fault', 'drill');
}

/** Adds gauges of the verification of the audit log. */
function addVerificationGauges(newGauge: NewGauge, sources: VaultSources): void {
  const verifications = (name: string, help: string, measure: (stored: StoredVerification) => number): void =>
    newGauge(name, help, ['kind'], async () =>
      (await sources.listVerifications()).map((stored) => [{ kind: stored.kind }, measure(stored)]),
    );
  verifications(
    'cardvault_audit_verified',
    '1 when the last verification of the audit log found no fault',
    ({ fault }) => (fault === '' ? 1 : 0),
  );
  verifications(
    'cardvault_audit_verified_records',
    'Records that the last verification of the audit log read',
    ({ records }) => records,
  );
  verifications(
    'cardvault_audit_verified_time_seconds',
    'When the audit log was last verified and in order, Unix time',
    ({ succeededAt }) => succeededAt / 1000,
  );
}

/** Adds gauges of the receivers of the audit log. */
function addShippingGauges(newGauge: NewGauge, sources: VaultSources): void {
  const recordsHelp = 'Records of the audit log that the receiver does not have';
  newGauge('cardvault_audit_unsent_records', recordsHelp, ['target'], async () =>
    (await sources.measureShipping()).map(({ target, records }) => [{ target }, records]),
  );
  const ageHelp = 'Age of the oldest record of the audit log that the receiver does not have';
  newGauge('cardvault_audit_unsent_age_seconds', ageHelp, ['target'], async () =>
    (await sources.measureShipping()).map(({ target, age }) => [{ target }, age / 1000]),
  );
}
