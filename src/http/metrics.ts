import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import { MAC_TABLES } from '../accounts/mac-tables.ts';
import type { StoredVerification } from '../audit/verification-store.ts';
import type { CertificateExpiry } from '../proxy/proxy-configuration-store.ts';
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
}

/**
 * Prometheus metrics. Labels are route patterns and values of closed lists, never data; the only id is that of the
 * account whose certificate expires.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #durations = new RequestDurations();
  readonly #failures: Counter<'listener' | 'failure'>;
  readonly #swept: Counter<'kind'>;
  readonly #operations: Counter<'environment' | 'processor' | 'operation' | 'result'>;
  readonly #refusedConnections: Counter<'listener'>;
  readonly #refusedHosts: Counter<'environment' | 'processor'>;

  /** `vault`: absent in a thread that only serves requests. */
  constructor(countWaitingWrites: () => number, vault?: VaultSources) {
    collectDefaultMetrics({ register: this.registry, prefix: 'cardvault_' });
    this.registry.registerMetric(this.#durations as unknown as Metric);
    this.#failures = this.#newCounter('cardvault_failures_total', 'Failed requests by failure code', [
      'listener',
      'failure',
    ]);
    this.#swept = this.#newCounter('cardvault_swept_records_total', 'Records removed because their time had come', [
      'kind',
    ]);
    this.#operations = this.#newCounter(
      'cardvault_payment_operations_total',
      'Operations on payments by result: the status of the payment, failed, or unknown',
      ['environment', 'processor', 'operation', 'result'],
    );
    this.#refusedHosts = this.#newCounter(
      'cardvault_processor_hosts_refused_total',
      'Requests that were not sent because their host is not allowed in production',
      ['environment', 'processor'],
    );
    this.#refusedConnections = this.#newCounter(
      'cardvault_connections_refused_total',
      'Connections that were closed because their address had too many',
      ['listener'],
    );
    const waitingHelp = 'Units of writes that wait for the next durable commit';
    addGauge(this.registry, 'cardvault_waiting_writes', waitingHelp, [], async () => [[{}, countWaitingWrites()]]);
    if (vault === undefined) return;
    addStateGauges(this.registry, vault);
    addProtectionGauges(this.registry, vault);
    addVerificationGauges(this.registry, vault);
  }

  observeRequest(listener: string, method: string, route: string, status: number, milliseconds: number): void {
    this.#durations.observe({ listener, method, route, status }, milliseconds / 1000);
  }

  countFailure(listener: string, failure: string): void {
    this.#failures.inc({ listener, failure });
  }

  countOperation(environment: string, processor: string, operation: string, result: string): void {
    this.#operations.inc({ environment, processor, operation, result });
  }

  countRefusedHost(environment: string, processor: string): void {
    this.#refusedHosts.inc({ environment, processor });
  }

  countRefusedConnection(listener: string): void {
    this.#refusedConnections.inc({ listener });
  }

  countSwept(kind: string, count: number): void {
    this.#swept.inc({ kind }, count);
  }

  #newCounter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** Adds a gauge that is read at each scrape. One whose source fails has no value then; the other metrics are needed all the more. */
function addGauge(
  registry: Registry,
  name: string,
  help: string,
  labelNames: string[],
  read: () => Promise<readonly Sample[]>,
): void {
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
}

/** Adds gauges of expiries and payments in doubt. */
function addStateGauges(registry: Registry, sources: VaultSources): void {
  const certificateLabels = ['account', 'environment', 'certificate'];
  const certificateHelp = 'When a certificate of an account’s proxy ends, Unix time';
  addGauge(registry, 'cardvault_proxy_certificate_end_seconds', certificateHelp, certificateLabels, async () =>
    (await sources.listCertificateExpiries()).map(({ account, environment, certificate, expiresAt }) => [
      { account, environment, certificate },
      expiresAt / 1000,
    ]),
  );
  addGauge(registry, 'cardvault_payments_doubtful', 'Payments with an unknown outcome', [], async () => [
    [{}, await sources.countInDoubtPayments()],
  ]);
  addGauge(registry, 'cardvault_ready', '1 while the database takes reads and writes', [], async () => [
    [{}, (await sources.isReady()) ? 1 : 0],
  ]);
}

/** Adds gauges of the safeguards of records: time, rows, keys. */
function addProtectionGauges(registry: Registry, sources: VaultSources): void {
  const trustHelp = '1 while the clock agrees with the time that has passed; otherwise nothing expires or is deleted';
  addGauge(registry, 'cardvault_time_trusted', trustHelp, [], async () => [[{}, sources.isTimeTrusted() ? 1 : 0]]);
  const alteredHelp = 'Rows that were changed in the database itself, by table';
  addGauge(registry, 'cardvault_altered_rows', alteredHelp, ['table'], async () => {
    const counts = await sources.countAlteredRows();
    return MAC_TABLES.map(({ name: table }) => [{ table }, counts.get(table) ?? 0]);
  });
  const missingHelp =
    'Keys that captures name and that are not here: security codes and track data of those captures are lost';
  addGauge(registry, 'cardvault_sad_keys_missing', missingHelp, [], async () => [
    [{}, await sources.countMissingSadKeys()],
  ]);
}

/** Adds gauges of the verification of the audit log. */
function addVerificationGauges(registry: Registry, sources: VaultSources): void {
  const verifications = (name: string, help: string, measure: (stored: StoredVerification) => number): void =>
    addGauge(registry, name, help, ['kind'], async () =>
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
