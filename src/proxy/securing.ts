import type { Random } from '../kernel/clock.ts';
import type { MerchantKey, ProcessorKey } from './configuration.ts';
import type { Settings } from './settings.ts';

/** Whose message it is, and for whom. */
export interface Parties {
  readonly merchant: MerchantKey;
  readonly processor: ProcessorKey;
}

/** What one message is secured with. */
export interface Securing {
  readonly parties: Parties;
  readonly settings: Settings;
  /** Milliseconds. */
  readonly now: number;
  readonly random: Random;
}
