import type { Clock, Random } from '../kernel/clock.ts';
import type { Database } from '../storage/database.ts';
import type { Processors } from './activations.ts';
import { Connections } from './processors/connection.ts';
import { CyberSource } from './processors/cybersource/cybersource.ts';
import { Koin } from './processors/koin/koin.ts';
import { Simulator } from './processors/simulator/simulator.ts';

/** Every processor there is, by the name that the operator calls it. A new one is a line here. */
export function newProcessors(options: { database: Database; clock: Clock; random: Random }): {
  readonly byName: Processors;
  close(): void;
} {
  const { database, clock, random } = options;
  const connections = new Connections();
  const byName = {
    simulator: new Simulator({ database, clock, random }),
    cybersource: new CyberSource({ connections, clock, random }),
    koin: new Koin({ connections }),
  };
  return { byName, close: () => connections.close() };
}
