import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { HOUR, SECOND } from '../../src/kernel/clock.ts';
import { runWithSettings } from '../fixtures/command.ts';
import { eventually } from '../fixtures/eventually.ts';
import { sharedPostgres } from '../fixtures/postgres.ts';
import { startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { idOf, type Merchant, newMerchant, order, PAYMENTS } from '../interface/payment-requests.ts';
import { CAPTURES } from '../interface/vault-requests.ts';

const JUMP = 200 * HOUR;
/** The service finds the payments that are due once a second. */
const ROUND = 1.3 * SECOND;

/** Puts a clock of the test in the place of that of the database. */
const OWN_CLOCK = `
  create table jump (ms bigint not null);
  insert into jump values (0);
  create function clock_timestamp() returns timestamptz language sql volatile as
    'select pg_catalog.clock_timestamp() + (select ms from public.jump) * interval ''1 millisecond''';`;

describe('a clock of the database that jumps', { timeout: 120_000 }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  let address: string;
  let client: Client;
  let nodes: TestService[];
  let me: Merchant;
  let variables: Record<string, string>;

  before(async () => {
    const databases = await sharedPostgres();
    address = await databases.newDatabase();
    client = new Client({ connectionString: address });
    await client.connect();
    await client.query(OWN_CLOCK);
    await client.query(`alter database ${client.database} set search_path = public, pg_catalog`);
    variables = {
      CARDVAULT_DATABASE_URL: address,
      CARDVAULT_ROOT_KEY_FILE: join(folder, 'root.key'),
      CARDVAULT_CLOCK: 'database',
    };
    const first = await startTestService({ variables });
    nodes = [first, await startTestService({ variables })];
    me = await newMerchant(first);
  });
  after(async () => {
    for (const node of nodes) await node.stop();
    await client.end();
    await (await sharedPostgres()).dropDatabase(address);
    rmSync(folder, { recursive: true, force: true });
  });

  const jumpTo = (milliseconds: number): Promise<unknown> => client.query(`update jump set ms = ${milliseconds}`);
  /** Every node finds time trusted, or every node does not. */
  const isTrusted = (trusted: boolean): Promise<void> =>
    eventually(async () => {
      const responses = await Promise.all(nodes.map((node) => node.call('GET', '/readyz')));
      return responses.every(({ status, json }) => status === 200 && (json.warnings === undefined) === trusted);
    });
  const keyed = (node: TestService, key: string): Promise<TestResponse> =>
    node.call('POST', PAYMENTS, { key: me.key, body: order(), headers: { 'idempotency-key': key } });
  const retrieve = (node: TestService, id: string): Promise<TestResponse> =>
    node.call('GET', `${CAPTURES}/${id}`, { key: me.key });

  test('for a moment causes no deletion on any node', async () => {
    const [one, other] = nodes as [TestService, TestService];
    await isTrusted(true);
    const paid = await keyed(one, 'a');
    const capture = await me.capture();
    await jumpTo(JUMP);
    await isTrusted(false);
    assert.equal((await keyed(other, 'a')).headers['idempotent-replayed'], 'true');
    assert.equal((await retrieve(other, capture)).status, 400);
    const during = await keyed(other, 'b');
    await pause(ROUND);
    await jumpTo(0);
    await isTrusted(true);
    for (const [key, first] of [
      ['a', paid],
      ['b', during],
    ] as const) {
      for (const node of nodes) assert.equal((await keyed(node, key)).text, first.text);
      assert.equal((await me.standing(idOf(first))).status, 'Authorized');
    }
    for (const node of nodes) assert.equal((await retrieve(node, capture)).status, 200);
    assert.equal(await me.operations(), 2);
  });

  test('is trusted by every node once an operator has confirmed it', async () => {
    const id = await me.opened();
    await jumpTo(JUMP);
    await isTrusted(false);
    const { code, json } = await runWithSettings(
      { ...variables, CARDVAULT_DATA_DIR: folder },
      'clock',
      'confirm',
      '--json',
    );
    assert.equal(code, 0);
    assert.equal(json.confirmed, true);
    assert.ok(Math.abs(json.difference_seconds * SECOND - JUMP) < HOUR);
    await isTrusted(true);
    await eventually(async () => (await me.standing(id)).status === 'Voided');
  });
});
