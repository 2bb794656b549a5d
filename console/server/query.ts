import type { Field } from '../../src/http/fields.ts';

/** A member that is there twice is as good as none of the two. Throws `Mismatch`. */
export function parseQuery<T>(field: Field<T> | undefined, query: string): T | undefined {
  if (field === undefined) return undefined;
  const parameters = new URLSearchParams(query);
  const single = [...new Set(parameters.keys())].filter((name) => parameters.getAll(name).length === 1);
  return field.parse(Object.fromEntries(single.map((name) => [name, parameters.get(name) ?? ''])));
}
