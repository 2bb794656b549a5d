import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { OPERATOR } from '../../console/people/roles.ts';
import { routes } from '../../console/server/routes.ts';
import type { OpenCore } from '../../src/core.ts';
import { ENDPOINTS } from '../../src/http/endpoints.ts';
import type { JsonSchema } from '../../src/http/fields.ts';
import {
  type ConsoleClient,
  newClient,
  newPerson,
  PASSWORD,
  pathOf,
  type UserClient,
} from '../console/console-client.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { isLong } from '../scope.ts';
import { newSender } from './proxy-requests.ts';

/**
 * A rejection names fields and limits and repeats nothing of the request. Every field of every endpoint and console route
 * gets canaries, one at a time: no rejection and no line of the log may contain one.
 */

const withCheckDigit = (digits: string): string => {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const weighted = Number(digit) * (index % 2 === 0 ? 2 : 1);
    return total + (weighted > 9 ? weighted - 9 : weighted);
  }, 0);
  return digits + String((10 - (sum % 10)) % 10);
};

const WORD = `canary${randomBytes(8).toString('hex')}`;
/** Passes the Luhn check; 16 digits are exact as a JSON number. */
const PAN = withCheckDigit(`4${Array.from({ length: 14 }, () => randomInt(10)).join('')}`);
const TEXTS = [WORD, PAN, `{{${WORD}:detokenize|extract:${WORD}}}`];
const CANARIES: readonly unknown[] = [WORD, PAN, Number(PAN), `${WORD}\u0000${'x'.repeat(2000)}`];

/** Returns the canary in the place of the value, and of each value in it; and as a key beside its members. */
function* plant(value: unknown, canary: unknown): Generator<unknown> {
  yield canary;
  if (Array.isArray(value))
    for (const [index, item] of value.entries()) for (const each of plant(item, canary)) yield value.with(index, each);
  else if (typeof value === 'object' && value !== null) {
    yield { ...value, [String(canary)]: canary };
    for (const [name, member] of Object.entries(value))
      for (const each of plant(member, canary)) yield { ...value, [name]: each };
  }
}

/** Returns the value once for each place in it and, in the long scope, for each canary; else the canaries take turns. */
const planted = (value: unknown): unknown[] =>
  CANARIES.flatMap((canary, turn) =>
    [...plant(value, canary)].filter((_, index) => isLong || index % CANARIES.length === turn),
  );

const EXAMPLES = ['4111111111111111', '12/29', 'USD', 'US', '123', 'ana@example.com', '2027-01-31T00:00:00Z', 'x'];

/** Returns a value of the schema with all members, as far as the schema tells. */
function sample(schema: JsonSchema): unknown {
  const { type, properties, items, oneOf, pattern, minimum } = schema as Record<string, JsonSchema | undefined>;
  const choices = schema['enum'] as readonly unknown[] | undefined;
  if (choices !== undefined) return choices[0];
  if (schema['const'] !== undefined) return schema['const'];
  if (Array.isArray(oneOf)) return sample(oneOf[0]);
  if (properties !== undefined)
    return Object.fromEntries(Object.entries(properties).map(([name, of]) => [name, sample(of as JsonSchema)]));
  if (items !== undefined) return [sample(items)];
  if (String(type) === 'integer' || String(type) === 'number') return Number(minimum ?? 1);
  if (String(type) === 'boolean') return true;
  if (String(type) === 'object') return {};
  return EXAMPLES.find((text) => pattern === undefined || new RegExp(String(pattern)).test(text)) ?? 'x';
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Members of both; the example decides. */
function merge(example: unknown, full: unknown): unknown {
  if (Array.isArray(example) && Array.isArray(full)) return example.map((item) => merge(item, full[0]));
  if (!isObject(example) || !isObject(full)) return example ?? full;
  const names = new Set([...Object.keys(example), ...Object.keys(full)]);
  return Object.fromEntries([...names].map((name) => [name, merge(example[name], full[name])]));
}

/** Texts that fail at every step of parsing. */
const MALFORMED = TEXTS.flatMap((text) => [
  text,
  `{"${text}":`,
  `{"a":"${text}","a":1}`,
  `["${text}\u0001"]`,
  `<${text}`,
  `<a ${text}="1" ${text}="2"/>`,
  `<a>&${text};</a>`,
  `<a>${text}</b>`,
  `<x:${text}/>`,
  `<a xmlns="${text}"/>`,
  `<!DOCTYPE ${text}><a/>`,
  `<?${text}?><a/>`,
  `<a>{{${text}}}</a>`,
  `<a>{{${text}:detokenize}}</a>`,
  `{"a":"{{${text}}}","${text}":"{{ x:transaction | ${text} }}"}`,
  `{{${text}:transaction|extract:cvv|date:${text}}}`,
]);

/** Each form with each text in the long scope; else the texts take turns. */
const FORMS = MALFORMED.length / TEXTS.length;
const MALFORMED_OF_ALL = MALFORMED.filter(
  (_, index) => isLong || (index % FORMS) % TEXTS.length === Math.floor(index / FORMS),
);

let service: TestService;
let account: string;
let key: string;
before(async () => {
  service = await startTestService();
  ({ account, key } = await newSender(service));
  await service.enablePayments(account);
});
after(() => service.stop());

/** Rejections, by the endpoint or route. */
const rejected = new Map<string, number>();

function check(name: string, { status, text }: TestResponse): void {
  assert.notEqual(status, 429, `${name}: ${text}`);
  if (status < 400) return;
  assert.ok(status < 500, `${name}: ${status} ${text}`);
  const found = [WORD, PAN].filter((canary) => text.includes(canary));
  assert.deepEqual(found, [], `${name}: ${text.replaceAll(WORD, 'CANARY').replaceAll(PAN, 'CANARY')}`);
  if (status === 400 || status === 404) rejected.set(name, (rejected.get(name) ?? 0) + 1);
}

async function assertNotLogged(): Promise<void> {
  assert.ok(service.log.length > 0);
  assert.deepEqual(
    service.log.filter((line) => line.includes(WORD) || line.includes(PAN)),
    [],
  );
  await (service.core as OpenCore).requestLog.flush({ all: true });
  const recorded = (await service.core.database.read('select * from request_log')).map((row) => JSON.stringify(row));
  assert.ok(recorded.length > 0);
  assert.deepEqual(
    recorded.filter((row) => row.includes(WORD) || row.includes(PAN)),
    [],
  );
}

const LOST_SESSION = ['not_signed_in', 'cross_site', 'step_up_required'];

describe('no value of a request is repeated in an error', () => {
  test('by an endpoint', async () => {
    const fill = (path: string, value: string): string => path.replace(/:[a-z_]+/gi, encodeURIComponent(value));
    for (const { method, path, body, text, parameters = {}, example } of ENDPOINTS) {
      const name = `${method} ${path}`;
      const call = async (target: string, sent?: unknown, more: Record<string, string> = {}): Promise<void> => {
        const access = path.startsWith('/proxy') ? { 'ft-access-key': key } : {};
        const media = text?.media === 'xml' ? { 'content-type': 'application/xml' } : {};
        const options = { key, headers: { ...access, ...media, ...more } };
        check(name, await service.call(method, target, { ...options, ...(sent !== undefined && { body: sent }) }));
      };
      const target = `${fill(path, 'x')}${example.query === undefined ? '' : `?${example.query}`}`;
      const full = body === undefined ? undefined : merge(example.body, sample(body.schema));
      for (const canary of TEXTS) {
        if (path.includes(':')) await call(fill(path, canary), full);
        const inPlace = (member: string): string[] =>
          Object.keys(parameters).filter((each) => parameters[each]?.in === member);
        for (const member of inPlace('query')) await call(`${fill(path, 'x')}?${member}=${canary}`, full);
        for (const header of [...inPlace('header'), 'idempotency-key', 'content-type', 'content-encoding'])
          await call(target, full ?? 'x', { [header]: `"${canary} ${canary}` });
        await call(target, full ?? 'x', { 'ft-encryption': JSON.stringify({ key: canary, [canary]: canary }) });
      }
      if (full !== undefined) for (const each of planted(full)) await call(target, each);
      for (const malformed of MALFORMED_OF_ALL) await call(target, malformed);
    }
    const silent = ENDPOINTS.map(({ method, path }) => `${method} ${path}`).filter((name) => !rejected.has(name));
    // Inspection of an unknown capture succeeds, and the account and the list of webhooks are read without any field.
    assert.deepEqual(silent, ['GET /transactions/requests/:id/inspect', 'GET /v1/webhooks', 'GET /v1/account']);
    await assertNotLogged();
  });

  test('by a route of the console', async () => {
    const signIns: Readonly<Record<string, () => Promise<ConsoleClient>>> = {
      public: async () => newClient(service),
      'signing-in': async () => passwordGiven(await newPerson(service, account, 'owner')),
      enrolling: invited,
      operate: () => newPerson(service, '', 'operator'),
      member: () => newPerson(service, account, 'owner'),
    };
    const clients = new Map<string, ConsoleClient>();
    const names: string[] = [];
    for (const definition of routes) {
      const { method, path, body, query } = definition;
      const name = `${method} ${path}`;
      const access = Object.hasOwn(signIns, definition.access) ? definition.access : 'member';
      const params = { account, environment: 'sandbox' };
      const call = async (target: string, sent?: unknown): Promise<void> => {
        // Every user has 10 calls a second.
        service.advance(100);
        const client = clients.get(access) ?? (await signIns[access]?.());
        assert.ok(client !== undefined);
        clients.set(access, client);
        const response = await client.send(method, target, sent);
        check(name, response);
        // A new password gives the session a new token, and too many wrong proofs end the session.
        client.csrf = response.json?.csrf_token ?? client.csrf;
        if (LOST_SESSION.includes(response.json?.code)) clients.delete(access);
      };
      const full = body === undefined ? undefined : sample(body.schema);
      const others = [...path.matchAll(/:([a-z_]+)/g)].flatMap(([, other = '']) => (other in params ? [] : [other]));
      if (others.length > 0 || body !== undefined || query !== undefined) names.push(name);
      for (const canary of TEXTS) {
        for (const other of others) await call(pathOf(definition, { params: { ...params, [other]: canary } }), full);
        for (const member of Object.keys((query?.schema['properties'] as object | undefined) ?? {}))
          await call(pathOf(definition, { params, query: { [member]: canary } }), full);
      }
      if (full === undefined) continue;
      for (const each of planted(full)) await call(pathOf(definition, { params }), each);
      for (const malformed of MALFORMED.slice(0, 4)) await call(pathOf(definition, { params }), malformed);
    }
    assert.ok(names.length > 60, `${names.length}`);
    assert.deepEqual(
      names.filter((name) => !rejected.has(name)),
      [],
    );
    await assertNotLogged();
  });
});

/** A client with an invitation and no second factor yet. */
async function invited(): Promise<ConsoleClient> {
  const { invitations, enrollment } = service.console.people;
  const { transactions } = service.core;
  const origin = { actor: { type: 'operator', name: 'test' } } as const;
  const to = { account, role: 'owner', email: `invited${randomInt(1e9)}@example.com` } as const;
  const link = await transactions.run({ origin }, (transaction) => invitations.invite(transaction, to, OPERATOR));
  const own = { name: 'Invited', password: PASSWORD, language: 'en' };
  const visitor = { address: '127.0.0.1', userAgent: 'test' };
  const { secret, session } = await transactions.run({ origin }, (transaction) =>
    enrollment.begin(transaction, { secret: link.secret, ...own }, visitor),
  );
  return Object.assign(newClient(service), { cookie: `__Host-cardvault-session=${secret}`, csrf: session.csrf });
}

/** A client between the password and the second factor. */
async function passwordGiven({ email, password }: UserClient): Promise<ConsoleClient> {
  const client = newClient(service);
  const { json } = await client.send('POST', '/api/sign-in', { email, password });
  client.csrf = json.csrf_token;
  return client;
}
