import type { OpenApi, OpenApiOperation } from '../src/http/openapi.ts';

/** A collection for the API client Bruno, made from the examples of the OpenAPI document. Pure. */

const SANDBOX_URL = 'https://localhost:8444';

/** Returns the text of each file, by its path in the folder of the collection. */
export function buildBrunoCollection({ paths, tags }: OpenApi): ReadonlyMap<string, string> {
  const files = new Map<string, string>([
    ['bruno.json', `${JSON.stringify({ version: '1', name: 'cardvault', type: 'collection' }, null, 2)}\n`],
    ['environments/sandbox.bru', `vars {\n  url: ${SANDBOX_URL}\n}\nvars:secret [\n  apiKey\n]\n`],
  ]);
  const sequence = new Map<string, number>();
  for (const [path, methods] of Object.entries(paths))
    for (const [method, operation] of Object.entries(methods)) {
      const [tag = ''] = operation.tags;
      const place = (sequence.get(tag) ?? 0) + 1;
      sequence.set(tag, place);
      files.set(`${tag}/${operation.operationId}.bru`, buildRequest(method, path, operation, place));
    }
  for (const [index, { name }] of tags.entries())
    if (sequence.has(name))
      files.set(
        `${name}/folder.bru`,
        block('meta', [
          ['name', name],
          ['seq', `${index + 1}`],
        ]),
      );
  return files;
}

type Lines = readonly (readonly [name: string, value: string])[];

function buildRequest(method: string, path: string, operation: OpenApiOperation, seq: number): string {
  const { parameters, requestBody, security, summary } = operation;
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
    content === undefined ? '' : `body:${kind} {\n${indent(formatExample(content.example))}\n}\n`,
  ]
    .filter((part) => part !== '')
    .join('\n');
}

const block = (name: string, lines: Lines): string =>
  `${name} {\n${lines.map(([key, value]) => `  ${key}: ${value}`).join('\n')}\n}\n`;

const formatExample = (example: unknown): string =>
  typeof example === 'string' ? example : JSON.stringify(example, null, 2);

const indent = (text: string): string => text.replace(/^/gm, '  ');
