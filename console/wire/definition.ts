import { type Field, type JsonSchema, object, oneOf, optional, output } from '../../src/http/fields.ts';
import { SORT_ORDERS } from '../../src/storage/sort-order.ts';
import type { Capability } from '../people/roles.ts';

/**
 * The calls between the browser and the service. Each is defined once and imported by both sides: the service parses requests
 * and filters responses by the definition, the browser takes path and types from it. So these files need nothing of Node.
 */

/**
 * The callers that a call allows: `public`, every client; `signing-in`, after the password and before the second factor;
 * `enrolling`, with an invitation and no second factor yet; `person`, every signed-in user; a capability, its holders in the
 * account of the path.
 */
export type Access = 'public' | 'signing-in' | 'enrolling' | 'person' | Capability;

export interface Definition<Body = unknown, Query = unknown, Data = unknown> {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** `:account` and `:environment` in it name the tenant. */
  readonly path: string;
  readonly access: Access;
  /** The second factor must have been given within the last minutes. */
  readonly stepUp?: true;
  /** Name of a change that needs approval in production, or without an environment, where the account has dual control. */
  readonly dualControl?: string;
  /** The call works while the account is suspended, because it only reads or removes access. GET always does. */
  readonly allowedWhileSuspended?: true;
  /** A caller who has a session sends its CSRF token, although the access is `public`. */
  readonly provesSession?: true;
  /** The call may have an `Idempotency-Key`: a repeat with it gets the result of the first one. */
  readonly takesIdempotencyKey?: true;
  /** The body may be longer than those of other calls; it is read only for a signed-in user. */
  readonly largeBody?: true;
  readonly body?: Field<Body>;
  readonly query?: Field<Query>;
  readonly data: Field<Data>;
}

export const define = <Body = undefined, Query = undefined, Data = unknown>(
  definition: Definition<Body, Query, Data>,
): Definition<Body, Query, Data> => definition;

/** A member of a response that may be null. */
export const orNull = <T>(field: Field<T>): Field<T | null> =>
  ({ ...field, schema: { ...field.schema, nullable: true } as JsonSchema }) as Field<T | null>;

/** The size of a list; null on later pages, and when it is unknown. */
export const recordCount = orNull(
  object({
    number: output.integer('Records that match'),
    is_more: output.bool('There are more than this number'),
  }),
);

/** Field of a list that an index can sort. */
export const sortOrder = optional(oneOf(SORT_ORDERS, 'Order by the time of creation; absent: newest first'));

/** The result of a change without data. */
export const done = output.bool('Always true');
