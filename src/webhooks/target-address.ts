import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Environment } from '../kernel/environment.ts';
import { invalidField } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { containsPanOutsideUuids } from '../kernel/pan.ts';

/**
 * Where webhooks may go (webhooks.md 1). An endpoint is text from a merchant, so that without this check it could make the
 * vault talk to services behind its firewall (server-side request forgery).
 */

/** Special-purpose addresses (RFC 6890 and its successors), and the metadata service of a cloud, 168.63.129.16. */
const FORBIDDEN_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24'],
  ...['203.0.113.0/24', '224.0.0.0/3'],
];
/** Global unicast is 2000::/3; these parts of it are for special purposes. */
const GLOBAL_IPV6 = '2000::/3';
const FORBIDDEN_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
/** IPv6 addresses that stand for the IPv4 address in their last 32 bits. */
const EMBEDDING = ['::ffff:0:0/96', '64:ff9b::/96'];

function toBlockList(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = address.includes(':') ? 'ipv6' : 'ipv4';
    list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family);
  }
  return list;
}

const forbiddenIpv4 = toBlockList(FORBIDDEN_IPV4);
const globalIpv6 = toBlockList([GLOBAL_IPV6]);
const forbiddenIpv6 = toBlockList(FORBIDDEN_IPV6);
const embedding = toBlockList(EMBEDDING);

/** Addresses of this machine pass by its firewall. */
export const listOwnAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));

/** Decides which addresses may be connected to. */
export class TargetAddresses {
  readonly #allowed: BlockList;
  readonly #listOwn: () => readonly string[];

  /** `networks`: entries of `CARDVAULT_WEBHOOK_NETWORKS` in their normal form. */
  constructor(networks: readonly string[] = [], listOwn: () => readonly string[] = listOwnAddresses) {
    this.#allowed = toBlockList(networks);
    this.#listOwn = listOwn;
  }

  /** `address`: as Node resolves it, without brackets; a text that is no address is forbidden. */
  isAllowed(address: string): boolean {
    return this.areAllowed([address]);
  }

  areAllowed(addresses: readonly string[]): boolean {
    const own = this.#own();
    return addresses.every((address) => this.#isAllowed(address, own));
  }

  #isAllowed(address: string, own: BlockList): boolean {
    const plain = stripZone(address);
    const family = isIP(plain);
    if (family === 0) return false;
    const embedded = family === 6 ? embeddedIpv4(plain) : undefined;
    if (embedded !== undefined) return this.#isAllowed(embedded, own);
    const kind = family === 6 ? 'ipv6' : 'ipv4';
    if (this.#allowed.check(plain, kind)) return true;
    const isPublic =
      kind === 'ipv4'
        ? !forbiddenIpv4.check(plain, kind)
        : globalIpv6.check(plain, kind) && !forbiddenIpv6.check(plain, kind);
    return isPublic && !own.check(plain, kind);
  }

  #own(): BlockList {
    const own = new BlockList();
    for (const each of this.#listOwn()) {
      const plain = stripZone(each);
      if (isIP(plain) === 6) own.addAddress(plain, 'ipv6');
      else if (isIP(plain) === 4) own.addAddress(plain, 'ipv4');
    }
    return own;
  }
}

/** A zone (`%eth0`) names an interface of this machine. */
const stripZone = (address: string): string => address.replace(/%.*$/, '');

function embeddedIpv4(address: string): string | undefined {
  if (!embedding.check(address, 'ipv6')) return undefined;
  // The URL parser writes the last 32 bits as two groups, whatever the notation.
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1).split(':');
  const [high = '', low = ''] = groups.slice(-2);
  const bits = Number.parseInt(high === '' ? '0' : high, 16) * 0x1_0000 + Number.parseInt(low === '' ? '0' : low, 16);
  return [24, 16, 8, 0].map((shift) => Math.floor(bits / 2 ** shift) % 256).join('.');
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Returns the URL of an endpoint as it is stored. An address that is written in it is checked at once, a name at each
 * connection. Throws `invalid_field`.
 */
export function parseTargetUrl(text: string, environment: Environment, addresses: TargetAddresses): string {
  const url = text.length <= LIMITS.webhookUrlCharacters && /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null;
  if (url === null) throw invalidField('url', 'webhookUrl', { max: LIMITS.webhookUrlCharacters });
  const isPlainLoopback = url.protocol === 'http:' && environment === 'sandbox' && LOOPBACK_NAMES.has(url.hostname);
  const isClean = url.username === '' && url.password === '' && !text.includes('#');
  if ((url.protocol !== 'https:' && !isPlainLoopback) || !isClean || url.hostname === '')
    throw invalidField('url', 'webhookUrl', { max: LIMITS.webhookUrlCharacters });
  if ([text, url.href, decode(text)].some(containsPanOutsideUuids)) throw invalidField('url', 'noCard');
  const address = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && !addresses.isAllowed(address)) throw invalidField('url', 'webhookAddress');
  return url.href;
}

/** Unlike `decodeURIComponent` it decodes what it can: one malformed escape must not hide the others. */
const decode = (text: string): string =>
  text.replace(/(?:%[0-9a-f]{2})+/gi, (escapes) => Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('utf8'));
