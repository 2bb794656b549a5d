import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { OpenApiOperation } from '../../src/http/openapi.ts';
import { dereference, faultsOf } from '../fixtures/json-schema.ts';
import { type CallOptions, startTestService, type TestService } from '../fixtures/test-service.ts';
import { idOf, order, PAYMENTS } from './payment-requests.ts';
import { newSender } from './proxy-requests.ts';

type Needs = 'token' | 'capture' | 'authorization' | 'collected' | 'session' | 'webhook';

/** The lines of the interface, and the records that their paths need. */
const INTERFACE: readonly [method: string, path: string, needs?: Needs][] = [
  ['post', '/v1/tokenization/simple'],
  ['get', '/v1/tokens/{token}/inspect', 'token'],
  ['delete', '/v1/tokens'],
  ['post', '/transactions/requests'],
  ['post', '/transactions/requests/{id}/tokenize', 'capture'],
  ['get', '/transactions/requests/{id}', 'capture'],
  ['get', '/transactions/requests/{id}/inspect', 'capture'],
  ['delete', '/transactions/requests/{id}', 'capture'],
  ['post', '/v1/payments'],
  ['post', '/v1/payments/{id}/capture', 'authorization'],
  ['post', '/v1/payments/{id}/refund', 'collected'],
  ['post', '/v1/payments/{id}/void', 'authorization'],
  ['get', '/v1/payments/transactions/{id}', 'authorization'],
  ['post', '/proxy/jose'],
  ['post', '/proxy/wssec'],
  ['post', '/proxy/hash'],
  ['post', '/v1/capture-sessions'],
  ['get', '/v1/capture-sessions/{id}', 'session'],
  ['delete', '/v1/capture-sessions/{id}', 'session'],
  ['post', '/v1/webhooks'],
  ['get', '/v1/webhooks'],
  ['get', '/v1/webhooks/{id}', 'webhook'],
  ['post', '/v1/webhooks/{id}', 'webhook'],
  ['delete', '/v1/webhooks/{id}', 'webhook'],
  ['post', '/v1/webhooks/{id}/rotate', 'webhook'],
  ['post', '/v1/webhooks/{id}/test', 'webhook'],
  ['get', '/v1/webhooks/{id}/deliveries', 'webhook'],
  ['post', '/v1/webhooks/{id}/replay', 'webhook'],
  ['post', '/v1/account'],
  ['get', '/v1/account'],
];
/** Examples that show a receiver of webhooks, which is not there. */
const DIFFERS: ReadonlySet<string> = new Set(['/v1/webhooks/{id}/test', '/v1/webhooks/{id}/deliveries']);
/** Where the records that paths need are created. */
const RECORD_PATHS = {
  token: '/v1/tokenization/simple',
  capture: '/transactions/requests',
  session: '/v1/capture-sessions',
  webhook: '/v1/webhooks',
} as const;
/** The schemas of bodies that are not JSON. */
const MEDIA: Readonly<Record<string, string>> = { '/proxy/wssec': 'application/xml', '/proxy/hash': '*/*' };
const mediaOf = (path: string): string => MEDIA[path] ?? 'application/json';
const isProxy = (path: string): boolean => path.startsWith('/proxy/');
const isPayment = (path: string): boolean => path.startsWith('/v1/payments');
/** The token in the examples of the proxy; a real one is sent in its place. */
const EXAMPLE_TOKEN = /4111118372951111/g;

interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Record<string, Record<string, OpenApiOperation>>;
  readonly components: { readonly securitySchemes: Record<string, unknown> };
}

/** How each failure is brought about on any endpoint that documents it. */
const FAILING: Readonly<Record<string, CallOptions>> = {
  400: { body: '{', headers: { 'idempotency-key': 'not visible' } },
  403: { key: 'wrong' },
  413: { body: 'x'.repeat(1024 * 1024 + 1) },
  415: { headers: { 'content-encoding': 'gzip' } },
};

/** Reading has neither body nor key for idempotency; then only an unknown record in the path is 400. */
const cannotMeet = (method: string, path: string): string[] => {
  if (method !== 'get') return [];
  return /\{/.test(path) && path !== '/transactions/requests/{id}/inspect' ? ['413'] : ['400', '413'];
};

describe('the OpenAPI document', () => {
  let service: TestService;
  let key: string;
  let token: string;
  let document: Document;
  before(async () => {
    service = await startTestService();
    const sender = await newSender(service);
    key = sender.key;
    token = await sender.token('4111111111111111');
    await service.enablePayments(sender.account);
    document = dereference((await service.call('GET', '/openapi.json')).json);
  });
  after(() => service.stop());

  const operationOf = (method: string, path: string): OpenApiOperation =>
    document.paths[path]?.[method] ?? assert.fail(`${method} ${path} is missing`);

  const headersFor = (path: string, secret: string): Record<string, string> =>
    isProxy(path)
      ? { 'ft-access-key': secret, 'content-type': mediaOf(path).replace('*/*', 'text/plain') }
      : { 'x-api-key': secret };
  const exampleOf = (path: string, operation: OpenApiOperation): unknown => {
    const example = operation.requestBody?.content[mediaOf(path)]?.example;
    if (!isProxy(path)) return example;
    const text = typeof example === 'string' ? example : JSON.stringify(example);
    assert.match(text, EXAMPLE_TOKEN);
    return text.replace(EXAMPLE_TOKEN, token);
  };
  /** The path with its required query, of which any word that is listed will do. */
  const queried = (path: string, { parameters }: OpenApiOperation): string => {
    const required = parameters.filter((parameter) => parameter.in === 'query' && parameter.required);
    const pairs = required.map(({ name, schema }) => `${name}=${(schema['enum'] as string[])[0]}`);
    return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
  };

  const record = async (needs: Needs | undefined): Promise<string> => {
    if (needs === undefined) return '';
    if (needs === 'authorization' || needs === 'collected') {
      const body = order(needs === 'collected' ? 'payment' : 'authorization');
      return idOf(await service.call('POST', PAYMENTS, { key, body }));
    }
    const path = RECORD_PATHS[needs];
    const body = operationOf('post', path).requestBody?.content['application/json']?.example;
    const { data } = (await service.call('POST', path, { key, body })).json;
    return needs === 'token' ? data.tokens[0].token : data.id;
  };
  const fill = (path: string, id: string): string => path.replace(/\{[a-z]+\}/, id);
  const schemaOf = (operation: OpenApiOperation, status: number) =>
    operation.responses[String(status)]?.content['application/json']?.schema ??
    assert.fail(`${status} is not documented`);

  test('the document and the page name the addresses of the service', async () => {
    const { servers } = (await service.call('GET', '/openapi.json')).json;
    const urlOf = (environment: 'production' | 'sandbox'): string => `https://localhost:${service.ports[environment]}`;
    assert.deepEqual(
      servers.map(({ url }: { url: string }) => url),
      [urlOf('production'), urlOf('sandbox')],
    );
    const { text } = await service.call('GET', '/docs');
    assert.ok(text.includes(`${urlOf('sandbox')}/v1/account`));
  });

  test('has every route of the interface, and no others', () => {
    const served = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    assert.deepEqual(served.sort(), INTERFACE.map(([method, path]) => `${method} ${path}`).sort());
    assert.equal(document.openapi, '3.1.0');
    assert.match(document.info.version, /^[0-9]+\.[0-9]+\.[0-9]+/);
    const schemes = Object.entries(document.components.securitySchemes);
    assert.deepEqual(
      schemes.map(([name, scheme]) => [
        name,
        (scheme as { in: string; name: string }).in,
        (scheme as { name: string }).name,
      ]),
      [
        ['apiKey', 'header', 'x-api-key'],
        ['accessKey', 'header', 'ft-access-key'],
      ],
    );
  });

  test('has each operation id once and describes every parameter of the path', () => {
    const ids = new Set<string>();
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { operationId, parameters, summary, description, tags }] of Object.entries(methods)) {
        assert.match(operationId, /^[a-z][A-Za-z]+$/);
        assert.ok(!ids.has(operationId), operationId);
        ids.add(operationId);
        assert.ok(summary !== '' && description !== '' && tags.length === 1);
        const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
        assert.deepEqual(
          inPath,
          [...path.matchAll(/\{([a-z]+)\}/gi)].map(([, name]) => name),
        );
        assert.equal(
          parameters.some(({ name }) => name === 'Idempotency-Key'),
          method !== 'get',
        );
      }
    }
  });

  for (const [method, path, needs] of INTERFACE) {
    describe(`${method.toUpperCase()} ${path}`, () => {
      test('states the header of the key', () => {
        assert.deepEqual(operationOf(method, path).security, [isProxy(path) ? { accessKey: [] } : { apiKey: [] }]);
        assert.equal((document as { security?: unknown }).security, undefined, 'each operation says it itself');
      });

      test('has examples that match their schemas', () => {
        const { requestBody, responses } = operationOf(method, path);
        const content = requestBody?.content[mediaOf(path)];
        if (content !== undefined) assert.deepEqual(faultsOf(content.schema, content.example), []);
        const hasBody =
          method !== 'get' &&
          (/tokenization|\/tokenize$|^\/v1\/tokens$|requests$|^\/proxy|^\/v1\/payments|sessions$/.test(path) ||
            (method === 'post' && /webhooks(?:\/\{id\}(?:\/rotate|\/replay)?)?$/.test(path)));
        assert.equal(content !== undefined, hasBody);
        const media =
          path === '/proxy/wssec' ? ['application/xml', 'text/xml', 'application/soap+xml'] : [mediaOf(path)];
        assert.deepEqual(Object.keys(requestBody?.content ?? {}), hasBody ? media : []);
        for (const each of Object.values(requestBody?.content ?? {})) assert.deepEqual(each, content);
        for (const [status, { description, content }] of Object.entries(responses)) {
          const { schema, example } = content['application/json'] ?? assert.fail(`${status} has no JSON`);
          assert.match(description, status === '200' ? /^Success$/ : /^[A-Z][^.]{5,}\.$/);
          assert.deepEqual(faultsOf(schema, example), [], status);
          const { status_code: code, status: exampleStatus } = example as { status_code?: number; status: unknown };
          if (isPayment(path)) assert.equal(exampleStatus, wordOf(Number(status)));
          else assert.equal(isProxy(path) && status === '200' ? exampleStatus : code, Number(status));
        }
      });

      test('accepts its example, and responds in the documented schema', async () => {
        const operation = operationOf(method, path);
        const body = exampleOf(path, operation);
        const filled = queried(fill(path, await record(needs)), operation);
        const { status, json, text } = await service.call(method.toUpperCase(), filled, {
          body,
          headers: headersFor(path, key),
        });
        assert.equal(status, 200, text);
        const schema = schemaOf(operation, 200);
        assert.deepEqual(faultsOf(schema, json), []);
        assert.deepEqual(undeclared(schema, json), []);
        const example = operation.responses['200']?.content['application/json']?.example;
        if (!DIFFERS.has(path))
          assert.deepEqual(shapeOf(json, schema), shapeOf(example, schema), 'the example shows what really comes');
      });

      for (const [status, options] of Object.entries(FAILING)) {
        if (cannotMeet(method, path).includes(status)) continue;
        test(`documents ${status}, and responds with it in the documented schema`, async () => {
          const operation = operationOf(method, path);
          const { key: secret = key, headers = {}, ...more } = options;
          const response = await service.call(method.toUpperCase(), fill(path, 'unknown'), {
            ...more,
            headers: { ...headersFor(path, secret), ...headers },
          });
          assert.equal(response.status, Number(status));
          assert.deepEqual(faultsOf(schemaOf(operation, response.status), response.json), []);
          assert.deepEqual(undeclared(schemaOf(operation, response.status), response.json), []);
        });
      }

      test('documents 429, 500 and 503, and 409 where a repeat can be concurrent with the first request', () => {
        const { responses } = operationOf(method, path);
        for (const status of ['429', '500', '503']) assert.ok(status in responses, status);
        assert.equal('409' in responses, method !== 'get');
        for (const status of ['404', '405']) assert.ok(!(status in responses), 'never met here');
      });
    });
  }

  test('describes the query and the headers of the proxy', () => {
    const named = (path: string): [string, string, boolean][] =>
      operationOf('post', path).parameters.map((parameter) => [parameter.in, parameter.name, parameter.required]);
    const headers = [
      ['header', 'ft-encryption', false],
      ['header', 'Idempotency-Key', false],
    ];
    assert.deepEqual(named('/proxy/jose'), headers);
    assert.deepEqual(named('/proxy/wssec'), headers);
    assert.deepEqual(named('/proxy/hash'), [['query', 'type', true], ...headers]);
    const [type] = operationOf('post', '/proxy/hash').parameters;
    assert.deepEqual(type?.schema, { type: 'string', enum: ['SHA256', 'SHA384', 'SHA512'] });
  });

  test('429 matches its schema as well', async () => {
    const own = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION: '1' } });
    try {
      await own.call('GET', '/v1/account');
      const response = await own.call('GET', '/v1/account');
      assert.equal(response.status, 429);
      assert.deepEqual(faultsOf(schemaOf(operationOf('get', '/v1/account'), 429), response.json), []);
    } finally {
      await own.stop();
    }
  });
});

/** How payments say what an HTTP status means. */
const wordOf = (status: number): string => (status === 200 ? 'success' : status >= 500 ? 'Error' : 'Fail');

type Schema = Readonly<Record<string, unknown>>;

/** Members of a value that its schema does not name. */
function undeclared(schema: Schema, value: unknown, path = ''): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => undeclared((schema['items'] ?? {}) as Schema, item, `${path}[${index}]`));
  }
  if (typeof value !== 'object' || value === null || schema['additionalProperties'] === true) return [];
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>;
  return Object.entries(value).flatMap(([name, member]) => {
    const known = properties[name];
    return known === undefined ? [`${path}.${name}`] : undeclared(known, member, `${path}.${name}`);
  });
}

/** The names of all members, without what additional_info may hold; their order is of no meaning. */
function shapeOf(value: unknown, schema: Schema): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map((item) => shapeOf(item, (schema['items'] ?? {}) as Schema));
  if (typeof value !== 'object' || value === null) return null;
  if (schema['additionalProperties'] === true) return {};
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return members.map(([name, member]) => [name, shapeOf(member, properties[name] ?? {})]);
}
