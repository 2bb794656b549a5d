import type { Environment } from '../kernel/environment.ts';

export const STATUSES = ['onboarding', 'sandbox', 'live', 'suspended'] as const;

export type AccountStatus = (typeof STATUSES)[number];

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly status: AccountStatus;
  readonly createdAt: number;
}

/** How far an account is once it has a key in an environment: nothing goes back. */
export function statusWithKey(status: AccountStatus, environment: Environment): AccountStatus {
  if (status === 'suspended' || status === 'live') return status;
  return environment === 'production' ? 'live' : 'sandbox';
}

/** What the operator has switched on for an account in one environment. */
export interface Enablement {
  readonly capability: string;
  readonly processor: string | undefined;
}
