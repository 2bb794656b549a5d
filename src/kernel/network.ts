/**
 * Returns the network of one subscriber: an IPv4 address itself, or the first 64 bits of an IPv6 address. The address
 * has to be in its normal form.
 */
export function subscriberNetwork(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const zeros = tail === undefined ? 0 : 8 - groups.length - tail.split(':').filter((group) => group !== '').length;
  const full = [...groups, ...Array.from({ length: zeros }, () => '0'), ...(tail?.split(':') ?? [])];
  return `${full.slice(0, 4).join(':')}::/64`;
}
