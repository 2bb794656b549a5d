export const STATUSES = ['onboarding', 'sandbox', 'live', 'suspended'] as const;

export type AccountStatus = (typeof STATUSES)[number];

interface AccountFields {
  readonly id: string;
  /** Stands for the account in all tables of the database but that of accounts. */
  readonly number: number;
  readonly name: string;
  readonly status: AccountStatus;
  readonly createdAt: number;
  /** True when changes in production need the approval of a second person. */
  readonly dualControl: boolean;
}

/** An account whose row has a valid MAC. Only such a row can be edited. */
export interface AuthenticAccount extends AccountFields {
  readonly isTampered: false;
  readonly suspendedAt: number | undefined;
  /** Increases with every change, so that no change overwrites another unnoticed. */
  readonly revision: number;
}

/**
 * An account whose row was altered in the database. The content of the row is not trusted: the account counts as
 * suspended and under dual control. Its fields only name it in lists.
 */
export interface TamperedAccount extends AccountFields {
  readonly isTampered: true;
  readonly status: 'suspended';
  readonly dualControl: true;
}

export type Account = AuthenticAccount | TamperedAccount;

/** The lifecycle state of an account follows from its past and present keys, unless the operator suspended it. */
export function statusOf(has: { suspended: boolean; productionKeys: number; sandboxKeys: number }): AccountStatus {
  if (has.suspended) return 'suspended';
  if (has.productionKeys > 0) return 'live';
  return has.sandboxKeys > 0 ? 'sandbox' : 'onboarding';
}

/** The features that the operator has enabled for an account in one environment. */
export interface Enablement {
  readonly capability: string;
  /** Undefined in an altered row, whose content is not trusted. */
  readonly processor: string | undefined;
  readonly isTampered: boolean;
}

/** Changes that operators make to the settings of an account, by their names in overview and audit log. */
export const OPERATOR_CHANGES = ['payments.enabled', 'payments.disabled', 'proxy.configured', 'proxy.removed'] as const;

export type OperatorChange = (typeof OPERATOR_CHANGES)[number];
