import { ENDPOINTS } from '../src/http/endpoints.ts';
import type { JsonSchema } from '../src/http/fields.ts';
import { buildOpenApi, type OpenApi, type OpenApiOperation } from '../src/http/openapi.ts';
import { nameSchemas } from '../src/http/openapi-components.ts';
import { EVENT_TYPES } from '../src/webhooks/webhook.ts';

/** Types of the TypeScript client, made from the OpenAPI document. Pure. */

/** Versions and addresses differ between installations; types do not. */
export const buildDocument = (): OpenApi =>
  nameSchemas(buildOpenApi(ENDPOINTS, '0.0.0', (environment) => `https://${environment}.example.com`));

type Members = Readonly<Record<string, JsonSchema>>;

function typeOf(schema: JsonSchema, indent: string): string {
  const reference = schema['$ref'];
  if (typeof reference === 'string') return reference.replace('#/components/schemas/', '');
  if (schema['const'] !== undefined) return JSON.stringify(schema['const']);
  const choices = schema['enum'] as readonly unknown[] | undefined;
  if (choices !== undefined) return choices.map((each) => JSON.stringify(each)).join(' | ');
  const alternatives = (schema['oneOf'] ?? schema['anyOf']) as readonly JsonSchema[] | undefined;
  if (alternatives !== undefined) return typeOfAlternatives(alternatives, indent);
  const content = schema['contentSchema'] as JsonSchema | undefined;
  if (content !== undefined) return typeOf(content, indent);
  const { type } = schema;
  if (Array.isArray(type)) return type.map((each) => typeOf({ ...schema, type: each }, indent)).join(' | ');
  return typeOfKind(String(type), schema, indent);
}

/** Digits without a maximum are strings: a number of JavaScript drops leading zeros, and rounds a card number of 19 digits. */
function typeOfAlternatives(alternatives: readonly JsonSchema[], indent: string): string {
  const hasText = alternatives.some(({ type }) => type === 'string');
  const isDigits = ({ type, maximum, enum: choices }: JsonSchema): boolean =>
    hasText && type === 'integer' && maximum === undefined && choices === undefined;
  const kept = alternatives.filter((each) => !isDigits(each));
  return [...new Set(kept.map((each) => typeOf(each, indent)))].join(' | ');
}

function typeOfKind(type: string, schema: JsonSchema, indent: string): string {
  switch (type) {
    case 'string':
      return 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'null':
      return 'null';
    case 'array': {
      const item = typeOf(schema['items'] as JsonSchema, indent);
      return item.includes(' ') && !item.startsWith('{') ? `readonly (${item})[]` : `readonly ${item}[]`;
    }
    case 'object':
      return typeOfObject(schema, indent);
    default:
      return 'unknown';
  }
}

function typeOfObject(schema: JsonSchema, indent: string): string {
  const members = Object.entries((schema['properties'] ?? {}) as Members);
  const isOpen = schema['additionalProperties'] === true;
  if (members.length === 0) return 'Readonly<Record<string, unknown>>';
  const required = new Set((schema['required'] ?? []) as readonly string[]);
  const inner = `${indent}  `;
  const lines = members.map(([name, member]) => {
    const { description } = member;
    const comment = typeof description === 'string' ? `${inner}/** ${description} */\n` : '';
    const mark = required.has(name) ? '' : '?';
    const absent = required.has(name) ? '' : ' | undefined';
    return `${comment}${inner}readonly ${toName(name)}${mark}: ${typeOf(member, inner)}${absent};\n`;
  });
  const more = isOpen ? `${inner}readonly [name: string]: unknown;\n` : '';
  return `{\n${lines.join('')}${more}${indent}}`;
}

const toName = (name: string): string => (/^[a-z_$][\w$]*$/i.test(name) ? name : JSON.stringify(name));

function describeOperation(
  { operationId, parameters, requestBody, responses }: OpenApiOperation,
  method: string,
  path: string,
): string {
  const body = requestBody === undefined ? 'undefined' : bodyType(requestBody.content);
  const success = responses['200']?.content['application/json']?.schema ?? {};
  return [
    `  readonly ${operationId}: {`,
    `    readonly method: ${JSON.stringify(method.toUpperCase())};`,
    `    readonly path: ${JSON.stringify(path)};`,
    `    readonly query: ${typeOfParameters(parameters, 'query')};`,
    `    readonly headers: ${typeOfParameters(parameters, 'header')};`,
    `    readonly body: ${body};`,
    `    readonly response: ${typeOf(success, '    ')};`,
    '  };',
  ].join('\n');
}

/** The members that these parameters have as an object; those of the path are in `path`. */
function typeOfParameters(parameters: OpenApiOperation['parameters'], place: 'query' | 'header'): string {
  const found = parameters.filter((parameter) => parameter.in === place);
  if (found.length === 0) return 'undefined';
  const properties = Object.fromEntries(
    found.map(({ name, description, schema }) => [name, { ...schema, description }]),
  );
  const required = found.filter((parameter) => parameter.required).map(({ name }) => name);
  return typeOfObject({ properties, required }, '    ');
}

const bodyType = (content: NonNullable<OpenApiOperation['requestBody']>['content']): string => {
  const json = content['application/json'];
  return json === undefined ? 'string | Uint8Array' : typeOf(json.schema, '    ');
};

export function generateTypes(document: OpenApi): string {
  const schemas = Object.entries((document.components as { schemas: Members }).schemas);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
  const table = operations.map(
    ({ method, path, operation }) =>
      `  ${operation.operationId}: { method: ${JSON.stringify(method.toUpperCase())}, path: ${JSON.stringify(path)} },`,
  );
  return [
    '// Generated from the OpenAPI document by `npm run generate:client`. Change the endpoints of the service instead.',
    ...schemas.map(([name, schema]) => `export type ${name} = ${typeOf(schema, '')};`),
    `/** The operations of the interface by their ids. */\nexport interface Operations {\n${operations
      .map(({ method, path, operation }) => describeOperation(operation, method, path))
      .join('\n')}\n}`,
    `/** Method and path of each operation. */\nexport const ROUTES = {\n${table.join('\n')}\n} as const;`,
    `/** Types of the events of webhooks. */\nexport const EVENT_TYPES = ${JSON.stringify(EVENT_TYPES)} as const;`,
    '',
  ].join('\n\n');
}
