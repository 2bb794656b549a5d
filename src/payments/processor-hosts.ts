import type { Environment } from '../kernel/environment.ts';

/** A name or IPv4 address, or an IPv6 address in brackets; no wildcards. */
const ENTRY = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\]):[1-9][0-9]{0,4}$/i;
const HTTPS_PORT = 443;
const HTTP_PORT = 80;

/** Decides which hosts may receive live cards: those that a processor documents, and those that the operator listed. */
export class ProcessorHosts {
  readonly #allowed: ReadonlySet<string>;

  /** `allowedHosts`: entries as `parseHostEntry` returns them. */
  constructor(allowedHosts: readonly string[] = []) {
    this.#allowed = new Set(allowedHosts);
  }

  /** In the sandbox every host is allowed: it holds no live cards. `documentedOrigins`: `https:` origins of the processor. */
  isAllowed(environment: Environment, documentedOrigins: readonly string[], url: URL): boolean {
    if (environment === 'sandbox' || documentedOrigins.includes(url.origin)) return true;
    return this.#allowed.has(hostAndPort(url));
  }
}

/** Returns an entry of `CARDVAULT_PROCESSOR_HOSTS` in its normal form, `host:port`; undefined when it is malformed. */
export function parseHostEntry(text: string): string | undefined {
  const url = ENTRY.test(text) ? URL.parse(`https://${text}/`) : null;
  if (url === null) return undefined;
  const entry = hostAndPort(url);
  // A user, a path or an address in another notation would be parsed differently from how it is written.
  return entry === text.toLowerCase() ? entry : undefined;
}

function hostAndPort({ protocol, hostname, port }: URL): string {
  return `${hostname}:${port || (protocol === 'https:' ? HTTPS_PORT : HTTP_PORT)}`;
}
