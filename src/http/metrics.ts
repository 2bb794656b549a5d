import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { CertificateEnd } from '../proxy/configuration-store.ts';

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/**
 * Prometheus metrics. Labels are route patterns and words of closed lists, never data; the one id is that of the account
 * whose certificate ends.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #durations: Histogram<'listener' | 'method' | 'route' | 'status'>;
  readonly #children = new Map<string, { observe(seconds: number): void }>();
  readonly #failures: Counter<'listener' | 'failure'>;
  readonly #swept: Counter<'kind'>;
  readonly #operations: Counter<'environment' | 'processor' | 'operation' | 'result'>;

  constructor(options: {
    waitingWrites: () => number;
    ready: () => Promise<boolean>;
    certificateEnds: () => Promise<readonly CertificateEnd[]>;
    doubtfulPayments: () => Promise<number>;
  }) {
    const registers = [this.registry];
    collectDefaultMetrics({ register: this.registry, prefix: 'cardvault_' });
    this.#durations = new Histogram({
      name: 'cardvault_http_request_duration_seconds',
      help: 'Duration of requests by route pattern and status',
      labelNames: ['listener', 'method', 'route', 'status'],
      buckets: SECONDS,
      registers,
    });
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
    new Gauge({
      name: 'cardvault_waiting_writes',
      help: 'Units of writes that wait for the next durable commit',
      registers,
      collect() {
        this.set(options.waitingWrites());
      },
    });
    new Gauge({
      name: 'cardvault_proxy_certificate_end_seconds',
      help: 'When a certificate of an account’s proxy ends, Unix time',
      labelNames: ['account', 'environment', 'certificate'],
      registers,
      async collect() {
        this.reset();
        // Without the database there is nothing to say, and the other metrics are wanted all the more.
        const ends = await options.certificateEnds().catch(() => []);
        for (const { account, environment, certificate, at } of ends)
          this.set({ account, environment, certificate }, at / 1000);
      },
    });
    new Gauge({
      name: 'cardvault_payments_doubtful',
      help: 'Payments with an outcome that nobody knows yet',
      registers,
      async collect() {
        this.reset();
        const count = await options.doubtfulPayments().catch(() => undefined);
        if (count !== undefined) this.set(count);
      },
    });
    new Gauge({
      name: 'cardvault_ready',
      help: '1 while the database takes reads and writes',
      registers,
      async collect() {
        this.set((await options.ready()) ? 1 : 0);
      },
    });
  }

  request(listener: string, method: string, route: string, status: number, milliseconds: number): void {
    const name = `${listener} ${method} ${route} ${status}`;
    let child = this.#children.get(name);
    if (child === undefined) {
      child = this.#durations.labels({ listener, method, route, status: String(status) });
      this.#children.set(name, child);
    }
    child.observe(milliseconds / 1000);
  }

  failure(listener: string, failure: string): void {
    this.#failures.inc({ listener, failure });
  }

  operation(environment: string, processor: string, operation: string, result: string): void {
    this.#operations.inc({ environment, processor, operation, result });
  }

  swept(kind: string, count: number): void {
    this.#swept.inc({ kind }, count);
  }
}
