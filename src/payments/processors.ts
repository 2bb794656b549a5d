import type { Clock, Random } from '../kernel/clock.ts';
import type { Database } from '../storage/database.ts';
import type { Processors } from './payment-activations.ts';
import type { ProcessorHosts } from './processor-hosts.ts';
import { CYBERSOURCE_HOSTS } from './processors/cybersource/client.ts';
import { CyberSource } from './processors/cybersource/cybersource.ts';
import { KOIN_HOSTS } from './processors/koin/client.ts';
import { Koin } from './processors/koin/koin.ts';
import { type OnHostRefused, OutboundHttp } from './processors/outbound-http.ts';
import { Simulator } from './processors/simulator/simulator.ts';

/** The origins that each processor documents for production, by its name. */
export const PRODUCTION_HOSTS: Readonly<Record<string, readonly string[]>> = {
  simulator: [],
  cybersource: CYBERSOURCE_HOSTS.production,
  koin: Object.values(KOIN_HOSTS.production),
};

/** Every processor, by its name in settings and commands. A new one is a line here. */
export function createProcessors(options: {
  database: Database;
  clock: Clock;
  random: Random;
  hosts: ProcessorHosts;
}): {
  readonly byName: Processors;
  onHostRefused(report: OnHostRefused): void;
  close(): void;
} {
  const { database, clock, random, hosts } = options;
  const outboundHttp = new OutboundHttp(hosts);
  const byName = {
    simulator: new Simulator({ database, clock, random }),
    cybersource: new CyberSource({ outboundHttp, clock, random }),
    koin: new Koin({ outboundHttp }),
  };
  return {
    byName,
    onHostRefused: (report) => outboundHttp.onHostRefused(report),
    close: () => outboundHttp.close(),
  };
}
