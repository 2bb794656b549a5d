import { PERMISSIONS } from '../accounts/permission.ts';
import type { Environment } from '../kernel/environment.ts';
import { FAILURES, Failure, type FailureCode } from '../kernel/failure.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Endpoint, TAGS } from './endpoint.ts';
import { ENVELOPES, type Family } from './envelopes.ts';
import type { JsonSchema } from './fields.ts';
import { PROBLEMS } from './problems.ts';

/** OpenAPI 3.1 generated from the endpoints, so that it describes what is validated and written. */
export interface OpenApi {
  readonly openapi: '3.1.0';
  readonly info: {
    readonly title: string;
    readonly version: string;
    readonly description: string;
    readonly license: object;
  };
  readonly servers: readonly object[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly components: object;
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly 'x-permission': string;
  readonly security: readonly object[];
  readonly parameters: readonly OpenApiParameter[];
  readonly requestBody?: { readonly required: true; readonly content: OpenApiContent };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: OpenApiContent }>>;
}

interface OpenApiParameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

export type OpenApiContent = Readonly<Record<string, { readonly schema: JsonSchema; readonly example: unknown }>>;

const DESCRIPTION =
  'A card vault that merchants run themselves. Production and sandbox are two listeners with the same paths and nothing in common. Every path is served with and without a trailing slash. Responses have the header `x-request-id`; while rate limits are on, `RateLimit` and `RateLimit-Policy` too.';

/** `apiUrl`: the address of each environment. */
export function buildOpenApi(
  endpoints: readonly Endpoint[],
  version: string,
  apiUrl: (environment: Environment) => string,
): OpenApi {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const endpoint of endpoints) {
    const path = toTemplate(endpoint);
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: buildOperation(endpoint) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'cardvault',
      version,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [
      { url: apiUrl('production'), description: 'Production' },
      { url: apiUrl('sandbox'), description: 'Sandbox' },
    ],
    tags: TAGS,
    components: {
      securitySchemes: { apiKey: apiKeyScheme('x-api-key'), accessKey: apiKeyScheme('ft-access-key') },
    },
    paths,
  };
}

/** The same key is accepted in both headers; an endpoint reads the one of its family. */
const apiKeyScheme = (name: string): object => ({
  type: 'apiKey',
  in: 'header',
  name,
  description: `Permissions: ${PERMISSIONS.join(', ')}.`,
});

const securityFor = (family: Family): readonly object[] => [family === 'proxy' ? { accessKey: [] } : { apiKey: [] }];

const toTemplate = ({ path, params = {} }: Endpoint): string =>
  Object.keys(params).reduce((template, name) => template.replace(`:${name}`, `{${name}}`), path);

function buildOperation(endpoint: Endpoint): OpenApiOperation {
  const { data, example } = endpoint;
  const content = buildRequestContent(endpoint);
  const { success, successSchema } = ENVELOPES[endpoint.family];
  return {
    operationId: endpoint.operationId,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    description: endpoint.description,
    'x-permission': endpoint.permission,
    security: securityFor(endpoint.family),
    parameters: buildParameters(endpoint),
    ...(content !== undefined && { requestBody: { required: true as const, content } }),
    responses: {
      200: {
        description: 'Success',
        content: { 'application/json': { schema: successSchema(data.schema), example: success(example.data) } },
      },
      ...Object.fromEntries(buildFailureResponses(endpoint)),
    },
  };
}

function buildRequestContent({ body, text, example }: Endpoint): OpenApiContent | undefined {
  if (body !== undefined) return { 'application/json': { schema: body.schema, example: example.body } };
  if (text === undefined) return undefined;
  const media = text.media === 'xml' ? ['application/xml', 'text/xml', 'application/soap+xml'] : ['*/*'];
  const described = { schema: { type: 'string', description: text.description }, example: example.body };
  return Object.fromEntries(media.map((each) => [each, described]));
}

function buildParameters({ method, params = {}, parameters = {} }: Endpoint): OpenApiParameter[] {
  const inPath = Object.entries(params).map(
    ([name, description]): OpenApiParameter => ({
      name,
      in: 'path',
      required: true,
      description,
      schema: { type: 'string' },
    }),
  );
  const named = Object.entries(parameters).map(([name, parameter]): OpenApiParameter => ({ name, ...parameter }));
  const idempotencyKey: OpenApiParameter = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'The same key with the same request gives the first response again, for 24 hours, and has no second effect.',
    schema: { type: 'string', minLength: 1, maxLength: LIMITS.idempotencyKeyCharacters },
  };
  const all = [...inPath, ...named];
  return method === 'GET' ? all : [...all, idempotencyKey];
}

/** Failures of every endpoint. */
const COMMON_FAILURES: readonly FailureCode[] = [
  'malformed_request',
  'access_denied',
  'unsupported_media_type',
  'rate_limited',
  'unavailable',
  'internal',
];
const BODY_FAILURES: readonly FailureCode[] = ['malformed_json', 'invalid_field'];
/** Because of the Idempotency-Key, and of a body that is read even when it is ignored. */
const WRITE_FAILURES: readonly FailureCode[] = [
  'invalid_field',
  'idempotency_key_reused',
  'operation_in_progress',
  'body_too_large',
];

function listFailures({ body, method, failures }: Endpoint): FailureCode[] {
  const met = new Set([
    ...COMMON_FAILURES,
    ...(body === undefined ? [] : BODY_FAILURES),
    ...(method === 'GET' ? [] : WRITE_FAILURES),
    ...failures,
  ]);
  return (Object.keys(FAILURES) as FailureCode[]).filter((code) => met.has(code));
}

/** Failures by status, with the first one as the example. */
function buildFailureResponses(endpoint: Endpoint): [string, { description: string; content: OpenApiContent }][] {
  const envelope = ENVELOPES[endpoint.family];
  const byStatus = Map.groupBy(listFailures(endpoint), (code) => PROBLEMS[code].status);
  return [...byStatus].map(([status, met]) => {
    const [first = 'internal'] = met;
    const example = envelope.failure(new Failure(first), status);
    const content = { 'application/json': { schema: envelope.failureSchema, example } };
    return [
      String(status),
      { description: joinSentences(met.map((code) => FAILURES[code as keyof typeof FAILURES])), content },
    ];
  });
}

/** Joins the texts of failures, some of which are complete sentences. */
function joinSentences(texts: readonly string[]): string {
  const parts = texts.map((text) => `${text[0]?.toLowerCase()}${text.slice(1).replace(/\.$/, '')}`);
  const all = parts.join('; ');
  return `${all[0]?.toUpperCase()}${all.slice(1)}.`;
}
