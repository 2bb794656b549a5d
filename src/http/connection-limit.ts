import { buildNetworkCheck, normalizeAddress } from '../accounts/allow-list.ts';
import { type Clock, MINUTE } from '../kernel/clock.ts';
import { subscriberNetwork } from '../kernel/network.ts';

/** Addresses of this machine: tests, health checks and reverse proxies beside the service. */
const LOOPBACK = ['127.0.0.0/8', '::1'];

/** At most one log line in this time for each listener: a rejected client may return thousands of times. */
const REPORT_INTERVAL_MS = MINUTE;

interface ConnectionLimitOptions {
  /** Concurrent connections of one address; 0 is no limit. */
  readonly perAddress: number;
  /** True when the connections of an address are not counted. */
  readonly isExempt: (address: string) => boolean;
  readonly clock: Clock;
  /** Called for each connection that is rejected. */
  readonly onRefused: () => void;
  /**
   * Called at most once a minute, with the address and the number of connections that were rejected since the last
   * call.
   */
  readonly onReport: (address: string, count: number) => void;
}

/**
 * Returns a check for addresses whose connections are not counted: this machine, and proxies that represent many
 * clients.
 */
export const exemptAddresses = (trustedProxies: readonly string[]): ((address: string) => boolean) =>
  buildNetworkCheck([...LOOPBACK, ...trustedProxies]);

/** Limits the connections that one address has open at a listener. */
export class ConnectionLimit {
  readonly #options: ConnectionLimitOptions;
  readonly #open = new Map<string, number>();
  #refused = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionLimitOptions) {
    this.#options = options;
  }

  /** Networks with connections that are counted. */
  get size(): number {
    return this.#open.size;
  }

  /** Counts a connection and returns a function that ends the count; undefined when the connection must be rejected. */
  admit(address: string): (() => void) | undefined {
    const { perAddress, isExempt } = this.#options;
    if (perAddress === 0 || isExempt(address)) return () => undefined;
    const network = toNetwork(address);
    const open = this.#open.get(network) ?? 0;
    if (open >= perAddress) {
      this.#refuse(address);
      return undefined;
    }
    this.#open.set(network, open + 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.#end(network);
      isOpen = false;
    };
  }

  #end(network: string): void {
    const left = (this.#open.get(network) ?? 0) - 1;
    if (left > 0) this.#open.set(network, left);
    else this.#open.delete(network);
  }

  #refuse(address: string): void {
    const { clock, onRefused, onReport } = this.#options;
    onRefused();
    this.#refused++;
    const now = clock();
    // After the clock was set back, it reports rather too often than never.
    if (Math.abs(now - this.#reportedAt) < REPORT_INTERVAL_MS) return;
    onReport(address, this.#refused);
    this.#refused = 0;
    this.#reportedAt = now;
  }
}

/** Returns the network that is counted as one, for the address of a socket in any form. */
function toNetwork(address: string): string {
  // The zone of a link-local address names an interface of this machine.
  const usual = normalizeAddress(address.replace(/%.*$/, ''));
  return usual === undefined ? address : subscriberNetwork(usual);
}
