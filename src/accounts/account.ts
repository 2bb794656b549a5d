export const STATUSES = ['onboarding', 'sandbox', 'live', 'suspended'] as const;

export type AccountStatus = (typeof STATUSES)[number];

export interface Account {
  readonly id: string;
  readonly name: string;
  readonly status: AccountStatus;
  readonly createdAt: number;
  /** Changes in production that people make in the console take two of them. */
  readonly productionByTwo: boolean;
}

/** How far an account is follows from the keys it has, or had, unless the operator suspended it. */
export function statusOf(has: { suspended: boolean; productionKeys: number; sandboxKeys: number }): AccountStatus {
  if (has.suspended) return 'suspended';
  if (has.productionKeys > 0) return 'live';
  return has.sandboxKeys > 0 ? 'sandbox' : 'onboarding';
}

/** What the operator has switched on for an account in one environment. */
export interface Enablement {
  readonly capability: string;
  readonly processor: string | undefined;
}
