import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import { MAC_TABLES } from '../accounts/mac-tables.ts';
import type { StoredVerification } from '../audit/verification-store.ts';
import type { CertificateExpiry } from '../proxy/proxy-configuration-store.ts';
import { RequestDurations } from './request-durations.ts';

/** Sources of the gauges. One that fails leaves its gauge without a value; the others are still served. */
interface MetricSources {
  readonly countWaitingWrites: () => number;
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

  constructor(sources: MetricSources) {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry, prefix: 'cardvault_' });
    this.registry.registerMetric(this.#durations as unknown as Metric);
    this.#failures = new Counter({
      name: 'cardvault_failures_total',
      help: 'Failed requests by failure code',
      labelNames: ['listener', 'failure'],
      registers,
    });
    this.#swept = new Counter({
      name: 'cardvault_swept_records_total',
      help: 'Records removed because their time had come',
      labelNames: ['kind'],
      registers,
    });
    this.#operations = new Counter({
      name: 'cardvault_payment_operations_total',
      help: 'Operations on payments by result: the status of the payment, failed, or unknown',
      labelNames: ['environment', 'processor', 'operation', 'result'],
      registers,
    });
    this.#refusedHosts = new Counter({
      name: 'cardvault_processor_hosts_refused_total',
      help: 'Requests that were not sent because their host is not allowed in production',
      labelNames: ['environment', 'processor'],
      registers,
    });
    this.#refusedConnections = new Counter({
      name: 'cardvault_connections_refused_total',
      help: 'Connections that were closed because their address had too many',
      labelNames: ['listener'],
      registers,
    });
    addStateGauges(this.registry, sources);
    addProtectionGauges(this.registry, sources);
    addVerificationGauges(this.registry, sources);
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
}

/** Adds gauges of queued writes, expiries and payments in doubt. */
function addStateGauges(registry: Registry, sources: MetricSources): void {
  const registers = [registry];
  new Gauge({
    name: 'cardvault_waiting_writes',
    help: 'Units of writes that wait for the next durable commit',
    registers,
    collect() {
      this.set(sources.countWaitingWrites());
    },
  });
  new Gauge({
    name: 'cardvault_proxy_certificate_end_seconds',
    help: 'When a certificate of an account’s proxy ends, Unix time',
    labelNames: ['account', 'environment', 'certificate'],
    registers,
    async collect() {
      this.reset();
      // Without the database these gauges have no values, but the other metrics are needed all the more.
      const ends = await sources.listCertificateExpiries().catch(() => []);
      for (const { account, environment, certificate, expiresAt } of ends)
        this.set({ account, environment, certificate }, expiresAt / 1000);
    },
  });
  new Gauge({
    name: 'cardvault_payments_doubtful',
    help: 'Payments with an unknown outcome',
    registers,
    async collect() {
      this.reset();
      const count = await sources.countInDoubtPayments().catch(() => undefined);
      if (count !== undefined) this.set(count);
    },
  });
  new Gauge({
    name: 'cardvault_ready',
    help: '1 while the database takes reads and writes',
    registers,
    async collect() {
      this.set((await sources.isReady()) ? 1 : 0);
    },
  });
}

/** Adds gauges of the safeguards of records: time, rows, keys. */
function addProtectionGauges(registry: Registry, sources: MetricSources): void {
  const registers = [registry];
  new Gauge({
    name: 'cardvault_time_trusted',
    help: '1 while the clock agrees with the time that has passed; otherwise nothing expires or is deleted',
    registers,
    collect() {
      this.set(sources.isTimeTrusted() ? 1 : 0);
    },
  });
  new Gauge({
    name: 'cardvault_altered_rows',
    help: 'Rows that were changed in the database itself, by table',
    labelNames: ['table'],
    registers,
    async collect() {
      this.reset();
      const counts = await sources.countAlteredRows().catch(() => undefined);
      if (counts === undefined) return;
      for (const { name: table } of MAC_TABLES) this.set({ table }, counts.get(table) ?? 0);
    },
  });
  new Gauge({
    name: 'cardvault_sad_keys_missing',
    help: 'Keys that captures name and that are not here: security codes and track data of those captures are lost',
    registers,
    async collect() {
      this.reset();
      const count = await sources.countMissingSadKeys().catch(() => undefined);
      if (count !== undefined) this.set(count);
    },
  });
}

/** Adds gauges of the verification of the audit log. */
function addVerificationGauges(registry: Registry, sources: MetricSources): void {
  const registers = [registry];
  const verifications = (name: string, help: string, measure: (stored: StoredVerification) => number): void => {
    new Gauge({
      name,
      help,
      labelNames: ['kind'],
      registers,
      async collect() {
        this.reset();
        for (const stored of await sources.listVerifications().catch(() => []))
          this.set({ kind: stored.kind }, measure(stored));
      },
    });
  };
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
