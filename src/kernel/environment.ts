/** The two worlds of the service (interface: Versioning 2). Nothing is shared between them. */
export const ENVIRONMENTS = ['production', 'sandbox'] as const;

export type Environment = (typeof ENVIRONMENTS)[number];

/** Whose data: every key, token, capture and answer belongs to one account in one environment. */
export interface Tenant {
  readonly account: string;
  readonly environment: Environment;
}

/** Identifies a tenant among others, for example in a cache. */
export const tenantKey = ({ account, environment }: Tenant): string => `${environment}/${account}`;
