import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { SECOND } from '../kernel/clock.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { ChainedRecord } from '../storage/journal.ts';
import { sanitizeTime } from '../storage/sanitize-columns.ts';
import { readReceiverFile, readTlsOptions, toErrorCode } from './receiver-tls.ts';
import { RECEIVER_TIMEOUT_MS, type Receiver, ReceiverError, type ReceiverTls } from './shipping.ts';
import { parseSummary } from './syslog.ts';

/** Severity numbers of OpenTelemetry. */
const SEVERITY = { info: { number: 9, text: 'INFO' }, warn: { number: 13, text: 'WARN' } } as const;

export interface OtlpOptions {
  /** The URL of logs, such as `https://collector.example:4318/v1/logs`. */
  readonly url: URL;
  /** A file with lines of `Name: value`, which may hold a secret. */
  readonly headersFile: string | undefined;
  readonly tls: ReceiverTls;
  readonly version: string;
  /** Called with the number of records that the receiver has rejected permanently. */
  onRejected(count: number): void;
}

/** Sends records as OpenTelemetry logs: OTLP over HTTPS with JSON. */
export class OtlpReceiver implements Receiver {
  readonly target = 'otlp';
  readonly #options: OtlpOptions;

  constructor(options: OtlpOptions) {
    this.#options = options;
  }

  async send(records: readonly ChainedRecord[], signal: AbortSignal): Promise<void> {
    const { url, tls, headersFile, version } = this.#options;
    const body = Buffer.from(JSON.stringify(buildExportRequest(records, version)));
    const headers = {
      ...(headersFile !== undefined && parseHeaders(readReceiverFile(headersFile))),
      'content-type': 'application/json',
      'content-length': String(body.length),
    };
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(RECEIVER_TIMEOUT_MS)]);
    const options = { method: 'POST', headers, agent: false, signal: deadline, ...readTlsOptions(tls) } as const;
    const { status, retryAfterMs, text } = await new Promise<Response>((resolve, reject) => {
      const onError = (error: unknown): void => reject(new ReceiverError(toErrorCode(error)));
      const outgoing = request(url, options, (incoming) => {
        readResponse(incoming).then(resolve, onError);
      });
      outgoing.once('error', onError);
      outgoing.end(body);
    });
    // Every other status may become 200 once the operator has corrected the receiver or the headers.
    if (status !== 200) throw new ReceiverError(`status-${status}`, retryAfterMs);
    const rejected = parseRejected(text);
    // The protocol forbids to send them again.
    if (rejected > 0) this.#options.onRejected(rejected);
  }
}

interface Response {
  readonly status: number;
  readonly retryAfterMs: number;
  readonly text: string;
}

async function readResponse(incoming: IncomingMessage): Promise<Response> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LIMITS.receiverResponseBytes) throw new ReceiverError('response-too-large');
    chunks.push(chunk);
  }
  const seconds = /^[0-9]{1,5}$/.exec(incoming.headers['retry-after'] ?? '')?.[0] ?? '0';
  const text = Buffer.concat(chunks).toString('utf8');
  return { status: incoming.statusCode ?? 0, retryAfterMs: Number(seconds) * SECOND, text };
}

function parseRejected(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as { partialSuccess?: { rejectedLogRecords?: unknown } };
    const rejected = Number(partialSuccess?.rejectedLogRecords ?? 0);
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    return 0;
  }
}

/** Parses lines of `Name: value`. Throws `ReceiverError`, which never quotes them. */
export function parseHeaders(text: string): Record<string, string> {
  if (text.length > LIMITS.receiverHeadersBytes) throw new ReceiverError('headers-file-too-large');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  if (lines.length > LIMITS.receiverHeaders) throw new ReceiverError('headers-file-too-long');
  return Object.fromEntries(
    lines.map((line) => {
      const [, name, value] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*([ -~]*?)\s*$/.exec(line) ?? [];
      if (name === undefined || value === undefined) throw new ReceiverError('headers-file-malformed');
      return [name.toLowerCase(), value];
    }),
  );
}

const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } });

/** An integer of 64 bits is a text in the JSON of Protocol Buffers. */
const numberAttribute = (key: string, value: number) => ({ key, value: { intValue: String(value) } });

/** Returns an `ExportLogsServiceRequest`. The attributes hold what the hash of a record covers beside its body. */
export const buildExportRequest = (records: readonly ChainedRecord[], version: string) => ({
  resourceLogs: [
    {
      resource: { attributes: [attribute('service.name', 'cardvault'), attribute('service.version', version)] },
      scopeLogs: [{ scope: { name: 'cardvault.audit' }, logRecords: records.map(toLogRecord) }],
    },
  ],
});

function toLogRecord({ account, lane, sequence, environment, at, hash, record }: ChainedRecord) {
  const { action, outcome } = parseSummary(record);
  const { number, text } = outcome === 'success' ? SEVERITY.info : SEVERITY.warn;
  const nanoseconds = `${sanitizeTime(at)}000000`;
  return {
    timeUnixNano: nanoseconds,
    observedTimeUnixNano: nanoseconds,
    severityNumber: number,
    severityText: text,
    ...(action !== '' && { eventName: action }),
    body: { stringValue: record },
    attributes: [
      attribute('cardvault.account', account),
      numberAttribute('cardvault.lane', lane),
      numberAttribute('cardvault.sequence', sequence),
      attribute('cardvault.environment', environment),
      numberAttribute('cardvault.at', at),
      attribute('cardvault.hash', hash),
    ],
  };
}
