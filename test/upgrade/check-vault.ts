import assert from 'node:assert/strict';
import type { ServiceProcess } from '../fixtures/service-process.ts';
import { untilPasses } from '../fixtures/until-passes.ts';
import { TOKENIZE } from '../interface/vault-requests.ts';
import { cardOf } from './cards.ts';
import { type ExpectedVault, findDifference, type RecordedRead } from './expected-vault.ts';

type Service = Pick<ServiceProcess, 'call'>;

/** Requests at the same time. */
const AT_ONCE = 8;
const RESOLVED_WITHIN_MS = 30_000;

const send = (service: Service, { method, path, key, body, headers }: RecordedRead) =>
  service.call(method, path, { key, ...(body !== undefined && { body }), ...(headers && { headers }) });

async function forEach<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await run(next);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** Everything that a release has acknowledged can be read, with the same content. */
export async function checkReads(service: Service, vault: ExpectedVault): Promise<void> {
  assert.ok(vault.reads.length > 100);
  await forEach(vault.reads, async (read) => {
    const { status, json } = await send(service, read);
    const where = `${read.method} ${read.path}`;
    assert.equal(status, read.status, where);
    assert.equal(findDifference(read.response, json), undefined, where);
  });
}

/** The key of a revoked key is refused as before, and that of a successor works. */
export async function checkKeys(service: Service, { keys }: ExpectedVault): Promise<void> {
  const statusOf = async (key: string) => (await service.call('GET', '/v1/account', { key })).status;
  assert.equal(await statusOf(keys.till), 200);
  assert.equal(await statusOf(keys.rotated), 200);
  assert.equal(await statusOf(keys.revoked), 403);
}

/** A request that is repeated with its Idempotency-Key executes nothing and returns the response from before the upgrade. */
export async function checkReplays(service: Service, { replays }: ExpectedVault): Promise<void> {
  assert.ok(replays.length > 50);
  await forEach(replays, async (replay) => {
    const { status, json, replayed } = await send(service, replay);
    const where = `${replay.method} ${replay.path} ${replay.headers?.['idempotency-key']}`;
    assert.deepEqual([status, replayed], [replay.status, true], where);
    assert.deepEqual(json, replay.response, where);
  });
}

/** A card that has a persistent token gets the same one. */
export async function checkPersistent(service: Service, { persistent, keys }: ExpectedVault): Promise<void> {
  await forEach(persistent, async ({ form, card, token }) => {
    const chd = [{ card: cardOf(card), name: 'Ana Lopez', exp: '12/49' }];
    const body = { chd, tags: [], type: 'persistent', ...form };
    const { json } = await service.call('POST', TOKENIZE, { key: keys.till, body });
    assert.equal(json?.data?.tokens?.[0]?.token, token, JSON.stringify(form));
  });
}

/** Recovery ends what the release left in doubt. */
export async function checkUnresolved(service: Service, { unresolved, keys }: ExpectedVault): Promise<void> {
  assert.ok(unresolved.length > 0);
  await forEach(unresolved, async (payment) => {
    await untilPasses(async () => {
      const { json } = await service.call('GET', `/v1/payments/transactions/${payment}`, { key: keys.till });
      assert.ok(['Authorized', 'Voided'].includes(json.data.transaction_info.status), payment);
    }, RESOLVED_WITHIN_MS);
  });
}
