/** The two environments of the service (interface: Versioning 2). They share nothing. */
export const ENVIRONMENTS = ['production', 'sandbox'] as const;

export type Environment = (typeof ENVIRONMENTS)[number];

/** The owner of data: every key, token, capture and response belongs to one account in one environment. */
export interface Tenant {
  readonly account: string;
  readonly environment: Environment;
}

/** One account in an environment, or all accounts. */
export interface Scope {
  readonly account: string | undefined;
  readonly environment: Environment;
}

/** Returns a text that identifies a tenant among others, for example in a cache. */
export const tenantKey = ({ account, environment }: Tenant): string => `${environment}/${account}`;
