import { type Field, type JsonSchema, output } from '../../src/http/fields.ts';
import type { Capability } from '../people/roles.ts';

/**
 * The words between the console in the browser and the service. Each call is defined once, here, and both sides import
 * the definition: the service reads requests and filters answers by it, the browser takes path and types from it. So
 * nothing in these files may need Node.
 */

/**
 * Who may call: `public`; `signing-in`, who has given a password and not yet a second factor; `enrolling`, who follows an
 * invitation and has no second factor yet; `person`, anybody signed in; else whoever has the capability in the account of the path, or
 * `operate`.
 */
type Access = 'public' | 'signing-in' | 'enrolling' | 'person' | Capability;

export interface Definition<Body = unknown, Query = unknown, Data = unknown> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `:account` and `:environment` in it name the tenant. */
  readonly path: string;
  readonly access: Access;
  /** The second factor must have been given within the last minutes. */
  readonly stepUp?: true;
  /**
   * In production, where the account wants that, it waits for a second person; so does what concerns no environment. A word
   * for what it is.
   */
  readonly dualControl?: string;
  /**
   * Works while the account is suspended, as whatever reads (GET) does: it looks something up, or takes access away. All other
   * changes are refused then.
   */
  readonly allowedWhileSuspended?: true;
  /** The body may be longer than those of other calls. Read only from who is signed in. */
  readonly largeBody?: true;
  readonly body?: Field<Body>;
  readonly query?: Field<Query>;
  readonly data: Field<Data>;
}

export const define = <Body = undefined, Query = undefined, Data = unknown>(
  definition: Definition<Body, Query, Data>,
): Definition<Body, Query, Data> => definition;

/** A part of an answer that may be missing. */
export const orNull = <T>(field: Field<T>): Field<T | null> =>
  ({ ...field, schema: { ...field.schema, nullable: true } as JsonSchema }) as Field<T | null>;

/** Nothing to tell but that it was done. */
export const done = output.bool('Always true');
