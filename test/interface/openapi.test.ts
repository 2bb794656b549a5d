import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Operation } from '../../src/http/openapi.ts';
import { type CallOptions, type House, startHouse } from '../house.ts';
import { faultsOf } from '../json-schema.ts';

/** The lines of the interface's vault, captures and account sections, and the records that their paths need. */
const INTERFACE: readonly [method: string, path: string, needs?: 'token' | 'capture'][] = [
  ['post', '/v1/tokenization/simple'],
  ['get', '/v1/tokens/{token}/inspect', 'token'],
  ['delete', '/v1/tokens'],
  ['post', '/transactions/requests'],
  ['post', '/transactions/requests/{id}/tokenize', 'capture'],
  ['get', '/transactions/requests/{id}', 'capture'],
  ['get', '/transactions/requests/{id}/inspect', 'capture'],
  ['delete', '/transactions/requests/{id}', 'capture'],
  ['post', '/v1/account'],
  ['get', '/v1/account'],
];

interface Document {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Record<string, Record<string, Operation>>;
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
  let house: House;
  let account: string;
  let key: string;
  let document: Document;
  before(async () => {
    house = await startHouse();
    account = await house.newAccount();
    key = (await house.newKey(account)).secret;
    document = (await house.call('GET', '/openapi.json')).json;
  });
  after(() => house.stop());

  const operationOf = (method: string, path: string): Operation =>
    document.paths[path]?.[method] ?? assert.fail(`${method} ${path} is missing`);

  const record = async (needs: 'token' | 'capture' | undefined): Promise<string> => {
    if (needs === undefined) return '';
    const path = needs === 'token' ? '/v1/tokenization/simple' : '/transactions/requests';
    const body = operationOf('post', path).requestBody?.content['application/json']?.example;
    const { data } = (await house.call('POST', path, { key, body })).json;
    return needs === 'token' ? data.tokens[0].token : data.id;
  };
  const fill = (path: string, id: string): string => path.replace(/\{[a-z]+\}/, id);
  const schemaOf = (operation: Operation, status: number) =>
    operation.responses[String(status)]?.content['application/json']?.schema ??
    assert.fail(`${status} is not documented`);

  test('has every line of the interface, and no other', () => {
    const served = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    const ours = served.filter((line) => !/ \/(proxy|v1\/payments)/.test(line));
    assert.deepEqual(ours.sort(), INTERFACE.map(([method, path]) => `${method} ${path}`).sort());
    assert.equal(document.openapi, '3.1.0');
    assert.match(document.info.version, /^[0-9]+\.[0-9]+\.[0-9]+/);
    assert.deepEqual(Object.keys(document.components.securitySchemes), ['apiKey']);
  });

  test('names every operation once and describes every parameter of its path', () => {
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
      test('has examples that fit their schemas', () => {
        const { requestBody, responses } = operationOf(method, path);
        const content = requestBody?.content['application/json'];
        if (content !== undefined) assert.deepEqual(faultsOf(content.schema, content.example), []);
        const hasBody = /tokenization|\/tokenize$|^\/v1\/tokens$|requests$/.test(path);
        assert.equal(content !== undefined, hasBody);
        for (const [status, { description, content }] of Object.entries(responses)) {
          const { schema, example } = content['application/json'] ?? assert.fail(`${status} has no JSON`);
          assert.match(description, status === '200' ? /^Success$/ : /^[A-Z][^.]{5,}\.$/);
          assert.deepEqual(faultsOf(schema, example), [], status);
          assert.equal((example as { status_code: number }).status_code, Number(status));
        }
      });

      test('takes its example, and answers in the documented schema', async () => {
        const operation = operationOf(method, path);
        const body = operation.requestBody?.content['application/json']?.example;
        const filled = fill(path, await record(needs));
        const { status, json } = await house.call(method.toUpperCase(), filled, { key, body });
        assert.equal(status, 200);
        const schema = schemaOf(operation, 200);
        assert.deepEqual(faultsOf(schema, json), []);
        assert.deepEqual(undeclared(schema, json), []);
        const example = operation.responses['200']?.content['application/json']?.example;
        assert.deepEqual(shapeOf(json, schema), shapeOf(example, schema), 'the example shows what really comes');
      });

      for (const [status, options] of Object.entries(FAILING)) {
        if (cannotMeet(method, path).includes(status)) continue;
        test(`documents ${status}, and answers it in the documented schema`, async () => {
          const operation = operationOf(method, path);
          const answer = await house.call(method.toUpperCase(), fill(path, 'unknown'), { key, ...options });
          assert.equal(answer.status, Number(status));
          assert.deepEqual(faultsOf(schemaOf(operation, answer.status), answer.json), []);
          assert.deepEqual(undeclared(schemaOf(operation, answer.status), answer.json), []);
        });
      }

      test('documents what only bad times bring: 429, 500 and 503, and 409 where a repeat can meet the first', () => {
        const { responses } = operationOf(method, path);
        for (const status of ['429', '500', '503']) assert.ok(status in responses, status);
        assert.equal('409' in responses, method !== 'get');
        for (const status of ['404', '405']) assert.ok(!(status in responses), 'never met here');
      });
    });
  }

  test('429 fits as well', async () => {
    const own = await startHouse({ variables: { CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION: '1' } });
    try {
      await own.call('GET', '/v1/account');
      const answer = await own.call('GET', '/v1/account');
      assert.equal(answer.status, 429);
      assert.deepEqual(faultsOf(schemaOf(operationOf('get', '/v1/account'), 429), answer.json), []);
    } finally {
      await own.stop();
    }
  });
});

type Schema = Readonly<Record<string, unknown>>;

/** Members of a value that its schema does not name. */
function undeclared(schema: Schema, value: unknown, place = ''): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => undeclared((schema['items'] ?? {}) as Schema, item, `${place}[${index}]`));
  }
  if (typeof value !== 'object' || value === null || schema['additionalProperties'] === true) return [];
  const properties = (schema['properties'] ?? {}) as Record<string, Schema>;
  return Object.entries(value).flatMap(([name, member]) => {
    const known = properties[name];
    return known === undefined ? [`${place}.${name}`] : undeclared(known, member, `${place}.${name}`);
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
