import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  ACCOUNT_ROLES,
  CAPABILITIES,
  type Capability,
  can,
  ROLE_NAMES,
  type Role,
} from '../../console/people/roles.ts';
import { routes } from '../../console/server/routes.ts';
import type { Definition } from '../../console/wire/definition.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { isLong } from '../scope.ts';
import { joinAccount, newClient, newPerson, pathOf, type UserClient } from './console-client.ts';

/** Every line of the interface, and everybody who may or may not call it. */

const definitions: readonly Definition[] = routes;
const isCapability = (access: string): access is Capability => (CAPABILITIES as readonly string[]).includes(access);
const lineOf = ({ method, path }: Definition): string => `${method} ${path}`;
/** Returns all of the values in the long scope; else one, and each in its turn. */
const turnOf = <T>(values: readonly T[], turn: number): readonly T[] =>
  isLong ? values : values.slice(turn % values.length, (turn % values.length) + 1);
const STEPPED_UP_MS = 5 * 60_000;

let service: TestService;
let account: string;
const members = new Map<Role, UserClient>();
let outsider: UserClient;

before(async () => {
  service = await startTestService();
  account = await service.newAccount();
  for (const role of ACCOUNT_ROLES) members.set(role, await newPerson(service, account, role));
  members.set('operator', await newPerson(service, '', 'operator'));
  outsider = await newPerson(service, await service.newAccount('Other'), 'owner');
});
after(() => service.stop());

const the = (role: Role): UserClient => members.get(role) as UserClient;
const paramsOf = (): Record<string, string> => ({ account, environment: 'sandbox' });
/** No body: what is allowed goes no further than reading it, and what has none finds no record by the ids. */
const callWith = (client: UserClient, definition: Definition) => client.call(definition, { params: paramsOf() });

describe('the routes of the console', () => {
  test('are complete, each once', () => {
    assert.ok(routes.length > 60, `${routes.length}`);
    assert.equal(new Set(definitions.map(lineOf)).size, routes.length);
  });

  test('change nothing when they are GET, and then never require the second factor', () => {
    for (const { method, stepUp, dualControl } of definitions)
      if (method === 'GET') assert.deepEqual([stepUp, dualControl], [undefined, undefined]);
  });

  test('that require two-person approval require the second factor, and return an approval or a result', () => {
    for (const definition of definitions.filter(({ dualControl }) => dualControl !== undefined)) {
      assert.equal(definition.stepUp, true, lineOf(definition));
      const properties = Object.keys((definition.data.schema as { properties: object }).properties);
      assert.deepEqual(properties, ['approval', 'result'], lineOf(definition));
    }
  });

  test('contain an account when they require a capability in one', () => {
    for (const { access, path } of definitions.filter((definition) => isCapability(definition.access)))
      assert.match(path, access === 'operate' ? /^\/api\/operator\// : /^\/api\/accounts\/:account\//, path);
  });
});

describe('without a session', () => {
  for (const definition of definitions.filter(({ access }) => access !== 'public'))
    test(`a call of ${lineOf(definition)} is rejected`, async () => {
      const response = await newClient(service).send(definition.method, pathOf(definition, { params: paramsOf() }));
      assert.deepEqual([response.status, response.json.code], [401, 'not_signed_in']);
    });
});

describe('a user who has only entered a password', () => {
  test('can only enter the second factor', async () => {
    const person = the('auditor');
    const client = newClient(service);
    const signedIn = await client.send('POST', '/api/sign-in', { email: person.email, password: person.password });
    client.csrf = signedIn.json.csrf_token;
    for (const definition of definitions.filter(({ access }) => !['public', 'signing-in'].includes(access))) {
      const response = await client.call(definition, { params: paramsOf() });
      assert.deepEqual([response.status, response.json.code], [401, 'not_signed_in'], lineOf(definition));
    }
  });
});

describe('a page of another site', () => {
  const changing = definitions.filter(({ method }) => method !== 'GET');

  test('changes nothing, whatever it sends', async () => {
    const client = the('owner');
    const wrong: readonly Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: `https://localhost:${service.ports.sandbox}` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ];
    for (const [index, definition] of changing.entries())
      for (const headers of turnOf(wrong, index)) {
        const path = pathOf(definition, { params: paramsOf() });
        const response = await client.send(definition.method, path, undefined, headers);
        assert.deepEqual([response.status, response.json.code], [403, 'cross_site'], lineOf(definition));
      }
  });

  test('does not have the CSRF token that every change requires', async () => {
    const client = the('owner');
    for (const definition of changing.filter(({ access }) => access === 'person' || isCapability(access))) {
      const path = pathOf(definition, { params: paramsOf() });
      const response = await client.send(definition.method, path, undefined, { 'x-csrf-token': 'A'.repeat(43) });
      assert.deepEqual([response.status, response.json.code], [403, 'cross_site'], lineOf(definition));
    }
  });
});

describe('roles', () => {
  for (const role of ROLE_NAMES)
    test(`${role}: may call what the role allows, and nothing else`, async () => {
      const client = the(role);
      await client.stepUp();
      for (const definition of definitions) {
        const { access } = definition;
        if (!isCapability(access)) continue;
        const response = await callWith(client, definition);
        const seen = `${role} ${lineOf(definition)}: ${response.status} ${response.text.slice(0, 200)}`;
        // An operator belongs to no account; a member of one is no operator.
        const isElsewhere = role === 'operator' && access !== 'operate';
        if (can(role, access)) assert.ok(![401, 403, 500].includes(response.status), seen);
        else if (isElsewhere) assert.deepEqual([response.status, response.json?.code], [404, 'unknown_record'], seen);
        else assert.deepEqual([response.status, response.json?.code], [403, 'not_allowed'], seen);
      }
    });

  test('of another account: records of this account do not exist', async () => {
    await outsider.stepUp();
    for (const definition of definitions) {
      const { access } = definition;
      if (!isCapability(access)) continue;
      const response = await callWith(outsider, definition);
      const expected = access === 'operate' ? [403, 'not_allowed'] : [404, 'unknown_record'];
      assert.deepEqual([response.status, response.json?.code], expected, lineOf(definition));
    }
  });

  test('an unknown account has the same response', async () => {
    const shown = definitions.find(({ path }) => path === '/api/accounts/:account/team');
    assert.ok(shown);
    const theirs = await outsider.call(shown, { params: { account } });
    const none = await outsider.call(shown, { params: { account: 'acct_0000000000' } });
    assert.deepEqual([theirs.status, theirs.text], [none.status, none.text]);
  });

  test('a malformed id is unknown, without a query of the database', async () => {
    const names = definitions.flatMap(({ path }) => [...path.matchAll(/:([a-z]+)/g)].map(([, name]) => name ?? ''));
    const oddities = ['\0', 'x\0', '\n', '\u202e', 'ñ', ' ', 'a'.repeat(300)];
    for (const [index, definition] of definitions.filter(({ path }) => path.includes(':')).entries())
      for (const odd of turnOf(oddities, index)) {
        const client = the(definition.access === 'operate' ? 'operator' : 'owner');
        const own = { ...Object.fromEntries(names.map((name) => [name, odd])), ...paramsOf() };
        // Definitions of the account itself have no other id.
        if (!Object.keys(own).some((name) => !(name in paramsOf()) && definition.path.includes(`:${name}`))) continue;
        const response = await client.call(definition, { params: own });
        assert.ok([400, 403, 404].includes(response.status), `${lineOf(definition)} ${odd} ${response.text}`);
        assert.notEqual(response.json.code, 'invalid_field', lineOf(definition));
      }
    assert.deepEqual(
      service.log.filter((line) => line.includes('"failure"')),
      [],
    );
  });

  test('an unknown environment does not exist', async () => {
    for (const definition of definitions.filter(({ path }) => path.includes(':environment'))) {
      const response = await the('owner').call(definition, { params: { account, environment: 'staging' } });
      assert.deepEqual([response.status, response.json?.code], [404, 'unknown_record'], lineOf(definition));
    }
  });

  test('a call that a role does not allow is in the log of the account; a call of an outsider is not', async () => {
    const { database } = service.core;
    const refused = async (): Promise<string[]> =>
      (await database.read('select record from journal where account = ?account', account))
        .map((row) => JSON.parse(String(row['record'])))
        .filter(({ action, outcome }) => action === 'access.denied' && outcome === 'role')
        .map(({ actor, detail }) => `${actor.id} ${detail.route}`);
    const before = await refused();
    assert.ok(before.includes(`${the('auditor').id} /api/accounts/:account/team/invitations`));
    assert.ok(before.every((line) => !line.startsWith(outsider.id)));
  });

  test('repeated denials do not flood the log: they are recorded once, and then as a count', async () => {
    const { database } = service.core;
    const { people } = service.console;
    const analyst = await newPerson(service, account, 'analyst');
    const path = '/api/accounts/:account/:environment/keys';
    const refused = async (of: string): Promise<unknown[]> =>
      (await database.read('select record from journal where account = ?account order by sequence', of))
        .map((row) => JSON.parse(String(row['record'])))
        .filter(({ action, actor }) => action === 'access.denied' && actor.id === analyst.id)
        .map(({ detail }) => detail);
    const statuses = new Set<number>();
    // The maximum number of concurrent calls of a user.
    for (let round = 0; round < 10; round++) {
      const own = Array.from({ length: 6 }, () => analyst.send('GET', `/api/accounts/${account}/sandbox/keys`));
      const others = Array.from({ length: 6 }, (_, index) => analyst.send('GET', `/api/accounts/acct_${index}/team`));
      for (const { status } of await Promise.all([...own, ...others])) statuses.add(status);
    }
    assert.deepEqual(statuses, new Set([403, 404]));
    const once = [[{ route: path }], [{ route: '/api/accounts/:account/team' }]];
    assert.deepEqual([await refused(account), await refused('')], once);
    await people.repeats.flush({ all: true });
    const counted = once.map(([detail]) => [detail, { ...detail, times: 59 }]);
    assert.deepEqual([await refused(account), await refused('')], counted);
  });
});

describe('the second factor', () => {
  test('is required again for every sensitive call, after some minutes', async () => {
    for (const role of ROLE_NAMES) await the(role).stepUp();
    service.advance(STEPPED_UP_MS);
    for (const role of ROLE_NAMES) {
      const client = the(role);
      for (const definition of definitions) {
        const { access, stepUp } = definition;
        const mayCall = access === 'person' || (isCapability(access) && can(role, access));
        if (!mayCall || stepUp !== true) continue;
        const response = await callWith(client, definition);
        assert.deepEqual([response.status, response.json?.code], [403, 'step_up_required'], lineOf(definition));
      }
    }
  });
});

describe('a role that is removed', () => {
  test('no longer applies to the next call', async () => {
    const person = await newPerson(service, account, 'developer');
    await joinAccount(person, await service.newAccount(), 'auditor');
    const shown = { method: 'GET', path: '/api/accounts/:account/team' } as Definition;
    assert.equal((await callWith(person, shown)).status, 200);
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.console.people.team.remove(transaction, account, person.id),
    );
    assert.equal((await callWith(person, shown)).status, 404);
  });

  test('ends the session when it was the last one', async () => {
    const person = await newPerson(service, account, 'developer');
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.console.people.team.remove(transaction, account, person.id),
    );
    const shown = { method: 'GET', path: '/api/accounts/:account/team' } as Definition;
    assert.equal((await callWith(person, shown)).status, 401);
  });

  test('is not restored by a write to the database', async () => {
    const person = await newPerson(service, account, 'auditor');
    await service.core.database.commit({
      writes: [{ sql: "update memberships set role = 'owner' where person = ?", rows: [[person.id]] }],
    });
    assert.equal(
      (await callWith(person, { method: 'GET', path: '/api/accounts/:account/team' } as Definition)).status,
      404,
    );
  });
});
