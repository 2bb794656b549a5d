import assert from 'node:assert/strict';

type Schema = Readonly<Record<string, unknown>>;

const ANNOTATIONS = new Set(['description', 'properties', 'required', 'additionalProperties']);

/**
 * Where a value does not fit a JSON Schema (2020-12), as far as the OpenAPI document uses it. A keyword that is not known
 * here is an error, so that none is passed over.
 */
export function faultsOf(schema: Schema, value: unknown, place = '$'): string[] {
  const faults: string[] = [];
  for (const [keyword, wanted] of Object.entries(schema)) {
    const check = CHECKS[keyword];
    if (check === undefined) assert.ok(ANNOTATIONS.has(keyword), `the keyword ${keyword} is not known`);
    else if (!check(wanted, value, place)) faults.push(`${place}: ${keyword}`);
  }
  if (Array.isArray(value)) {
    const items = (schema['items'] ?? {}) as Schema;
    return [...faults, ...value.flatMap((item, index) => faultsOf(items, item, `${place}[${index}]`))];
  }
  if (!isObject(value)) return faults;
  for (const name of (schema['required'] ?? []) as string[])
    if (!Object.hasOwn(value, name)) faults.push(`${place}.${name}: required`);
  for (const [name, member] of Object.entries((schema['properties'] ?? {}) as Record<string, Schema>))
    if (Object.hasOwn(value, name)) faults.push(...faultsOf(member, value[name], `${place}.${name}`));
  return faults;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
};

type Check = (wanted: unknown, value: unknown, place: string) => boolean;

const ofNumber =
  (holds: (wanted: number, value: number) => boolean): Check =>
  (wanted, value) =>
    typeof value !== 'number' || holds(Number(wanted), value);
const ofText =
  (holds: (wanted: unknown, value: string) => boolean): Check =>
  (wanted, value) =>
    typeof value !== 'string' || holds(wanted, value);
const ofList =
  (holds: (wanted: number, value: unknown[]) => boolean): Check =>
  (wanted, value) =>
    !Array.isArray(value) || holds(Number(wanted), value);

const CHECKS: Readonly<Record<string, Check>> = {
  type: (wanted, value) => [wanted].flat().some((type) => TYPES[String(type)]?.(value) === true),
  const: (wanted, value) => value === wanted,
  enum: (wanted, value) => (wanted as unknown[]).includes(value),
  oneOf: (wanted, value, place) =>
    (wanted as Schema[]).filter((each) => faultsOf(each, value, place).length === 0).length === 1,
  anyOf: (wanted, value, place) => (wanted as Schema[]).some((each) => faultsOf(each, value, place).length === 0),
  items: () => true,
  minimum: ofNumber((wanted, value) => value >= wanted),
  maximum: ofNumber((wanted, value) => value <= wanted),
  minLength: ofText((wanted, value) => [...value].length >= Number(wanted)),
  maxLength: ofText((wanted, value) => [...value].length <= Number(wanted)),
  pattern: ofText((wanted, value) => new RegExp(String(wanted), 'u').test(value)),
  format: ofText((wanted, value) => {
    assert.equal(wanted, 'date-time');
    return /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/.test(value);
  }),
  minItems: ofList((wanted, value) => value.length >= wanted),
  maxItems: ofList((wanted, value) => value.length <= wanted),
};
