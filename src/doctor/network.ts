import { isIP } from 'node:net';
import { type Check, faultsOr, ok, problem, warning } from './check.ts';

/** Rules about the network: sockets of the service, its readiness, and the hosts of processors. */

/** A socket that accepts connections. */
export interface ListeningSocket {
  readonly address: string;
  readonly port: number;
  /** The number of the user of the process that opened it. */
  readonly uid: number;
  readonly inode: number;
}

const LISTENING = '0A';
const HEXADECIMAL = 16;

/** Parses `/proc/net/tcp` or `/proc/net/tcp6` of a little-endian machine. */
export const parseListeningSockets = (text: string): ListeningSocket[] =>
  text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, local = '', , state, , , , uid = '', , inode = ''] = line.trim().split(/\s+/);
      const [hex = '', port = ''] = local.split(':');
      if (state !== LISTENING || hex === '') return [];
      const address = hex.length === 8 ? toIpv4(hex) : toIpv6(hex);
      return [{ address, port: Number.parseInt(port, HEXADECIMAL), uid: Number(uid), inode: Number(inode) }];
    });

const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex').swap32();

const toIpv4 = (hex: string): string => [...bytesOf(hex)].join('.');

function toIpv6(hex: string): string {
  const bytes = bytesOf(hex);
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(index * 2).toString(HEXADECIMAL));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

interface AddressFacts {
  /** The addresses of `CARDVAULT_HOST`. */
  readonly hosts: readonly string[];
  /** Networks that may read the metrics. */
  readonly metricsAllow: readonly string[];
  /** Networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: readonly string[];
}

const EVERY_ADDRESS = /^(0\.0\.0\.0|::)$/;
const EVERY_NETWORK = /^(0\.0\.0\.0|::)\/0$/;

/** Checks the addresses that the settings open to others. */
export function checkAddresses({ hosts, metricsAllow, trustedProxies }: AddressFacts): readonly Check[] {
  const name = 'addresses';
  const faults: Check[] = [];
  if (hosts.some((host) => EVERY_ADDRESS.test(host)))
    faults.push(
      warning(
        name,
        'the service listens on every address of this machine, with the console',
        'name the addresses in CARDVAULT_HOST, or let a firewall admit only those who need a port',
      ),
    );
  if (metricsAllow.some((network) => EVERY_NETWORK.test(network)))
    faults.push(
      warning(name, 'every address may read the metrics', 'name those of your monitoring in CARDVAULT_METRICS_ALLOW'),
    );
  if (trustedProxies.some((network) => EVERY_NETWORK.test(network)))
    faults.push(
      problem(
        name,
        'every client is trusted to state its own address, so that allow-lists do not protect',
        'name the addresses of your proxies in CARDVAULT_TRUSTED_PROXIES',
      ),
    );
  return faultsOr(faults, ok(name, `the service listens on ${hosts.join(', ')}`));
}

/** The program at the port of the console. */
export type ServiceState =
  | { readonly kind: 'stopped' }
  /** The port is used by something else. */
  | { readonly kind: 'foreign' }
  | {
      readonly kind: 'running';
      readonly status: number;
      /** Messages of `/readyz`, of conditions that need an operator. */
      readonly warnings: readonly string[];
      readonly reason: string | undefined;
      /** True when it serves the certificate that the files have now. */
      readonly servesPresentCertificate: boolean;
    };

const OK = 200;

export function checkService(state: ServiceState, port: number): readonly Check[] {
  const name = 'service';
  if (state.kind === 'stopped') return [ok(name, `the service does not run: port ${port} is free`)];
  if (state.kind === 'foreign')
    return [
      problem(
        name,
        `port ${port} belongs to another program, or to a service with other settings`,
        'run this command with the settings of the service, or choose another port',
      ),
    ];
  const faults: Check[] = [];
  if (state.status !== OK)
    faults.push(
      problem(
        name,
        `the service runs and is not ready${state.reason === undefined ? '' : `: ${state.reason}`}`,
        state.reason === 'sealed' ? 'unseal it: cardvault unseal' : 'read its log, and the lines about the database',
      ),
    );
  for (const message of state.warnings) faults.push(warning(name, 'the service warns', message));
  if (!state.servesPresentCertificate)
    faults.push(
      warning(
        name,
        'the service serves another certificate than the files have',
        'it reads them within 12 hours; restart it to use them now',
      ),
    );
  return faultsOr(faults, ok(name, 'the service runs and is ready'));
}

/** The result of a connection with TLS to a host. */
export interface HostResult {
  readonly host: string;
  readonly port: number;
  /** Undefined when the connection succeeded; otherwise the code of the error. */
  readonly fault: string | undefined;
}

/** `hosts`: those to which cards may be sent. One that fails may be unused, such as the second region of a processor. */
export function checkProcessorHosts(hosts: readonly HostResult[]): readonly Check[] {
  const name = 'processor hosts';
  if (hosts.length === 0) return [ok(name, 'no processor is enabled in production')];
  const failed = hosts.filter(({ fault }) => fault !== undefined);
  const faults = failed.map(({ host, port, fault }) => {
    const message = `${host} port ${port} cannot be reached: ${fault}`;
    const advice = 'open the firewall, and see docs/operations.md#outgoing-connections';
    return failed.length === hosts.length
      ? problem(name, message, advice)
      : warning(name, message, `if payments need this host, ${advice}`);
  });
  return faultsOr(faults, ok(name, `${hosts.map(({ host }) => host).join(', ')} can be reached`));
}

/** Returns host and port of an origin such as `https://api.example.com`, or of an entry such as `localhost:8443`. */
export function toHostAndPort(text: string): { readonly host: string; readonly port: number } {
  const url = new URL(text.includes('://') ? text : `https://${text}`);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return { host, port: url.port === '' ? HTTPS_PORT : Number(url.port) };
}

const HTTPS_PORT = 443;

/** The name that the certificate of a host has to state; an address is no such name in TLS. */
export const serverNameOf = (host: string): string | undefined => (isIP(host) === 0 ? host : undefined);
