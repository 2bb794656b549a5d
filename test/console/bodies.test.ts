import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ACTIVITY_INTERVAL_MS, type Session } from '../../console/people/session.ts';
import { routes } from '../../console/server/routes.ts';
import type { Definition } from '../../console/wire/definition.ts';
import { createKey } from '../../console/wire/keys.ts';
import { addPasskey } from '../../console/wire/profile.ts';
import { signOut } from '../../console/wire/session.ts';
import { changeRole } from '../../console/wire/team.ts';
import { SECOND } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { dial, exchange, requestText, untilClosed, type WireAnswer } from '../fixtures/wire.ts';
import { isLong } from '../scope.ts';
import { newClient, newPerson, pathOf, type UserClient } from './console-client.ts';

/** Whose bodies are read: what is answered here is answered to a head alone, and the body that it announces never comes. */

const definitions: readonly Definition[] = routes;
const lineOf = ({ method, path }: Definition): string => `${method} ${path}`;
/** Longer than a grant is valid. */
const LATER_MS = 5 * SECOND;
const MADE_UP = `__Host-cardvault-session=${'A'.repeat(43)}`;
/** Attempts are counted, so their bodies are read; `public` calls have no session. */
const askedFirst = definitions.filter(({ access }) => !['public', 'signing-in', 'enrolling'].includes(access));
const long = definitions.filter(({ largeBody }) => largeBody === true);

let service: TestService;
let owner: UserClient;
let params: Record<string, string>;

before(async () => {
  service = await startTestService();
  const account = await service.newAccount();
  owner = await newPerson(service, account, 'owner');
  params = { account, environment: 'sandbox' };
});
after(() => service.stop());

async function announce(
  definition: Definition,
  headers: Readonly<Record<string, string>>,
  length = 100,
): Promise<{ status: number; code: string }> {
  const host = `localhost:${service.ports.console}`;
  const json = { 'content-type': 'application/json', 'content-length': String(length) };
  const text = requestText(`${definition.method} ${pathOf(definition, { params })}`, {
    host,
    origin: `https://${host}`,
    ...json,
    ...headers,
  });
  const [{ status, body }] = (await exchange(service, text, { environment: 'console' })) as [WireAnswer];
  return { status, code: JSON.parse(body).code };
}
/** Returns every third: each of these calls needs a connection, and rights.test.ts has all of them with a whole body. */
const someOf = <T>(all: readonly T[]): readonly T[] => all.filter((_, index) => isLong || index % 3 === 0);
const own = () => ({ cookie: owner.cookie ?? '', 'x-csrf-token': owner.csrf });

describe('a call, before its body is read,', () => {
  test('without a session is rejected, where one is required', async () => {
    assert.ok(askedFirst.length > 60, `${askedFirst.length}`);
    for (const definition of someOf(askedFirst))
      assert.deepEqual(await announce(definition, {}), { status: 401, code: 'not_signed_in' }, lineOf(definition));
  });

  test('of another site is rejected, in every session', async () => {
    const away = { ...own(), origin: 'https://evil.example' };
    for (const definition of someOf(definitions))
      assert.deepEqual(await announce(definition, away), { status: 403, code: 'cross_site' }, lineOf(definition));
  });

  test('with a large body is rejected for an invalid session, and without the CSRF token of a valid one', async () => {
    assert.ok(long.length > 0);
    for (const definition of long) {
      const madeUp = await announce(definition, { cookie: MADE_UP });
      assert.deepEqual(madeUp, { status: 401, code: 'not_signed_in' }, lineOf(definition));
      const wordless = await announce(definition, { ...own(), 'x-csrf-token': 'x' });
      assert.deepEqual(wordless, { status: 403, code: 'cross_site' }, lineOf(definition));
    }
  });

  test('with a large body is rejected for a user who has only entered a password', async () => {
    const client = newClient(service);
    const { email, password } = owner;
    const { csrf_token: csrfToken } = (await client.send('POST', '/api/sign-in', { email, password })).json;
    for (const definition of long) {
      const response = await announce(definition, { cookie: client.cookie ?? '', 'x-csrf-token': csrfToken });
      assert.deepEqual(response, { status: 401, code: 'not_signed_in' }, lineOf(definition));
    }
  });
});

describe('while the body of a call arrives', () => {
  /** Sends the head and half of the body, runs `meanwhile` when the caller was admitted, and sends the rest. */
  async function trickle(
    user: UserClient,
    meanwhile: () => Promise<unknown>,
  ): Promise<{ status: number; code?: string }> {
    const host = `localhost:${service.ports.console}`;
    const body = JSON.stringify({ name: 'Slow', permissions: ['account:read'], allow_list: [] });
    const text = requestText(
      `${createKey.method} ${pathOf(createKey, { params })}`,
      {
        host,
        origin: `https://${host}`,
        cookie: user.cookie ?? '',
        'x-csrf-token': user.csrf,
        'content-type': 'application/json',
        'content-length': String(body.length),
      },
      body.slice(0, 9),
    );
    // The service notes the activity of the session when it finds the session of the head.
    service.advance(ACTIVITY_INTERVAL_MS);
    const socket = await dial(service, { environment: 'console' });
    const received = untilClosed(socket);
    socket.write(text);
    const isFound = ({ lastActiveAt }: Session): boolean => lastActiveAt >= service.now() - SECOND;
    await eventually(async () => (await service.console.people.sessions.list(user.id)).some(isFound));
    await meanwhile();
    service.advance(LATER_MS);
    socket.write(body.slice(9));
    const [head = '', json = '{}'] = (await received).split('\r\n\r\n');
    return { status: Number(head.split(' ')[1]), ...(JSON.parse(json).code && { code: JSON.parse(json).code }) };
  }
  const newOwner = () => newPerson(service, params['account'] ?? '', 'owner');

  test('nothing changes for a caller who keeps session and role', async () => {
    assert.deepEqual(await trickle(await newOwner(), () => Promise.resolve()), { status: 200 });
  });

  test('a session that expires has no effect', async () => {
    const user = await newOwner();
    const response = await trickle(user, () => user.call(signOut));
    assert.deepEqual(response, { status: 401, code: 'not_signed_in' });
  });

  test('a role that is removed has no effect', async () => {
    const user = await newOwner();
    const toAnalyst = { params: { ...params, person: user.id }, body: { role: 'analyst' } };
    const response = await trickle(user, () => owner.call(changeRole, toAnalyst));
    assert.deepEqual(response, { status: 403, code: 'not_allowed' });
  });
});

test('a call with fields and no body has no JSON', async () => {
  const { status, json } = await owner.send('POST', pathOf(createKey, { params }));
  assert.deepEqual([status, json.code], [415, 'unsupported_media_type']);
});

describe('a body that is too large', () => {
  const assertTooLarge = async (definition: Definition, length: number): Promise<void> => {
    const response = await announce(definition, own(), length);
    assert.deepEqual(response, { status: 413, code: 'body_too_large' }, lineOf(definition));
  };

  test('is limited by its length, for each call by its own limit', async () => {
    for (const definition of definitions.filter(({ method }) => method !== 'GET')) {
      const limit = definition.largeBody === true ? LIMITS.bodyBytes : LIMITS.consoleBodyBytes;
      await assertTooLarge(definition, limit + 1);
    }
  });

  test('is larger than its fields allow, including a passkey assertion', () => {
    const short = definitions.filter(({ body, largeBody }) => body !== undefined && largeBody !== true);
    assert.ok(short.some(({ path }) => path === addPasskey.path));
    for (const definition of short) {
      const most = mostBytes(definition.body?.schema as Schema);
      assert.ok(most <= LIMITS.consoleBodyBytes, `${lineOf(definition)}: ${most}`);
    }
  });
});

interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly enum?: readonly string[];
}

/** Size of JSON text as browsers write it; a character has four bytes at most. */
function mostBytes({ type, properties, items, maxItems = 0, maxLength, enum: choices }: Schema): number {
  if (properties !== undefined)
    return sum(Object.entries(properties).map(([name, of]) => name.length + 4 + mostBytes(of)));
  if (type === 'object') return CREDENTIAL_BYTES;
  if (items !== undefined) return maxItems * (mostBytes(items) + 1);
  if (choices !== undefined) return Math.max(...choices.map(({ length }) => length)) + 2;
  // A body without a declared length of its own ends with the connection.
  return type === 'string' ? 2 + (maxLength === undefined ? LIMITS.cursorCharacters : 4 * maxLength) : DIGITS;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
const DIGITS = 20;

const { credentialIdCharacters: idBytes, credentialMemberCharacters: memberBytes } = LIMITS;
/**
 * Size of a new passkey, which is longer than one that is used: its id, twice; the attestation, with the
 * authenticator's data and in it, beside the id, the public key; the data of the browser, with names.
 */
const CREDENTIAL_BYTES = 2 * idBytes + memberBytes + memberBytes + (memberBytes - idBytes) + 1500;
