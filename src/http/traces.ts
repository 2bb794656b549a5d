import { AsyncLocalStorage } from 'node:async_hooks';
import { readFileSync } from 'node:fs';
import type { FastifyRequest } from 'fastify';
import { parseHeaders } from '../audit/otlp.ts';
import { ReceiverError } from '../audit/shipping.ts';
import { loadInstalledLibrary } from '../crypto/custody/installed-library.ts';
import type { Clock, MonotonicClock } from '../kernel/clock.ts';
import { SECOND } from '../kernel/clock.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import type { Step, StepObserver } from '../kernel/steps.ts';
import { formatTraceParent, parseTraceParent } from './traceparent.ts';

/**
 * Traces of requests by the official SDK of OpenTelemetry, sent to a collector by OTLP over HTTP. This file is loaded only
 * where traces are configured, and the SDK is the one that the operator has installed.
 */
export interface TracesOptions {
  /** The URL of traces, such as `https://collector.example:4318/v1/traces`. */
  readonly url: string;
  /** A file with lines of `Name: value`, which may hold a secret. */
  readonly headersFile: string | undefined;
  /** Authorities that certify the collector, PEM; undefined: those of Node. */
  readonly caFile: string | undefined;
  /** The part of the traces that is sent, from 0 to 1. */
  readonly ratio: number;
  /** The folder with the SDK; undefined: that of cardvault. */
  readonly librariesFolder: string | undefined;
  readonly version: string;
  readonly clock: Clock;
  readonly stopwatch: MonotonicClock;
  /** Called with the number of spans that the collector did not take. */
  onFailure(count: number): void;
}

/** A finished request, by values of closed lists and in checked formats. */
interface TracedResult {
  readonly listener: string;
  readonly method: string;
  readonly route: string;
  readonly status: number;
  readonly requestId: string;
  readonly account: string | undefined;
  readonly failure: string | undefined;
}

/** The attributes of all spans. A new one needs a reason why it can hold no data of cards, of bodies and of queries. */
export const SPAN_ATTRIBUTES = {
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  listener: 'cardvault.listener',
  requestId: 'cardvault.request_id',
  account: 'cardvault.account',
  failure: 'cardvault.failure',
  processor: 'cardvault.processor',
  operation: 'cardvault.operation',
  result: 'cardvault.result',
} as const;

type Attributes = Readonly<Record<string, string | number>>;

/** The parts of the SDK that are used. Times are seconds and nanoseconds. */
interface Span {
  spanContext(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
  setAttributes(attributes: Attributes): void;
  setStatus(status: { readonly code: number }): void;
  updateName(name: string): void;
  end(time: HrTime): void;
}

type HrTime = [seconds: number, nanoseconds: number];

interface SpanOptions {
  readonly kind: number;
  readonly startTime: HrTime;
  readonly attributes?: Attributes;
}

type Context = object;

interface Api {
  readonly ROOT_CONTEXT: Context;
  readonly trace: {
    setSpan(context: Context, span: Span): Context;
    setSpanContext(context: Context, span: object): Context;
  };
}

interface Provider {
  getTracer(name: string, version: string): { startSpan(name: string, options: SpanOptions, parent: Context): Span };
  shutdown(): Promise<void>;
}

interface Exporter {
  export(spans: readonly unknown[], done: (result: { readonly code: number }) => void): void;
  shutdown(): Promise<void>;
  forceFlush?(): Promise<void>;
}

type Newable<T> = new (...input: unknown[]) => T;

/** The packages of the SDK with the versions that the tests use. `package.json` names them as optional peers. */
export const SDK_PACKAGES = {
  '@opentelemetry/api': '1.10.0',
  '@opentelemetry/sdk-trace': '3.1.1',
  '@opentelemetry/resources': '3.1.1',
  '@opentelemetry/exporter-trace-otlp-proto': '0.301.1',
} as const;

/** The arguments of one installation: packages of different releases may not work with each other. */
export const SDK_INSTALLATION = Object.entries(SDK_PACKAGES)
  .map(([name, version]) => `${name}@${version}`)
  .join(' ');

/** Numbers of OpenTelemetry. */
const KIND = { internal: 0, server: 1, client: 2 };
const STATUS_ERROR = 2;
const SAMPLED = 1;
const EXPORTED = 0;

const SERVER_ERROR = 500;
/** Shorter than a stop waits, so that what is lost is counted. */
const SENDING_MS = 3 * SECOND;
const CLOSING_MS = 5 * SECOND;
const NANOSECONDS_PER_MS = 1e6;

/** The span of a request, which its response names. */
export interface RequestSpan {
  readonly span: Span;
  readonly context: Context;
  readonly startTime: HrTime;
  /** The value of `traceresponse`. */
  readonly responseHeader: string;
}

export class Traces implements StepObserver {
  readonly #api: Api;
  readonly #provider: Provider;
  readonly #tracer: ReturnType<Provider['getTracer']>;
  readonly #clock: Clock;
  readonly #stopwatch: MonotonicClock;
  /** The request whose steps run. */
  readonly #current = new AsyncLocalStorage<RequestSpan>();

  private constructor(api: Api, provider: Provider, { version, clock, stopwatch }: TracesOptions) {
    this.#api = api;
    this.#provider = provider;
    this.#tracer = provider.getTracer('cardvault', version);
    this.#clock = clock;
    this.#stopwatch = stopwatch;
  }

  /** Throws an `OperatorError` when the SDK is not installed, or a file cannot be read. */
  static async open(options: TracesOptions): Promise<Traces> {
    const load = (name: string) => loadInstalledLibrary(name, options.librariesFolder, SDK_INSTALLATION);
    const [api, sdk, resources, exporters] = await Promise.all(Object.keys(SDK_PACKAGES).map(load));
    const library = { ...sdk, ...resources, ...exporters } as Record<string, Newable<never>> & {
      resourceFromAttributes(attributes: Attributes): object;
    };
    const newOf = <T>(name: string, ...input: unknown[]): T => new (library[name] as unknown as Newable<T>)(...input);
    const exporter = newOf<Exporter>('OTLPTraceExporter', {
      url: options.url,
      headers: options.headersFile === undefined ? {} : readHeaders(options.headersFile),
      timeoutMillis: SENDING_MS,
      ...(options.caFile !== undefined && { httpAgentOptions: { ca: readSecret(options.caFile) } }),
    });
    const ratio = newOf('TraceIdRatioBasedSampler', options.ratio);
    const provider = newOf<Provider>('TracerProvider', {
      resource: library.resourceFromAttributes({ 'service.name': 'cardvault', 'service.version': options.version }),
      // A client decides about its own traces alone, and never sends more than the ratio.
      sampler: newOf('ParentBasedSampler', { root: ratio, remoteParentSampled: ratio }),
      spanProcessors: [newOf('BatchSpanProcessor', { exporter: reportFailures(exporter, options.onFailure) })],
    });
    return new Traces(api as unknown as Api, provider, options);
  }

  /**
   * Runs what a request does, whose steps become its children. Only a caller that was recognized (`isKnown`) continues a
   * trace of its own; any other request begins one.
   */
  within<T>(request: FastifyRequest, isKnown: boolean, run: () => T): T {
    const sent = request.headers['traceparent'];
    const parent = isKnown && typeof sent === 'string' ? parseTraceParent(sent) : undefined;
    const { ROOT_CONTEXT, trace } = this.#api;
    const { traceId, spanId } = parent ?? {};
    const traceFlags = parent?.isSampled === true ? SAMPLED : 0;
    const remote = { traceId, spanId, traceFlags, isRemote: true };
    const span = this.#begin(request, parent === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote));
    request.span = span;
    return this.#current.run(span, run);
  }

  /** A step outside of a request, such as one of the periodic work, has no span. */
  async observe<T>(step: Step, run: () => Promise<T>, describe?: (result: T) => string): Promise<T> {
    const parent = this.#current.getStore();
    if (parent === undefined) return run();
    const isCall = step.name === 'processor';
    const options = { kind: isCall ? KIND.client : KIND.internal, startTime: toHrTime(this.#clock()) };
    const span = this.#tracer.startSpan(isCall ? `processor ${step.operation}` : 'commit', options, parent.context);
    if (isCall)
      span.setAttributes({
        [SPAN_ATTRIBUTES.processor]: step.processor,
        [SPAN_ATTRIBUTES.operation]: step.operation,
      });
    const started = this.#stopwatch();
    try {
      const result = await run();
      if (describe !== undefined) span.setAttributes({ [SPAN_ATTRIBUTES.result]: describe(result) });
      return result;
    } catch (error) {
      // The message may contain data.
      span.setStatus({ code: STATUS_ERROR });
      throw error;
    } finally {
      span.end(addMilliseconds(options.startTime, this.#stopwatch() - started));
    }
  }

  /** Ends the span of a request, and begins it for one that was not admitted. */
  end(request: FastifyRequest, milliseconds: number, result: TracedResult): void {
    const { span, startTime } = request.span ?? this.#begin(request, this.#api.ROOT_CONTEXT);
    const { method, route, status, account, failure } = result;
    span.updateName(`${method} ${route}`);
    span.setAttributes({
      [SPAN_ATTRIBUTES.method]: method,
      [SPAN_ATTRIBUTES.route]: route,
      [SPAN_ATTRIBUTES.status]: status,
      [SPAN_ATTRIBUTES.listener]: result.listener,
      [SPAN_ATTRIBUTES.requestId]: result.requestId,
      ...(account !== undefined && { [SPAN_ATTRIBUTES.account]: account }),
      ...(failure !== undefined && { [SPAN_ATTRIBUTES.failure]: failure }),
    });
    if (status >= SERVER_ERROR) span.setStatus({ code: STATUS_ERROR });
    span.end(addMilliseconds(startTime, milliseconds));
  }

  /** Sends what waits, within 5 seconds. */
  async close(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, CLOSING_MS);
    await Promise.race([this.#provider.shutdown().catch(() => undefined), late]);
    clearTimeout(timer);
  }

  #begin(request: FastifyRequest, parent: Context): RequestSpan {
    const startTime = this.#startTime(request);
    const span = this.#tracer.startSpan(request.method, { kind: KIND.server, startTime }, parent);
    const { traceId, spanId, traceFlags } = span.spanContext();
    const responseHeader = formatTraceParent({ traceId, spanId, isSampled: (traceFlags & SAMPLED) === SAMPLED });
    return { span, context: this.#api.trace.setSpan(parent, span), startTime, responseHeader };
  }

  #startTime({ startedAt }: FastifyRequest): HrTime {
    return toHrTime(this.#clock() - (startedAt === undefined ? 0 : this.#stopwatch() - startedAt));
  }
}

/** Calls `onFailure` with the number of spans of each export that fails. */
const reportFailures = (exporter: Exporter, onFailure: (count: number) => void): Exporter => ({
  export: (spans, done) =>
    exporter.export(spans, (result) => {
      if (result.code !== EXPORTED) onFailure(spans.length);
      done(result);
    }),
  shutdown: () => exporter.shutdown(),
  forceFlush: async () => exporter.forceFlush?.(),
});

function readSecret(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OperatorError(`traces: ${file} cannot be read: ${(cause as NodeJS.ErrnoException).code ?? 'unknown'}`);
  }
}

function readHeaders(file: string): Record<string, string> {
  try {
    return parseHeaders(readSecret(file));
  } catch (error) {
    throw error instanceof ReceiverError ? new OperatorError(`traces: ${file}: ${error.message}`) : error;
  }
}

const toHrTime = (milliseconds: number): HrTime => {
  const seconds = Math.floor(milliseconds / SECOND);
  return [seconds, Math.round((milliseconds - seconds * SECOND) * NANOSECONDS_PER_MS)];
};

const addMilliseconds = ([seconds, nanoseconds]: HrTime, milliseconds: number): HrTime => {
  const more = Math.max(0, milliseconds) + nanoseconds / NANOSECONDS_PER_MS;
  return [seconds + Math.floor(more / SECOND), Math.round((more % SECOND) * NANOSECONDS_PER_MS)];
};
