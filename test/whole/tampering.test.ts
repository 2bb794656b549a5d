import assert from 'node:assert/strict';
import { request } from 'node:https';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { exportJournal, verifyJournal } from '../../src/audit/verify-journal.ts';
import { hashRecord } from '../../src/storage/journal.ts';
import { numberOf } from '../fixtures/accounts.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';

const CARD = { card: '4111111111111111', name: 'Ana Lopez', exp: '12/29' };
const CAPTURE = { chd: CARD, amount: 0, currency: 'USD', additional_info: {}, ttl: 1 };

const slotOf = (token: string): Uint8Array => Buffer.from(token.replaceAll('-', ''), 'hex');

/** An attacker who can write to the database, but does not hold the root key, gains nothing by it. */
describe('a database that was tampered with', () => {
  let service: TestService;
  let victim: string;
  let altered = 0;
  before(async () => {
    service = await startTestService();
    victim = await service.newAccount('Victim');
  });
  after(() => service.stop());

  const tamper = (sql: string, ...values: (string | Uint8Array)[]): void => {
    const database = new DatabaseSync(join(service.directory, 'cardvault.db'));
    try {
      assert.equal(database.prepare(sql).run(...values).changes, 1);
    } finally {
      database.close();
    }
  };
  const newCapture = async (key: string, body: object = CAPTURE): Promise<string> =>
    (await service.call('POST', '/transactions/requests', { key, body })).json.data.id;

  for (const [what, change, value] of [
    ['another account', 'account = (select number from accounts where id = ?)', () => victim],
    ['more permissions', 'permissions = ?', () => '["captures:retrieve","account:read"]'],
    ['a wider allow-list', 'allow_list = ?', () => '[{"cidr":"0.0.0.0/0","note":""}]'],
    ['no revocation', 'revoked_at = null, prefix = ?', () => 'x'],
  ] as const) {
    test(`a key whose row was changed to have ${what} is rejected, and the audit log has the reason`, async () => {
      const { id, secret } = await service.newKey(await service.newAccount('Thief'), { permissions: ['account:read'] });
      if (what === 'no revocation')
        await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
          service.core.accounts.revokeKey(transaction, id),
        );
      tamper(`update api_keys set ${change} where id = ?`, value(), id);
      assert.equal((await service.call('GET', '/v1/account', { key: secret })).status, 403);
      const denials = (await Array.fromAsync(exportJournal(service.core.database)))
        .map(({ record }) => JSON.parse(record))
        .filter(({ action }) => action === 'access.denied');
      altered += 1;
      assert.deepEqual(
        denials.map(({ outcome }) => outcome),
        Array(altered).fill('key_altered'),
      );
    });
  }

  test('an account whose entire audit log was removed is reported by the verification', async () => {
    const { database, journalKey } = service.core;
    const robbed = await service.newAccount('Robbed');
    await service.newKey(robbed);
    assert.equal((await verifyJournal(database, journalKey)).fault, undefined);
    const remove = (table: string): void => {
      const file = new DatabaseSync(join(service.directory, 'cardvault.db'));
      assert.ok(file.prepare(`delete from ${table} where account = ${numberOf(robbed)}`).run().changes > 0);
      file.close();
    };
    remove('journal');
    remove('journal_heads');
    const missing = `account ${robbed}, lane 1: the chain was announced and is missing`;
    assert.equal((await verifyJournal(database, journalKey)).fault, missing);
    // Not even what is recorded from now on hides it.
    await service.newKey(robbed);
    const twice = `account ${robbed}, lane 1: the chain was announced twice`;
    assert.equal((await verifyJournal(database, journalKey)).fault, twice);
  });

  test('a capture whose times, amount, currency or index was changed is not given out', async () => {
    const { secret: key } = await service.newKey(victim);
    for (const change of [
      'expires_at = expires_at + 1',
      'created_at = created_at - 1',
      'amount = amount + 1',
      "currency = 'EUR'",
      'fingerprint = null',
      'fingerprint = zeroblob(16)',
      "fingerprint = x''",
    ]) {
      const id = await newCapture(key);
      assert.equal((await service.call('GET', `/transactions/requests/${id}`, { key })).status, 200);
      tamper(`update captures set ${change} where id = ?`, id);
      const { status, text } = await service.call('GET', `/transactions/requests/${id}`, { key });
      assert.equal(status, 500);
      assert.ok(!text.includes(CARD.card));
    }
  });

  test('a capture without a card number that was given an index is not given out', async () => {
    const { secret: key } = await service.newKey(victim);
    for (const change of ["fingerprint = x''", 'fingerprint = zeroblob(16)']) {
      const body = { ...CAPTURE, chd: { cvv: '123' } };
      const id = await newCapture(key, body);
      assert.equal((await service.call('GET', `/transactions/requests/${id}`, { key })).status, 200);
      tamper(`update captures set ${change} where id = ?`, id);
      assert.equal((await service.call('GET', `/transactions/requests/${id}`, { key })).status, 500, change);
    }
  });

  test('a token whose scheme or time was changed is not given out', async () => {
    const { secret: key } = await service.newKey(victim);
    for (const change of [
      'scheme = 1',
      'created_at = created_at + 1',
      'created_at = 9000000000000000000',
      "created_at = 'x'",
    ]) {
      const body = { chd: [CARD], tags: [], scheme: 7 };
      const created = await service.call('POST', '/v1/tokenization/simple', { key, body });
      const { token } = created.json.data.tokens[0];
      const path = `/v1/tokens/${token}/inspect`;
      assert.equal((await service.call('GET', path, { key })).status, 200);
      tamper(`update tokens set ${change} where slot = ?`, slotOf(token));
      const { status, text } = await service.call('GET', path, { key });
      assert.equal(status, 500, change);
      assert.ok(!text.includes(CARD.card));
    }
  });

  test('a token whose revision was changed to a number that no service writes can only be deleted', async () => {
    const { secret: key } = await service.newKey(victim);
    for (const change of ['revision = 9000000000000000000', "revision = 'x'"]) {
      const body = { chd: [{ ...CARD, card: luhnPan('455669') }], tags: ['one'], scheme: 7, type: 'persistent' };
      const tokenize = (tags: string[]) =>
        service.call('POST', '/v1/tokenization/simple', { key, body: { ...body, tags } });
      const { token } = (await tokenize(['one'])).json.data.tokens[0];
      tamper(`update tokens set ${change} where slot = ?`, slotOf(token));
      assert.equal((await tokenize(['two'])).status, 500, change);
      assert.equal((await service.call('GET', `/v1/tokens/${token}/inspect`, { key })).status, 500, change);
      const deletion = await service.call('DELETE', '/v1/tokens', { key, body: { tokens: [token] } });
      assert.equal(deletion.status, 200, change);
      assert.equal((await service.call('GET', `/v1/tokens/${token}/inspect`, { key })).status, 400, change);
    }
  });

  test('a persistent token in the row of another card is not returned for that card', async () => {
    const { secret: key } = await service.newKey(victim);
    const tokenize = (card: string) =>
      service.call('POST', '/v1/tokenization/simple', {
        key,
        body: { chd: [{ ...CARD, card }], tags: [], scheme: 7, type: 'persistent' },
      });
    const [one, other] = [luhnPan('455667'), luhnPan('455668')];
    const [token, foreign] = [await tokenize(one), await tokenize(other)].map(({ json }) => json.data.tokens[0].token);
    assert.notEqual(token, foreign);
    const fingerprint = '(select fingerprint from tokens where slot = ?)';
    tamper(
      `update tokens set fingerprint = ${fingerprint}, format = null where slot = ?`,
      slotOf(foreign),
      slotOf(token),
    );
    tamper("update tokens set format = '0/0' where slot = ?", slotOf(foreign));
    tamper("update tokens set format = '7/6' where slot = ?", slotOf(token));
    assert.equal((await tokenize(other)).status, 500);
  });
});

test('a delayed request is rejected when its key was revoked in the meantime', async () => {
  const service = await startTestService();
  try {
    const { id, secret } = await service.newKey(await service.newAccount());
    const created = await service.call('POST', '/v1/tokenization/simple', {
      key: secret,
      body: { chd: [CARD], tags: [], scheme: 1 },
    });
    const [{ token }] = created.json.data.tokens;
    const body = JSON.stringify({ tokens: [token] });
    const headers = { 'x-api-key': secret, 'content-type': 'application/json', 'content-length': String(body.length) };
    const { sandbox: port } = service.ports;
    const held = request({
      host: '127.0.0.1',
      servername: 'localhost',
      port,
      ca: service.authority,
      method: 'DELETE',
      path: '/v1/tokens',
      headers,
    });
    held.flushHeaders();
    const status = new Promise((resolve, reject) => {
      held.on('response', (response) => resolve(response.resume().statusCode));
      held.on('error', reject);
    });
    // Long enough for the headers to be there and the key to be found good.
    await service.call('GET', '/healthz');
    await new Promise((resolve) => setTimeout(resolve, 300));
    await service.core.transactions.run({ origin: { actor: { type: 'operator' } } }, (transaction) =>
      service.core.accounts.revokeKey(transaction, id),
    );
    service.advance(5000);
    held.end(body);
    assert.equal(await status, 403);
    const { secret: another } = await service.newKey((await service.core.accounts.list())[0]?.id ?? '');
    assert.equal((await service.call('GET', `/v1/tokens/${token}/inspect`, { key: another })).status, 200);
  } finally {
    await service.stop();
  }
});

test('clients with many cards in one small token space do not block each other', {
  timeout: 120_000,
}, async () => {
  const service = await startTestService();
  try {
    const { secret: key } = await service.newKey(await service.newAccount());
    const chd = Array.from({ length: 1000 }, () => CARD);
    const body = { chd, tags: [], scheme: 1, isEightDigitsBin: true };
    const responses = await Promise.all(
      Array.from({ length: 6 }, () => service.call('POST', '/v1/tokenization/simple', { key, body })),
    );
    const tokens = responses.flatMap(({ json }) => json.data.tokens.map(({ token }: { token: string }) => token));
    assert.equal(new Set(tokens).size, 6000);
  } finally {
    await service.stop();
  }

  test('a record that was rewritten with the hashes and the head is reported, whatever is recorded from then on', async (t) => {
    const own = await startTestService();
    t.after(() => own.stop());
    const { database, journalKey } = own.core;
    const framed = await own.newAccount('Framed');
    await own.newKey(framed);
    const links = await Array.fromAsync(exportJournal(database));
    const last = links.findLast(({ account }) => account === framed);
    const previous = links.find(
      ({ account, sequence }) => account === framed && sequence === Number(last?.sequence) - 1,
    );
    assert.ok(last !== undefined);
    const record = last.record.replace('"success"', '"failed"');
    assert.notEqual(record, last.record);
    const hash = hashRecord(previous?.hash ?? '0'.repeat(64), last.lane, last.sequence, { ...last, record });
    const number = numberOf(framed);
    const file = new DatabaseSync(join(own.directory, 'cardvault.db'));
    file
      .prepare(`update journal set record = ?, hash = ? where account = ${number} and sequence = ?`)
      .run(record, hash, last.sequence);
    file.prepare(`update journal_heads set hash = ? where account = ${number}`).run(hash);
    file.close();
    const sealIsWrong = new RegExp(`^account ${framed}, lane 1: .*seal`);
    assert.match((await verifyJournal(database, journalKey)).fault ?? '', sealIsWrong);
    // A seal of the service would hide it.
    await own.newKey(framed);
    assert.match((await verifyJournal(database, journalKey)).fault ?? '', sealIsWrong);
    await own.newKey(framed);
    assert.match((await verifyJournal(database, journalKey)).fault ?? '', sealIsWrong);
  });
});
