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
  if (rest.length > 0 || !isAddress(address)) return undefined;
  if (bits !== undefined && !/^[0-9]{1,3}$/.test(bits)) return undefined;
  const parsed = ipaddr.parse(address);
  const plain = ipaddr.process(address);
  const mapped = parsed.kind() !== plain.kind();
  const width = plain.kind() === 'ipv4' ? 32 : 128;
  const length = bits === undefined ? width : Number(bits) - (mapped ? 96 : 0);
  if (length < 0 || length > width) return undefined;
  return bits === undefined ? plain.toString() : `${plain.toString()}/${length}`;
}

/** Returns the address in its normal form, IPv4-mapped IPv6 as IPv4; undefined for any other text. */
export const normalizeAddress = (text: string): string | undefined =>
  isAddress(text) ? ipaddr.process(text).toString() : undefined;

/** True when the address is in one of the networks. A text that is no address is in none. */
export const isAllowed = (networks: readonly string[], address: string): boolean =>
  buildNetworkCheck(networks)(address);

/** Returns the check of `isAllowed` for these networks, which are parsed once: that costs more than the check. */
export function buildNetworkCheck(networks: readonly string[]): (address: string) => boolean {
  const parsed = networks.map((network) =>
    ipaddr.parseCIDR(network.includes('/') ? network : `${network}/${network.includes(':') ? 128 : 32}`),
  );
  return (address) => {
    if (!isAddress(address)) return false;
    const candidate = ipaddr.process(address);
    return parsed.some(([base, length]) => base.kind() === candidate.kind() && candidate.match(base, length));
  };
}

// Four decimal parts only, also at the end of an IPv6 address: ipaddr.js would also accept the octal and shortened
// forms of old C libraries, and parses the obsolete `::192.0.2.1` as if it were IPv4-mapped. A zone names an interface
// of one machine and says nothing about the client.
const isAddress = (text: string): boolean =>
  ipaddr.IPv4.isValidFourPartDecimal(text) ||
  (isIPv6(text) && !text.includes('%') && !/^::[0-9]+\./.test(text) && ipaddr.IPv6.isValid(text));
