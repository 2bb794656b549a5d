import type { Random } from '../kernel/clock.ts';
import type { MerchantKey, ProcessorKey } from './proxy-configuration.ts';
import type { EffectiveSettings } from './settings.ts';

/** The merchant's signing key and the processor's encryption key. */
export interface Parties {
  readonly merchant: MerchantKey;
  readonly processor: ProcessorKey;
}

/** Everything that securing one message needs. */
export interface MessageSecurity {
  readonly parties: Parties;
  readonly settings: EffectiveSettings;
  /** Milliseconds. */
  readonly now: number;
  readonly random: Random;
}
