import type { Field } from '../../src/http/fields.ts';

/** A member that is there twice is as good as none of the two. Throws `Mismatch`. */
export function readQuery<T>(field: Field<T> | undefined, query: string): T | undefined {
  if (field === undefined) return undefined;
  const given = new URLSearchParams(query);
  const single = [...new Set(given.keys())].filter((name) => given.getAll(name).length === 1);
  return field.parse(Object.fromEntries(single.map((name) => [name, given.get(name) ?? ''])));
}
