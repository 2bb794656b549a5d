import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { formatIso8601 } from '../kernel/clock.ts';
import type { ChainedRecord } from '../storage/journal.ts';
import { sanitizeTime } from '../storage/sanitize-columns.ts';
import { readTlsOptions, toErrorCode } from './receiver-tls.ts';
import { RECEIVER_TIMEOUT_MS, type Receiver, ReceiverError, type ReceiverTls } from './shipping.ts';

export interface SyslogAddress {
  readonly host: string;
  readonly port: number;
}

/** The facility "log audit" of RFC 5424. */
const FACILITY = 13;
const SEVERITY = { warning: 4, informational: 6 } as const;
/** The number that RFC 5612 reserves for documentation: structured data of a private name needs a number. */
const STRUCTURED_DATA_ID = 'cardvault@32473';
/** Marks the message as UTF-8. */
const BYTE_ORDER_MARK = '\ufeff';
const NIL = '-';
/** A peer that does not want the bytes closes the connection within this time, before it is closed here. */
const QUIET_MS = 250;
const MAX = { host: 255, message: 32 } as const;

/**
 * Sends records by syslog over TLS (RFC 5425): each batch is one connection. Syslog has no acknowledgement, so the batch
 * counts as received when the receiver closes the connection after it was closed here, as RFC 5425 4.4 demands, and not before.
 * Node reports the end of the TCP connection like that of TLS, so an attacker in the network path can close in place of the
 * receiver, and the batch is lost there: docs/threat-model.md recommends OTLP, which acknowledges each batch.
 */
export class SyslogReceiver implements Receiver {
  readonly target = 'syslog';
  readonly #address: SyslogAddress;
  readonly #tls: ReceiverTls;
  readonly #machine: string;

  /** `machine`: the name of this machine, for the header of each message. */
  constructor(address: SyslogAddress, tls: ReceiverTls, machine: string) {
    this.#address = address;
    this.#tls = tls;
    this.#machine = machine;
  }

  async send(records: readonly ChainedRecord[], signal: AbortSignal): Promise<void> {
    const { host, port } = this.#address;
    // An address is no name for the server, and is compared with the certificate all the same.
    const name = isIP(host) === 0 ? { servername: host } : {};
    const options = { host, port, ...name, ...readTlsOptions(this.#tls) };
    const frames = Buffer.concat(records.map((record) => toFrame(formatSyslogMessage(record, this.#machine))));
    await sendAndClose(() => connect(options), frames, signal);
  }
}

/** Resolves when the peer has read all bytes and closed the connection. Throws `ReceiverError`. */
function sendAndClose(open: () => TLSSocket, bytes: Buffer, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = open();
    let isClosing = false;
    let hasEnded = false;
    const fail = (error: unknown): void => {
      socket.destroy();
      reject(new ReceiverError(toErrorCode(error)));
    };
    const abort = (): void => fail(new ReceiverError('stopped'));
    signal.addEventListener('abort', abort, { once: true });
    const close = (): void => {
      isClosing = true;
      socket.end();
    };
    socket.setTimeout(RECEIVER_TIMEOUT_MS, () => fail(new ReceiverError('timeout')));
    socket.once('secureConnect', () => {
      socket.write(bytes, () => setTimeout(close, QUIET_MS).unref());
    });
    socket.once('end', () => {
      hasEnded = true;
      // A peer that closes first has not read everything.
      if (!isClosing) fail(new ReceiverError('closed'));
    });
    socket.once('error', fail);
    socket.once('close', () => {
      signal.removeEventListener('abort', abort);
      if (isClosing && hasEnded) resolve();
      else fail(new ReceiverError('closed'));
    });
    socket.resume();
  });
}

/** Octet counting (RFC 6587 3.4.1): messages may contain any character. */
const toFrame = (message: string): Buffer => {
  const bytes = Buffer.from(message);
  return Buffer.concat([Buffer.from(`${bytes.length} `), bytes]);
};

/** Formats a record as RFC 5424. The structured data holds what its hash covers beside the message. */
export function formatSyslogMessage(record: ChainedRecord, machine: string): string {
  const { account, lane, sequence, environment, at, hash } = record;
  const { action, outcome } = parseSummary(record.record);
  const severity = outcome === 'success' ? SEVERITY.informational : SEVERITY.warning;
  const priority = FACILITY * 8 + severity;
  const data = Object.entries({ account, lane, sequence, environment, at, hash })
    .map(([name, value]) => `${name}="${escapeParameter(String(value))}"`)
    .join(' ');
  const time = formatIso8601(sanitizeTime(at));
  const header = `<${priority}>1 ${time} ${toHeaderText(machine, MAX.host)} cardvault ${NIL}`;
  return `${header} ${toHeaderText(action, MAX.message)} [${STRUCTURED_DATA_ID} ${data}] ${BYTE_ORDER_MARK}${record.record}`;
}

/** RFC 5424 6.3.3. */
const escapeParameter = (value: string): string => value.replace(/["\\\]]/g, '\\$&');

/** Visible ASCII, or no value. */
function toHeaderText(value: string, max: number): string {
  const visible = value.replace(/[^!-~]/g, '').slice(0, max);
  return visible === '' ? NIL : visible;
}

/** Returns action and outcome; of a record that was altered in the database nothing. */
export function parseSummary(record: string): { readonly action: string; readonly outcome: string } {
  try {
    const { action, outcome } = JSON.parse(record) as Partial<Record<'action' | 'outcome', unknown>>;
    return { action: String(action ?? ''), outcome: String(outcome ?? '') };
  } catch {
    return { action: '', outcome: '' };
  }
}
