import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import type { Definition } from '../../console/wire/definition.ts';
import { listKeys, showKey } from '../../console/wire/keys.ts';
import { showSession, signIn, signInByCode } from '../../console/wire/session.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { eventually } from '../fixtures/eventually.ts';
import { startTestService, type TestService } from '../fixtures/test-service.ts';
import { type ConsoleClient, newClient, newPerson, pathOf, type UserClient } from './console-client.ts';

let service: TestService;
let account: string;
let person: UserClient;

before(async () => {
  service = await startTestService();
  account = await service.newAccount();
});
beforeEach(async () => {
  person = await newPerson(service, account, 'auditor');
});
after(() => service.stop());

const MOST = LIMITS.concurrentCallsPerUser;
const BY_TEST = { actor: { type: 'operator' } } as const;
const params = () => ({ account, environment: 'sandbox' });
const keysPath = () => pathOf(listKeys, { params: params() });

/** A connection that sends this number of calls at once, so that all of them are concurrent. */
function sendAtOnce(number: number, path: string, whose = person): Promise<TLSSocket> {
  return send(`GET ${path} HTTP/1.1\r\n${headersOf(whose)}\r\n`.repeat(number));
}

/** A connection that sends a call whose body never arrives, so that it stays in progress. */
function sendUnfinished({ path }: Definition, whose: ConsoleClient): Promise<TLSSocket> {
  const origin = `https://localhost:${service.ports.console}`;
  const ofBody = 'content-type: application/json\r\ncontent-length: 100\r\n';
  const proof = `origin: ${origin}\r\nx-csrf-token: ${whose.csrf}\r\n`;
  return send(`POST ${path} HTTP/1.1\r\n${headersOf(whose)}${proof}${ofBody}\r\n`);
}

const headersOf = ({ cookie }: ConsoleClient): string =>
  `host: localhost:${service.ports.console}\r\nuser-agent: test\r\ncookie: ${cookie}\r\n`;

function send(text: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port: service.ports.console,
      servername: 'localhost',
      ca: service.authority,
    });
    socket.once('error', reject);
    socket.once('secureConnect', () => socket.write(text, () => resolve(socket)));
  });
}

/** The status of each of so many answers. */
function statusesOn(socket: TLSSocket, number: number): Promise<number[]> {
  let text = '';
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`ended after ${text.length} characters`)));
    socket.on('data', (data: Buffer) => {
      text += data.toString('latin1');
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
      if (statuses.length === number) resolve(statuses);
    });
  });
}

/** Calls of lists of keys. */
async function statusesAtOnce(number: number, whose = person): Promise<number[]> {
  const socket = await sendAtOnce(number, keysPath(), whose);
  const statuses = await statusesOn(socket, number);
  socket.destroy();
  return statuses;
}

/** Until as many as may be are let in again: the service learns a little later that a caller is gone. */
async function untilAllAreLetIn(): Promise<void> {
  for (let tries = 0; ; tries++) {
    const statuses = await statusesAtOnce(MOST);
    if (statuses.every((status) => status === 200)) return;
    assert.ok(tries < 20, `${statuses}`);
    // The limit of calls in a minute is not tested here.
    service.advance(5000);
  }
}

describe('the concurrent calls of a user', () => {
  test('are limited; more are rejected, and other users are not affected', async () => {
    const other = await newPerson(service, account, 'auditor');
    const [statuses, others] = await Promise.all([statusesAtOnce(2 * MOST), statusesAtOnce(MOST, other)]);
    const refused = statuses.filter((status) => status === 429).length;
    assert.ok(refused > 0 && refused <= MOST, `${statuses}`);
    assert.deepEqual(new Set(statuses), new Set([200, 429]));
    assert.deepEqual(new Set(others), new Set([200]));
    // Whatever was refused, all of them are over now.
    assert.deepEqual(new Set(await statusesAtOnce(MOST)), new Set([200]));
  });

  test('are not used up by a client that knows only the password', async () => {
    const thief = newClient(service);
    const { email, password } = person;
    const given = await thief.call(signIn, { body: { email, password } });
    assert.equal(given.status, 200, given.text);
    thief.csrf = given.json.csrf_token;
    const unfinished = await Promise.all(Array.from({ length: MOST }, () => sendUnfinished(signInByCode, thief)));
    await eventually(async () => (await thief.call(showSession)).status === 429);
    assert.equal((await person.call(showSession)).status, 200);
    for (const socket of unfinished) socket.destroy();
  });

  test('end when the client disconnects, at any moment', async () => {
    for (let round = 0; round < 4; round++) {
      const socket = await sendAtOnce(MOST, keysPath());
      if (round % 2 === 0) socket.destroy();
      else socket.once('data', () => socket.destroy());
      await new Promise((resolve) => socket.once('close', resolve));
    }
    await untilAllAreLetIn();
  });

  test('are in progress until their responses are sent, not only computed', async () => {
    const allowList = Array.from({ length: LIMITS.allowListEntries }, (_, index) => ({
      cidr: `2001:db8::${index.toString(16)}/128`,
      note: '\u4e00'.repeat(LIMITS.allowListNoteCharacters),
    }));
    const traits = { name: 'large', description: '', permissions: [], allowList, expiresAt: undefined };
    const { key } = await service.core.transactions.run({ origin: BY_TEST }, (transaction) =>
      service.core.accounts.createKey(transaction, account, 'sandbox', traits),
    );
    const path = pathOf(showKey, { params: { ...params(), id: key.id } });
    // More bytes than the machine buffers for a client that reads nothing.
    const unread = await sendAtOnce(MOST, path);
    unread.pause();
    // In that time all of them are made.
    for (let round = 0; round < 10; round++) assert.ok((await statusesAtOnce(MOST)).includes(429), `${round}`);
    unread.destroy();
    await untilAllAreLetIn();
  });
});
