import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** One entry of an allow-list: an address or a network, with a note. */
export interface AllowedNetwork {
  /** The entered text, with an IPv4-mapped IPv6 network written as IPv4. */
  readonly cidr: string;
  readonly note: string;
}

/** Returns an address or CIDR network in its normal form; undefined for any other text. */
export function parseCidr(text: string): string | undefined {
  const [address = '', bits, ...rest] = text.trim().split('/');
  const plain = parseAddress(address);
  if (rest.length > 0 || plain === undefined) return undefined;
  if (bits !== undefined && !/^[0-9]{1,3}$/.test(bits)) return undefined;
  const mapped = plain.kind() === 'ipv4' && address.includes(':');
  const width = plain.kind() === 'ipv4' ? 32 : 128;
  const length = bits === undefined ? width : Number(bits) - (mapped ? 96 : 0);
  if (length < 0 || length > width) return undefined;
  return bits === undefined ? plain.toString() : `${plain.toString()}/${length}`;
}

/** Returns the address in its normal form, IPv4-mapped IPv6 as IPv4; undefined for any other text. */
export const normalizeAddress = (text: string): string | undefined => parseAddress(text)?.toString();

/** True when the address is in one of the networks. A text that is no address is in none. */
export const isAllowed = (networks: readonly string[], address: string): boolean =>
  buildNetworkCheck(networks)(address);

/** Returns the check of `isAllowed` for these networks, which are parsed once: that costs more than the check. */
export function buildNetworkCheck(networks: readonly string[]): (address: string) => boolean {
  const parsed = networks.map((network) =>
    ipaddr.parseCIDR(network.includes('/') ? network : `${network}/${network.includes(':') ? 128 : 32}`),
  );
  return (address) => {
    const candidate = parseAddress(address);
    if (candidate === undefined) return false;
    return parsed.some(([base, length]) => base.kind() === candidate.kind() && candidate.match(base, length));
  };
}

/**
 * Returns an address, IPv4-mapped IPv6 as IPv4; undefined for any other text. Four decimal parts only, also at the end of an IPv6
 * address: ipaddr.js would also accept the octal and shortened forms of old C libraries, and parses the obsolete `::192.0.2.1` as
 * if it were IPv4-mapped. A zone names an interface of one machine and says nothing about the client.
 */
function parseAddress(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  // The functions of ipaddr.js for any address throw and catch an error for IPv6, parse it three times, and search it in all
  // special networks.
  if (!text.includes(':')) return ipaddr.IPv4.isValidFourPartDecimal(text) ? ipaddr.IPv4.parse(text) : undefined;
  if (!isIPv6(text) || text.includes('%') || /^::[0-9]+\./.test(text)) return undefined;
  try {
    const address = ipaddr.IPv6.parse(text);
    return toMappedIpv4(address) ?? address;
  } catch {
    return undefined;
  }
}

/** Returns the IPv4 address in `::ffff:0:0/96`. */
function toMappedIpv4({ parts }: ipaddr.IPv6): ipaddr.IPv4 | undefined {
  const [high = 0, low = 0] = parts.slice(6);
  const isMapped = parts[5] === 0xffff && parts.slice(0, 5).every((part) => part === 0);
  return isMapped ? new ipaddr.IPv4([high >> 8, high & 0xff, low >> 8, low & 0xff]) : undefined;
}
