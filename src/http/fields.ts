import { type ExactNumber, isJsonObject, type Json } from '../kernel/json.ts';
import { type Explanation, explain, formatReason } from '../kernel/reasons.ts';

/**
 * Fields of the wire. A field parses a JSON value into a value of the domain and describes itself as JSON Schema, so
 * that one definition validates, converts, and documents. A fault names the path and the expected value, never the
 * value itself; `null` counts as absent unless the field says otherwise; unknown members are ignored.
 */
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface Field<T> {
  readonly schema: JsonSchema;
  readonly optional?: boolean;
  /** True when the value counts as absent. Default: `null` alone does. */
  readonly isAbsent?: (value: Json) => boolean;
  /** Throws `FieldMismatch`. */
  parse(value: Json): T;
}

export type ValueOf<F> = F extends Field<infer T> ? T : never;

/** A value that does not match; the path grows on its way up. */
export class FieldMismatch extends Error {
  path: string;
  readonly explanation: Explanation;

  constructor(explanation: Explanation, path = '') {
    super(formatReason(explanation));
    this.explanation = explanation;
    this.path = path;
  }
}

/** Returns the error with the step before its path. */
function withStep(error: unknown, step: string): unknown {
  if (error instanceof FieldMismatch)
    error.path = error.path === '' || error.path.startsWith('[') ? step + error.path : `${step}.${error.path}`;
  return error;
}

const isNull = (value: Json): boolean => value === null;

type Members = Readonly<Record<string, Field<unknown>>>;
type OptionalNames<M extends Members> = { [K in keyof M]: M[K] extends { optional: true } ? K : never }[keyof M];
export type ObjectValue<M extends Members> = { readonly [K in Exclude<keyof M, OptionalNames<M>>]: ValueOf<M[K]> } & {
  readonly [K in OptionalNames<M>]?: ValueOf<M[K]> | undefined;
};

/** An object with these members; others are ignored. */
export function object<M extends Members>(members: M, description?: string): Field<ObjectValue<M>> {
  const entries = Object.entries(members);
  const required = entries.filter(([, field]) => field.optional !== true).map(([name]) => name);
  const properties = Object.fromEntries(entries.map(([name, field]) => [name, field.schema]));
  const readers = entries.map(([name, field]) => ({
    name,
    field,
    isAbsent: field.isAbsent ?? isNull,
    isRequired: field.optional !== true,
  }));
  return {
    schema: { type: 'object', ...(description !== undefined && { description }), properties, required },
    parse(value) {
      if (!isJsonObject(value)) throw new FieldMismatch(explain('expectedObject'));
      const result: Record<string, unknown> = {};
      let current = '';
      try {
        for (const { name, field, isAbsent, isRequired } of readers) {
          current = name;
          const member = Object.hasOwn(value, name) ? value[name] : undefined;
          if (member !== undefined && !isAbsent(member)) result[name] = field.parse(member);
          else if (isRequired) throw new FieldMismatch(explain('required'));
        }
      } catch (error) {
        throw withStep(error, current);
      }
      return result as ObjectValue<M>;
    },
  };
}

export function list<T>(item: Field<T>, limits: { min: number; max: number }, description?: string): Field<T[]> {
  const about = description === undefined ? {} : { description };
  return {
    schema: { type: 'array', ...about, items: item.schema, minItems: limits.min, maxItems: limits.max },
    parse(value) {
      if (!Array.isArray(value)) throw new FieldMismatch(explain('expectedArray'));
      if (value.length < limits.min || value.length > limits.max) {
        throw new FieldMismatch(explain('entries', { min: limits.min, max: limits.max }));
      }
      const items: T[] = [];
      let index = 0;
      try {
        for (; index < value.length; index++) items.push(item.parse(value[index] ?? null));
      } catch (error) {
        throw withStep(error, `[${index}]`);
      }
      return items;
    },
  };
}

/** The member may be missing, `null`, or, for strings, empty. */
export const optional = <T>(field: Field<T>): Field<T> & { optional: true } => ({
  ...field,
  optional: true,
  isAbsent: (value) => value === null || value === '',
});

/**
 * The member may be missing, but not `null` or empty: where a missing member grants the most, a client may have
 * forgotten to fill the field.
 */
export const optionalNotNull = <T>(field: Field<T>): Field<T> & { optional: true } => ({
  ...field,
  optional: true,
  isAbsent: () => false,
});

/**
 * The member may be missing or `null`, but not empty: where a missing object means the most, such as the entire amount, an empty text
 * may be one that a client has forgotten to fill.
 */
export const optionalNotEmpty = <T>(field: Field<T>): Field<T> & { optional: true } => ({
  ...field,
  optional: true,
  isAbsent: isNull,
});

const countCharacters = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

/** Text of 1 to `max` characters (code points) without control characters. */
export const plainText = (max: number, description: string): Field<string> => ({
  schema: { type: 'string', minLength: 1, maxLength: max, description },
  parse(value) {
    const isPlain = typeof value === 'string' && value !== '' && !/\p{Cc}/u.test(value);
    if (!isPlain || (value.length > max && countCharacters(value) > max))
      throw new FieldMismatch(explain('plainCharacters', { min: 1, max }));
    return value;
  },
});

/** Any text of 1 to `max` characters. */
export const anyText = (max: number, description: string): Field<string> => ({
  schema: { type: 'string', minLength: 1, maxLength: max, description },
  parse(value) {
    const fits = typeof value === 'string' && value !== '' && (value.length <= max || countCharacters(value) <= max);
    if (!fits) throw new FieldMismatch(explain('stringCharacters', { min: 1, max }));
    return value;
  },
});

/** Any string, for values that are searched and not stored. */
export const anyString = (description: string): Field<string> => ({
  schema: { type: 'string', description },
  parse(value) {
    if (typeof value !== 'string') throw new FieldMismatch(explain('expectedString'));
    return value;
  },
});

/** One exact value. */
export const exactly = <W extends string>(expected: W, description: string): Field<W> => ({
  schema: { type: 'string', enum: [expected], description },
  parse(value) {
    if (value !== expected) throw new FieldMismatch(explain('literal', { words: expected }));
    return expected;
  },
});

/** One of some exact values. */
export const oneOf = <const W extends string>(words: readonly W[], description: string): Field<W> => ({
  schema: { type: 'string', enum: words, description },
  parse(value) {
    const known = words.find((each) => each === value);
    if (known === undefined) throw new FieldMismatch(explain('choice', { words: words.join(', ') }));
    return known;
  },
});

export const bool = (description: string): Field<boolean> => ({
  schema: { type: 'boolean', description },
  parse(value) {
    if (typeof value !== 'boolean') throw new FieldMismatch(explain('expectedBoolean'));
    return value;
  },
});

/** A JSON number or numeric string without sign, fraction, exponent or leading zeros. */
export const integer = (limits: { min: number; max: number }, description: string): Field<number> => ({
  schema: {
    oneOf: [
      { type: 'integer', minimum: limits.min, maximum: limits.max },
      { type: 'string', pattern: '^(0|[1-9][0-9]*)$' },
    ],
    description,
  },
  parse(value) {
    const number = typeof value === 'string' && /^(0|[1-9][0-9]{0,15})$/.test(value) ? Number(value) : value;
    if (typeof number !== 'number' || number < limits.min || number > limits.max) {
      throw new FieldMismatch(explain('integer', { min: limits.min, max: limits.max }));
    }
    return number;
  },
});

export const anyObject = (description: string): Field<{ readonly [key: string]: Json }> => ({
  schema: { type: 'object', description, additionalProperties: true },
  parse(value) {
    if (!isJsonObject(value)) throw new FieldMismatch(explain('expectedObject'));
    return value;
  },
});

/** Any value. */
export const anyJson = (description: string): Field<Json> => ({ schema: { description }, parse: (value) => value });

/** Members of responses, which are written and never parsed. */
const outputField = <T>(schema: JsonSchema): Field<T> => ({
  schema,
  parse() {
    throw new Error('a member of replies is not read');
  },
});

const EXPLANATION = {
  properties: { reason: { type: 'string' }, values: { type: 'object', additionalProperties: true } },
  required: ['reason', 'values'],
} as const;

export const output = {
  text: (description: string) => outputField<string>({ type: 'string', description }),
  nullableText: (description: string) => outputField<string | null>({ type: ['string', 'null'], description }),
  integer: (description: string) => outputField<number>({ type: 'integer', description }),
  /** A number written digit by digit, see `serializable`. */
  amount: (description: string) => outputField<ExactNumber>({ type: 'number', format: 'decimal', description }),
  /** Any JSON. */
  json: (description: string) => outputField<Json>({ description }),
  bool: (description: string) => outputField<boolean>({ type: 'boolean', description }),
  time: (description: string) => outputField<string>({ type: 'string', format: 'date-time', description }),
  nullableTime: (description: string) =>
    outputField<string | null>({ type: ['string', 'null'], format: 'date-time', description }),
  texts: (description: string) =>
    outputField<readonly string[]>({ type: 'array', items: { type: 'string' }, description }),
  oneOf: <W extends string>(words: readonly W[], description: string) =>
    outputField<W>({ type: 'string', enum: words, description }),
  /** A reason with its values, see `kernel/reasons.ts`. */
  explanation: (description: string) => outputField<Explanation>({ ...EXPLANATION, type: 'object', description }),
  nullableExplanation: (description: string) =>
    outputField<Explanation | null>({ ...EXPLANATION, type: ['object', 'null'], description }),
  list: <T>(item: Field<T>, description: string) =>
    outputField<readonly T[]>({ type: 'array', items: item.schema, description }),
};

/** The schema for writing responses: exact numbers are written unchanged, where `type: number` would round them. */
export function serializable(schema: JsonSchema): JsonSchema {
  if (schema['format'] === 'decimal') return {};
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => {
      const isSchema = typeof value === 'object' && value !== null && !Array.isArray(value);
      return [name, isSchema ? serializable(value as JsonSchema) : value];
    }),
  );
}
