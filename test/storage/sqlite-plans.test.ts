import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { startDigestRotations } from '../../src/rotation/digest-rotation.ts';
import { startFingerprintRotations } from '../../src/rotation/fingerprint-rotation.ts';
import { isPostgres } from '../fixtures/database.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { type Merchant, newMerchant } from '../interface/payment-requests.ts';

/** Tables with a row for each token, capture, payment or event of an account. */
const LARGE =
  'tokens|token_tags|token_uses|captures|capture_sessions|payments|payment_operations|simulator_payments|idempotency|journal|webhook_events|webhook_deliveries';
/** A search that knows the account and nothing more, or not even that, reads all of its rows. */
const READS_ALL = new RegExp(
  `^(?:SCAN (?:${LARGE})\\b|SEARCH (?:${LARGE})\\b.*\\(account=\\?(?: AND environment=\\?)?\\)$)`,
);

describe('the queries of requests over SQLite', {
  skip: isPostgres && 'they are those of SQLite',
  timeout: 120_000,
}, () => {
  let service: TestService;
  let me: Merchant;
  const statements = new Set<string>();
  const { prepare } = DatabaseSync.prototype;
  before(async () => {
    DatabaseSync.prototype.prepare = function (sql, ...rest) {
      statements.add(sql);
      return prepare.call(this, sql, ...rest);
    };
    service = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_CAPTURE: '0' } });
    me = await newMerchant(service);
    // A start reads one row of each table.
    statements.clear();
  });
  after(async () => {
    DatabaseSync.prototype.prepare = prepare;
    await service.stop();
  });

  const send = async (method: string, path: string, body?: unknown) => {
    const response = await service.call(method, path, { key: me.key, body });
    assert.equal(response.status, 200, response.text);
    return response.json.data;
  };
  const tokenize = async (scheme: number, more: object = {}): Promise<string> => {
    const chd = [{ card: luhnPan('411111'), name: 'Ana Lopez', exp: '12/40' }];
    const { tokens } = await send('POST', '/v1/tokenization/simple', { chd, tags: ['web'], scheme, ...more });
    return tokens[0].token;
  };
  /** Returns the plans that read all rows of an account, with their statements. */
  const findSlow = (): string[] => {
    const database = new DatabaseSync(`${service.directory}/cardvault.db`, { readOnly: true });
    try {
      return [...statements].flatMap((sql) => {
        // A page in the order of an index ends with its last row.
        if (!/^\s*select\b/i.test(sql) || /\border by .* limit \S+\s*$/s.test(sql)) return [];
        const plan = prepare.call(database, `explain query plan ${sql}`).all();
        return plan.flatMap(({ detail }) => (READS_ALL.test(String(detail)) ? [`${detail}: ${sql}`] : []));
      });
    } finally {
      database.close();
    }
  };
  const useTokens = async (): Promise<void> => {
    for (const scheme of [1, 3, 7, 8]) {
      await tokenize(scheme, { type: 'persistent' });
      const token = await tokenize(scheme);
      await send('GET', `/v1/tokens/${token}/inspect`);
      await send('DELETE', '/v1/tokens', { tokens: [token] });
    }
  };

  test('read no table of an account as a whole', async () => {
    await send('POST', '/v1/webhooks', { url: 'https://shop.example.com/', events: ['*'] });
    await useTokens();
    const chd = { card: luhnPan('411111'), name: 'Ana Lopez', exp: '12/40', cvv: '123' };
    const capture = { chd, amount: 100, currency: 'USD', additional_info: {}, ttl: 10 };
    const { id } = await send('POST', '/transactions/requests', capture);
    await send('GET', `/transactions/requests/${id}`);
    await send('GET', `/transactions/requests/${id}/inspect`);
    await send('POST', `/transactions/requests/${id}/tokenize`, { tags: [], scheme: 8 });
    await send('DELETE', `/transactions/requests/${id}`);
    const payment = await me.opened('authorization', { amount: 100 });
    await me.move('capture', payment, 80);
    await me.move('refund', payment, 30);
    await me.show(payment);
    await me.move('void', await me.opened('authorization', { amount: 100 }));
    const session = { allowed_origins: ['https://shop.example.com'], amount: 100, currency: 'USD', ttl: 10 };
    const opened = await send('POST', '/v1/capture-sessions', session);
    await send('GET', `/v1/capture-sessions/${opened.id}`);
    await send('GET', '/v1/webhooks');
    // Another thread prepares the statements that write.
    assert.ok(statements.size > 12, `${statements.size} statements`);
    assert.deepEqual(findSlow(), []);
  });

  test('read none either while the keys of digests and fingerprints are replaced', async () => {
    const origin = { actor: { type: 'operator', name: 'test' } } as const;
    const before = statements.size;
    await startDigestRotations(service.core, origin, { account: me.account });
    await startFingerprintRotations(service.core, origin, { account: me.account });
    service.advance(10 * 60_000);
    await useTokens();
    assert.ok(statements.size > before);
    assert.deepEqual(findSlow(), []);
  });
});
