import { PERMISSIONS } from '../accounts/permission.ts';
import { FAILURES, Failure, type FailureCode } from '../kernel/failure.ts';
import type { Endpoint } from './endpoint.ts';
import type { JsonSchema } from './fields.ts';
import { type Family, PROBLEMS, problemBody } from './problems.ts';

/** OpenAPI 3.1 made from the endpoints themselves, so that it says what is validated and written. */
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
  readonly security: readonly object[];
  readonly components: object;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly 'x-permission': string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly required: true; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content: Content }>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'header';
  readonly required: boolean;
  readonly description: string;
  readonly schema: JsonSchema;
}

export type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly example: unknown }>>;

const DESCRIPTION =
  'A card vault that merchants run themselves. Production and sandbox are two listeners with the same paths and nothing in common. Every path is served with and without a trailing slash. Answers carry `x-request-id`; while rate limits are on, `RateLimit` and `RateLimit-Policy` too.';

const TAGS: readonly { name: string; description: string; paths: RegExp }[] = [
  { name: 'Permanent tokens', description: 'Card numbers replaced by tokens.', paths: /^\/v1\/token/ },
  { name: 'Captures', description: 'Card data kept for a while.', paths: /^\/transactions/ },
  { name: 'Account', description: 'The account and the calling key.', paths: /^\/v1\/account/ },
];

export function openApi(endpoints: readonly Endpoint[], version: string): OpenApi {
  const paths: Record<string, Record<string, Operation>> = {};
  for (const endpoint of endpoints) {
    const path = templateOf(endpoint.path);
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: operation(endpoint) };
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
      { url: 'https://localhost:8443', description: 'Production' },
      { url: 'https://localhost:8444', description: 'Sandbox' },
    ],
    tags: TAGS.map(({ name, description }) => ({ name, description })),
    security: [{ apiKey: [] }],
    components: {
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
          description: `Permissions: ${PERMISSIONS.join(', ')}.`,
        },
        accessKey: {
          type: 'apiKey',
          in: 'header',
          name: 'ft-access-key',
          description: 'The same key, for the proxy endpoints.',
        },
      },
    },
    paths,
  };
}

const templateOf = (path: string): string => path.replace(/:([a-z]+)/gi, '{$1}');

const operationIdOf = ({ method, summary }: Endpoint): string => {
  const words = summary.split(' ').filter((word) => !/^(a|the)$/.test(word.toLowerCase()));
  const name = words
    .map((word, index) => (index === 0 ? word.toLowerCase() : word[0]?.toUpperCase() + word.slice(1)))
    .join('');
  return method === 'GET' && name === 'showAccount' ? 'getAccount' : name;
};

function operation(endpoint: Endpoint): Operation {
  const { body, example } = endpoint;
  return {
    operationId: operationIdOf(endpoint),
    tags: TAGS.filter(({ paths }) => paths.test(endpoint.path)).map(({ name }) => name),
    summary: endpoint.summary,
    description: endpoint.description,
    'x-permission': endpoint.permission,
    parameters: parameters(endpoint),
    ...(body !== undefined && {
      requestBody: {
        required: true as const,
        content: { 'application/json': { schema: body.schema, example: example.body } },
      },
    }),
    responses: {
      200: {
        description: 'Success',
        content: { 'application/json': { schema: envelope(endpoint.data.schema), example: envelopeOf(example.data) } },
      },
      ...Object.fromEntries(failuresOf(endpoint)),
    },
  };
}

function parameters({ path, method }: Endpoint): Parameter[] {
  const inPath = [...path.matchAll(/:([a-z]+)/gi)].map(
    ([, name = '']): Parameter => ({
      name,
      in: 'path',
      required: true,
      description: name === 'token' ? 'The token' : 'Id of the capture',
      schema: { type: 'string' },
    }),
  );
  const idempotencyKey: Parameter = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description:
      'The same key with the same request gives the first answer again, for 24 hours, and has no second effect.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  };
  return method === 'GET' ? inPath : [...inPath, idempotencyKey];
}

const envelope = (data: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: {
    status_code: { type: 'integer', const: 200 },
    status: { type: 'string', const: 'success' },
    desc: { type: 'string' },
    data,
  },
  required: ['status_code', 'status', 'desc', 'data'],
});

const envelopeOf = (data: unknown): unknown => ({ status_code: 200, status: 'success', desc: 'Success', data });

const WITH_BODY: ReadonlySet<FailureCode> = new Set(['malformed_json', 'invalid_field']);
const WITH_IDEMPOTENCY: ReadonlySet<FailureCode> = new Set(['idempotency_key_reused', 'operation_in_progress']);
const ELSEWHERE: ReadonlySet<FailureCode> = new Set(['unknown_path', 'method_not_allowed']);

/** Failures by status, with the first as the example. */
function failuresOf(endpoint: Endpoint): [string, { description: string; content: Content }][] {
  const codes = (Object.keys(FAILURES) as FailureCode[]).filter((code) => canMeet(endpoint, code));
  const byStatus = Map.groupBy(codes, (code) => PROBLEMS[code].status);
  return [...byStatus].map(([status, met]) => {
    const [first = 'internal'] = met;
    const example: unknown = JSON.parse(problemBody(endpoint.family, new Failure(first)));
    const description = met.map((code) => FAILURES[code]).join(' ');
    return [
      String(status),
      { description, content: { 'application/json': { schema: failureSchema(endpoint.family), example } } },
    ];
  });
}

function canMeet({ body, method, path }: Endpoint, code: FailureCode): boolean {
  if (ELSEWHERE.has(code)) return false;
  if (WITH_BODY.has(code)) return body !== undefined || (code === 'invalid_field' && method !== 'GET');
  if (WITH_IDEMPOTENCY.has(code) || code === 'body_too_large') return method !== 'GET';
  if (code === 'nothing_tokenized' || code === 'token_space_full') return /tokeniz/.test(path);
  if (code === 'unknown_token') return /\/inspect$/.test(path) && /^\/v1\/tokens/.test(path);
  if (code === 'unknown_capture') return /:id/.test(path) && !/inspect$/.test(path);
  if (code === 'capture_without_card') return /:id\/tokenize/.test(path);
  return true;
}

function failureSchema(family: Family): JsonSchema {
  const text = { type: 'string' };
  if (family === 'payments') {
    const data = { type: 'object', properties: { code: text, description: text, path: text } };
    return {
      type: 'object',
      properties: { status: text, message: text, data },
      required: ['status', 'message', 'data'],
    };
  }
  const words = family === 'proxy' ? 'description' : 'desc';
  return {
    type: 'object',
    properties: {
      status_code: { type: 'integer' },
      status: { type: 'string', const: 'fail' },
      [words]: text,
      data: { type: 'string', const: '' },
    },
    required: ['status_code', 'status', words, 'data'],
  };
}
