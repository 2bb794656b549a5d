import type { Field } from '../../src/http/fields.ts';

/** Parses a query string; a member that occurs twice is ignored. Throws `FieldMismatch`. */
export function parseQuery<T>(field: Field<T> | undefined, query: string): T | undefined {
  if (field === undefined) return undefined;
  const parameters = new URLSearchParams(query);
  const single = [...new Set(parameters.keys())].filter((name) => parameters.getAll(name).length === 1);
  return field.parse(Object.fromEntries(single.map((name) => [name, parameters.get(name) ?? ''])));
}
