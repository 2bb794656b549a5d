import type { OpenApi, OpenApiOperation } from '../src/http/openapi.ts';

/** A collection for the API client Bruno, made from the examples of the OpenAPI document. Pure. */

const SANDBOX_URL = 'https://localhost:8444';

/** Requests that make a record set the variable from which those for one record take its id. */
const SETS: Readonly<Record<string, readonly [name: string, value: string]>> = {
  tokenizeCards: ['token', 'res.body.data.tokens[0].token'],
  createCapture: ['id', 'res.body.data.id'],
  createCaptureSession: ['id', 'res.body.data.id'],
  createPayment: ['id', 'res.body.data.transaction_info.transaction_id'],
  createWebhook: ['id', 'res.body.data.id'],
};

/** One disables its webhook, which then has no replay; the other needs an authorization that is not captured. */
const LATE: ReadonlySet<string> = new Set(['updateWebhook', 'voidPayment']);

/** Requests that end a record come last in their folder, so that the others find it. */
const rankOf = ({ method, operation }: { readonly method: string; readonly operation: OpenApiOperation }): number =>
  method === 'delete' ? 2 : Number(LATE.has(operation.operationId));

/** Returns the text of each file, by its path in the folder of the collection. */
export function buildBrunoCollection({ paths, tags }: OpenApi): ReadonlyMap<string, string> {
  const files = new Map<string, string>([
    ['bruno.json', `${JSON.stringify({ version: '1', name: 'cardvault', type: 'collection' }, null, 2)}\n`],
    ['environments/sandbox.bru', `vars {\n  url: ${SANDBOX_URL}\n}\nvars:secret [\n  apiKey\n]\n`],
  ]);
  const requests = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  for (const [index, { name }] of tags.entries()) {
    const tagged = requests.filter(({ operation }) => operation.tags.includes(name));
    if (tagged.length === 0) continue;
    const folder = block('meta', [
      ['name', name],
      ['seq', `${index + 1}`],
    ]);
    files.set(`${name}/folder.bru`, folder);
    const inOrder = tagged.sort((one, other) => rankOf(one) - rankOf(other));
    for (const [place, { path, method, operation }] of inOrder.entries())
      files.set(`${name}/${operation.operationId}.bru`, buildRequest(method, path, operation, place + 1));
  }
  return files;
}

type Lines = readonly (readonly [name: string, value: string])[];

function buildRequest(method: string, path: string, operation: OpenApiOperation, seq: number): string {
  const { operationId, parameters, requestBody, security, summary } = operation;
  const isProxy = security.some((scheme) => 'accessKey' in scheme);
  const [media, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  const kind = content === undefined ? 'none' : media === 'application/json' ? 'json' : 'text';
  const inPath = parameters
    .filter((each) => each.in === 'path')
    .map(({ name }): [string, string] => [name, `{{${name}}}`]);
  const query = parameters
    .filter((each) => each.in === 'query')
    .map(({ name, required, schema }): [string, string] => [
      required ? name : `~${name}`,
      String((schema['enum'] as readonly unknown[] | undefined)?.[0] ?? ''),
    ]);
  const address = path.replace(/\{([a-z]+)\}/gi, ':$1');
  const asked = query.filter(([name]) => !name.startsWith('~')).map(([name, value]) => `${name}=${value}`);
  const url = `{{url}}${address}${asked.length === 0 ? '' : `?${asked.join('&')}`}`;
  const headers: [string, string][] = [[isProxy ? 'ft-access-key' : 'x-api-key', '{{apiKey}}']];
  if (kind === 'text') headers.push(['content-type', media === '*/*' ? 'text/plain' : (media ?? '')]);
  if (method !== 'get') headers.push(['idempotency-key', '{{$randomUUID}}']);
  const body = content === undefined ? '' : formatExample(content.example);
  const [, token] = /\{\{([0-9]+):detokenize/.exec(body) ?? [];
  const set = SETS[operationId];
  return [
    block('meta', [
      ['name', summary],
      ['type', 'http'],
      ['seq', `${seq}`],
    ]),
    block(method, [
      ['url', url],
      ['body', kind],
      ['auth', 'none'],
    ]),
    query.length === 0 ? '' : block('params:query', query),
    inPath.length === 0 ? '' : block('params:path', inPath),
    block('headers', headers),
    content === undefined ? '' : `body:${kind} {\n${indent(body)}\n}\n`,
    set === undefined ? '' : block('vars:post-response', [set]),
    block('assert', [['res.status', 'eq 200']]),
    token === undefined ? '' : `script:pre-request {\n${indent(toOwnToken(token))}\n}\n`,
  ]
    .filter((part) => part !== '')
    .join('\n');
}

/** Bruno has no variables within placeholders, because both have the same braces. */
const toOwnToken = (
  example: string,
): string => `// The token of the example is in no vault: the one of the variable takes its place.
const token = bru.getVar('token') ?? bru.getEnvVar('token');
if (token) req.setBody(JSON.parse(JSON.stringify(req.getBody()).replaceAll('${example}', token)));`;

const block = (name: string, lines: Lines): string =>
  `${name} {\n${lines.map(([key, value]) => `  ${key}: ${value}`).join('\n')}\n}\n`;

const formatExample = (example: unknown): string =>
  typeof example === 'string' ? example : JSON.stringify(example, null, 2);

const indent = (text: string): string => text.replace(/^/gm, '  ');
