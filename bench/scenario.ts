import type { Plan, Shape } from './requests.ts';
import type { Ready } from './server.ts';

/** A node over SQLite, one over PostgreSQL, that one and another over the same database, or `node:https` alone in the first. */
export type DatabaseLayout = 'sqlite' | 'postgres' | 'two nodes' | 'bare';

export interface Scenario {
  readonly name: string;
  readonly method: Plan['method'];
  readonly path: string;
  readonly shape: Shape;
  readonly against: string;
  /** Where it runs; absent: over SQLite. */
  readonly layout?: DatabaseLayout;
  /** The comparison is one of these; with none of them it is bare RSA signing. `prefix`: of its path. */
  readonly prefix?: string;
  /** Another request of the service. */
  readonly beside?: { readonly path: string; readonly shape: Shape };
  /** The same request, elsewhere. */
  readonly otherLayout?: DatabaseLayout;
  /** Bare inserts of rows like tokens, in groups of the size that the service formed a moment ago. */
  readonly inserts?: 'postgres' | 'sqlite';
  /** The ratio we mean to reach. */
  readonly target?: number;
  /** The number of units that one request counts, and their name. */
  readonly each: number;
  readonly unit: string;
  readonly ids: (ready: Ready) => readonly string[];
  readonly keyHeader?: Plan['keyHeader'];
  /** Settings of the account's proxy, changed before the scenario. */
  readonly settings?: Readonly<Record<string, string>>;
}

export const TOKENIZATION = { method: 'POST', path: '/v1/tokenization/simple' } as const;
export const RETRIEVAL = '/transactions/requests/{id}';

/** Does it need PostgreSQL? */
export const needsPostgres = ({ layout = 'sqlite', otherLayout = 'sqlite', inserts = 'sqlite' }: Scenario): boolean =>
  [layout, otherLayout, inserts].some((each) => each !== 'sqlite' && each !== 'bare');
