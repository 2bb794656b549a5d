import { request } from 'node:https';
import type { TLSSocket } from 'node:tls';
import { SECOND } from '../kernel/clock.ts';
import { escapeInvisible } from '../kernel/displayable.ts';

const TIMEOUT_MS = 5 * SECOND;
const MAX_CHARACTERS = 65_536;

/** The readiness of a service on this machine. */
export interface Readiness {
  /** Status of the response. */
  readonly status: number;
  readonly warnings: readonly string[];
  readonly reason: string | undefined;
  /** SHA-256 of the certificate that it serves, in capital hexadecimal digits with colons. */
  readonly fingerprint: string;
}

/**
 * Asks `/readyz` of a listener of this machine. Its certificate is returned and not verified, because nothing is sent that
 * another program must not see. Undefined when what responds is no cardvault; throws when nothing responds.
 */
export const readReadiness = (host: string, port: number): Promise<Readiness | undefined> =>
  new Promise((resolve, reject) => {
    let fingerprint = '';
    const outgoing = request(
      { host, port, path: '/readyz', method: 'GET', agent: false, rejectUnauthorized: false, timeout: TIMEOUT_MS },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => {
          text += part;
          if (text.length > MAX_CHARACTERS) response.destroy();
        });
        response.on('error', reject);
        response.on('close', () => resolve(parseReadiness(response.statusCode ?? 0, text, fingerprint)));
      },
    );
    outgoing.on('socket', (socket) =>
      socket.once('secureConnect', () => {
        fingerprint = (socket as TLSSocket).getPeerX509Certificate()?.fingerprint256 ?? '';
      }),
    );
    outgoing.on('timeout', () => outgoing.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })));
    outgoing.on('error', reject);
    outgoing.end();
  });

const MAX_WARNINGS = 20;
const MAX_MESSAGE_CHARACTERS = 500;

/** Another program may respond, whose text must not control the terminal on which it is shown. */
const toMessage = (text: unknown): string => escapeInvisible(String(text).slice(0, MAX_MESSAGE_CHARACTERS));

/** Undefined for a response that is none of cardvault. Pure. */
export function parseReadiness(status: number, text: string, fingerprint: string): Readiness | undefined {
  let body: Readonly<Record<string, unknown>>;
  try {
    body = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  if (body?.['status'] !== 'ok' && body?.['status'] !== 'unavailable') return undefined;
  const warnings = Array.isArray(body['warnings']) ? (body['warnings'] as ({ message?: unknown } | null)[]) : [];
  return {
    status,
    fingerprint,
    warnings: warnings.slice(0, MAX_WARNINGS).map((each) => toMessage(each?.message)),
    reason: typeof body['reason'] === 'string' ? toMessage(body['reason']) : undefined,
  };
}
