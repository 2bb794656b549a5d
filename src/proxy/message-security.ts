import type { Random } from '../kernel/clock.ts';
import type { MerchantKey, ProcessorKey } from './proxy-configuration.ts';
import type { EffectiveSettings } from './settings.ts';

/** Whose message it is, and for whom. */
export interface Parties {
  readonly merchant: MerchantKey;
  readonly processor: ProcessorKey;
}

/** What one message is secured with. */
export interface MessageSecurity {
  readonly parties: Parties;
  readonly settings: EffectiveSettings;
  /** Milliseconds. */
  readonly now: number;
  readonly random: Random;
}
