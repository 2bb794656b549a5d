import type { JsonSchema } from './fields.ts';
import type { OpenApi, OpenApiContent, OpenApiOperation } from './openapi.ts';

/** Names for the schemas of bodies and responses, from which generators of clients make types. Pure. */

const reference = (name: string): JsonSchema => ({ $ref: `#/components/schemas/${name}` });

const capitalize = (text: string): string => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;

/** Collects schemas by name. Equal schemas of failures share the name of their family. */
class Schemas {
  readonly byName = new Map<string, JsonSchema>();
  readonly #namesOfFailures = new Map<string, string>();

  add(name: string, schema: JsonSchema): JsonSchema {
    this.byName.set(name, schema);
    return reference(name);
  }

  addFailure(family: string, schema: JsonSchema): JsonSchema {
    const text = JSON.stringify(schema);
    const name = this.#namesOfFailures.get(text) ?? `${family}Failure`;
    this.#namesOfFailures.set(text, name);
    return this.add(name, schema);
  }
}

/** Returns the document with every schema of a body and a response under a name: `CreateCaptureRequest`, `VaultFailure`. */
export function nameSchemas(document: OpenApi): OpenApi {
  const schemas = new Schemas();
  const paths = Object.fromEntries(
    Object.entries(document.paths).map(([path, operations]) => [
      path,
      Object.fromEntries(
        Object.entries(operations).map(([method, operation]) => [method, nameOfOperation(schemas, path, operation)]),
      ),
    ]),
  );
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(schemas.byName) }, paths };
}

function nameOfOperation(schemas: Schemas, path: string, operation: OpenApiOperation): OpenApiOperation {
  const name = capitalize(operation.operationId);
  const { requestBody } = operation;
  const failures = familyOf(path);
  const toResponse = (status: string, content: OpenApiContent): OpenApiContent =>
    mapSchemas(content, (schema) =>
      status === '200' ? schemas.add(`${name}Response`, schema) : schemas.addFailure(failures, schema),
    );
  return {
    ...operation,
    ...(requestBody !== undefined && {
      requestBody: { ...requestBody, content: mapJson(requestBody.content, schemas, `${name}Request`) },
    }),
    responses: Object.fromEntries(
      Object.entries(operation.responses).map(([status, response]) => [
        status,
        { ...response, content: toResponse(status, response.content) },
      ]),
    ),
  };
}

/** Bodies of other media types are texts, which need no name. */
const mapJson = (content: OpenApiContent, schemas: Schemas, name: string): OpenApiContent =>
  'application/json' in content ? mapSchemas(content, (schema) => schemas.add(name, schema)) : content;

const mapSchemas = (content: OpenApiContent, map: (schema: JsonSchema) => JsonSchema): OpenApiContent =>
  Object.fromEntries(Object.entries(content).map(([media, each]) => [media, { ...each, schema: map(each.schema) }]));

const familyOf = (path: string): string =>
  path.startsWith('/proxy/') ? 'Proxy' : path.startsWith('/v1/payments') ? 'Payments' : 'Vault';
