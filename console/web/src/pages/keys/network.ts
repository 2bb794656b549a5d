/** Parses addresses and networks that users type. The service validates them again. */

const IPV4 = /^(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}$/;
const IPV6 = /^[0-9a-f:]*:[0-9a-f:]*(\d+\.\d+\.\d+\.\d+)?$/i;
const PREFIX_LENGTH = /^(0|[1-9]\d{0,2})$/;

export function isNetwork(text: string): boolean {
  const [address = '', length, ...rest] = text.trim().split('/');
  if (rest.length > 0 || (length !== undefined && !PREFIX_LENGTH.test(length))) return false;
  const bits = Number(length ?? 0);
  if (IPV4.test(address)) return bits <= 32;
  return IPV6.test(address) && URL.canParse(`http://[${address}]/`) && bits <= 128;
}

export interface ParsedNetwork {
  /** Network without host bits: `10.0.0.0/8` for `10.9.9.9/8`. */
  readonly network: string;
  /** The text had host bits, which have no effect. */
  readonly hasHostBits: boolean;
  readonly isEverywhere: boolean;
  /** The prefix is shorter than any plausible server network. */
  readonly isWide: boolean;
  /** Number of IPv4 addresses; undefined for IPv6. */
  readonly addresses: number | undefined;
}

/** Prefix lengths, by address width in bits, below which a network is very wide. */
const WIDE_PREFIX = { 32: 8, 128: 32 } as const;

/** Parses a network; returns undefined when the text is invalid. */
export function parseNetwork(text: string): ParsedNetwork | undefined {
  if (!isNetwork(text)) return undefined;
  const [address = '', bits] = text.trim().split('/');
  const { width, value } = parseAddress(address, bits);
  const length = bits === undefined ? width : Number(bits) - (IPV4.test(address) ? 0 : 128 - width);
  const free = BigInt(width - length);
  const start = (value >> free) << free;
  return {
    network: `${formatAddress(start, width)}/${length}`,
    hasHostBits: start !== value,
    isEverywhere: length === 0,
    isWide: length < WIDE_PREFIX[width],
    addresses: width === 32 ? 2 ** (32 - length) : undefined,
  };
}

interface ParsedAddress {
  readonly width: 32 | 128;
  readonly value: bigint;
}

const joinBits = (parts: readonly number[], bits: bigint): bigint =>
  parts.reduce((value, part) => (value << bits) | BigInt(part), 0n);

/** An IPv4-mapped IPv6 address counts as IPv4, as in the service. */
const IPV4_MAPPED = 0xffffn;

function parseAddress(address: string, bits: string | undefined): ParsedAddress {
  if (IPV4.test(address)) return { width: 32, value: joinBits(address.split('.').map(Number), 8n) };
  const value = joinBits(splitGroups(address), 16n);
  const isMapped = value >> 32n === IPV4_MAPPED && Number(bits ?? 128) >= 96;
  return isMapped ? { width: 32, value: value & 0xffffffffn } : { width: 128, value };
}

const normalizeIpv6 = (address: string): string => new URL(`http://[${address}]/`).hostname.slice(1, -1);

/** Returns the eight groups of an IPv6 address. */
function splitGroups(address: string): number[] {
  const [head = '', tail = ''] = normalizeIpv6(address).split('::');
  const [first, last] = [head, tail].map((half) => half.split(':').filter((part) => part !== '')) as [
    string[],
    string[],
  ];
  const zeros = new Array<string>(8 - first.length - last.length).fill('0');
  return [...first, ...zeros, ...last].map((part) => Number.parseInt(part, 16));
}

function formatAddress(value: bigint, width: 32 | 128): string {
  const [count, bits] = width === 32 ? [4, 8n] : [8, 16n];
  const parts = Array.from(
    { length: count },
    (_, index) => (value >> (BigInt(count - 1 - index) * bits)) % (1n << bits),
  );
  return width === 32 ? parts.join('.') : normalizeIpv6(parts.map((part) => part.toString(16)).join(':'));
}
