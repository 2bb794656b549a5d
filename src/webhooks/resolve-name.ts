import type { LookupAddress } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { SECOND } from '../kernel/clock.ts';

const HOSTS_FILE = '/etc/hosts';
const QUERY_MS = 3 * SECOND;
const QUERIES = 2;

/** Sources of addresses; those of the system by default. */
export interface NameSources {
  readonly hostsFile?: string;
  /** DNS servers as `address:port`. */
  readonly servers?: readonly string[];
}

/**
 * Returns all addresses of a name: those of the hosts file, or else those of the DNS. `dns.lookup` of Node would keep one of a few
 * threads until the servers of a name respond, so that two names with dead servers would delay the lookups for processors. These
 * queries keep no thread, and end with the signal.
 */
export async function resolveName(
  name: string,
  signal: AbortSignal,
  { hostsFile = HOSTS_FILE, servers }: NameSources = {},
): Promise<LookupAddress[]> {
  const local = findInHosts(await readFile(hostsFile, 'utf8').catch(() => ''), name);
  if (local.length > 0) return local;
  const resolver = new Resolver({ timeout: QUERY_MS, tries: QUERIES });
  if (servers !== undefined) resolver.setServers(servers);
  const cancel = (): void => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const [four, six] = await Promise.all([
      resolver.resolve4(name).catch(() => []),
      resolver.resolve6(name).catch(() => []),
    ]);
    return [...four, ...six].map(toLookupAddress);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** Returns the addresses of a name in the text of a hosts file. Pure. */
export function findInHosts(text: string, name: string): LookupAddress[] {
  const wanted = name.toLowerCase().replace(/\.$/, '');
  const found = text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*$/, '').trim().split(/\s+/);
    return isIP(address) !== 0 && names.some((each) => each.toLowerCase() === wanted) ? [address] : [];
  });
  return [...new Set(found)].map(toLookupAddress);
}

const toLookupAddress = (address: string): LookupAddress => ({ address, family: isIP(address) });
