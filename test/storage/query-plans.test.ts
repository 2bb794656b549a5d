import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { Client } from 'pg';
import { startDigestRotations } from '../../src/rotation/digest-rotation.ts';
import { startFingerprintRotations } from '../../src/rotation/fingerprint-rotation.ts';
import { parseAddress } from '../../src/storage/postgres/address.ts';
import { Connection } from '../../src/storage/postgres/connection.ts';
import { simple } from '../../src/storage/postgres/statements.ts';
import { databaseSettings, isPostgres } from '../fixtures/database.ts';
import { luhnPan, startTestService, type TestService } from '../fixtures/test-service.ts';
import { type Merchant, newMerchant } from '../interface/payment-requests.ts';

/** Tables with a row for each token, capture, payment or event of an account. */
const LARGE =
  'tokens|token_tags|token_uses|captures|capture_sessions|payments|payment_operations|simulator_payments|simulator_modifications|idempotency|journal|webhook_events|webhook_deliveries';

/** The texts that are sent to the database from the start on until `stop`, and their plans. */
interface Plans {
  readonly statements: Set<string>;
  stop(): void;
  /** Returns the plans that read all rows of an account, with their statements. */
  findSlow(): Promise<string[]>;
}

/** A page in the order of an index ends with its last row. */
const isPage = (sql: string): boolean => /\border by .* limit \S+\s*$/s.test(sql);

/** True for a statement that searches. */
const isExamined = (sql: string): boolean => /^\s*(?:with|select|update|delete)\b/i.test(sql) && !isPage(sql);

/** Over SQLite. Another thread prepares the statements that write. */
function sqlitePlans(directory: () => string): Plans {
  /** A search that knows the account and nothing more, or not even that, reads all of its rows. */
  const readsAll = new RegExp(
    `^(?:SCAN (?:${LARGE})\\b|SEARCH (?:${LARGE})\\b.*\\(account=\\?(?: AND environment=\\?)?\\)$)`,
  );
  const statements = new Set<string>();
  const { prepare } = DatabaseSync.prototype;
  DatabaseSync.prototype.prepare = function (sql, ...rest) {
    statements.add(sql);
    return prepare.call(this, sql, ...rest);
  };
  return {
    statements,
    stop() {
      DatabaseSync.prototype.prepare = prepare;
    },
    async findSlow() {
      const database = new DatabaseSync(`${directory()}/cardvault.db`, { readOnly: true });
      try {
        return [...statements].flatMap((sql) => {
          if (!isExamined(sql)) return [];
          const plan = prepare.call(database, `explain query plan ${sql}`).all();
          return plan.flatMap(({ detail }) => (readsAll.test(String(detail)) ? [`${detail}: ${sql}`] : []));
        });
      } finally {
        database.close();
      }
    },
  };
}

/** A node of a plan of PostgreSQL. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly PlanNode[];
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/**
 * Over PostgreSQL, whose plans depend on its statistics of the tables. The server of the tests has none, as that of a vault that begins
 * to be used: an index by the account alone seems to cost no more than any other.
 */
function postgresPlans(directory: () => string): Plans {
  const isLarge = new RegExp(`^(?:${LARGE})$`);
  const statements = new Set<string>();
  const { query } = Client.prototype;
  Client.prototype.query = function (this: Client, ...given: unknown[]) {
    const [config] = given as [{ readonly text?: string; readonly values?: unknown }];
    if (typeof config === 'object' && config.values !== undefined) statements.add(config.text ?? '');
    return Reflect.apply(query, this, given);
  } as typeof query;

  /** Returns how a node reads all rows of an account; undefined when it does not. */
  function slowness(node: PlanNode, indexes: ReadonlyMap<string, readonly string[]>): string | undefined {
    const { 'Node Type': type, 'Relation Name': table, 'Index Name': index, 'Index Cond': condition = '' } = node;
    if (type === 'Seq Scan' && isLarge.test(table ?? '')) return `all of ${table}`;
    const columns = indexes.get(index ?? '');
    if (columns === undefined) return undefined;
    const isUsed = (column: string): boolean => new RegExp(`\\b${column}\\b`).test(condition);
    const used = columns.filter(isUsed);
    const first = columns.findIndex((column) => !isUsed(column));
    const leading = columns.slice(0, first < 0 ? columns.length : first);
    const isSelective = leading.some((column) => column !== 'account' && column !== 'environment');
    return isSelective && used.length === leading.length ? undefined : `${index} by ${used}`;
  }

  return {
    statements,
    stop() {
      Client.prototype.query = query;
    },
    async findSlow() {
      const { CARDVAULT_DATABASE_URL: url = '' } = await databaseSettings(directory());
      const address = parseAddress(url);
      const times = { connectTimeoutMs: 10_000, statementTimeoutMs: 10_000 };
      const connection = await Connection.open({ address, passwordFile: undefined, ...times });
      try {
        const rows = await connection.run(
          simple(`select c.relname as index, t.relname as table_name, array(
            select a.attname::text from unnest(i.indkey) with ordinality as k(number, ord)
              join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = k.number order by k.ord) as columns
            from pg_index as i join pg_class as c on c.oid = i.indexrelid join pg_class as t on t.oid = i.indrelid`),
        );
        const indexes = new Map<string, string[]>();
        for (const { index, table_name: table, columns } of rows)
          if (isLarge.test(String(table))) indexes.set(String(index), columns as never);
        await connection.command('set plan_cache_mode = force_generic_plan');
        const slow: string[] = [];
        for (const text of [...statements].filter((each) => isExamined(each))) {
          await connection.command(`prepare examined as ${text}`);
          const count = new Set(text.match(/\$\d+/g)).size;
          const parameters = count === 0 ? '' : `(${Array(count).fill('null').join()})`;
          const [row] = await connection.run(simple(`explain (format json) execute examined${parameters}`));
          await connection.command('deallocate examined');
          assert.ok(row !== undefined);
          const [{ Plan: plan }] = row['QUERY PLAN'] as unknown as [{ Plan: PlanNode }];
          for (const node of nodesOf(plan)) {
            const why = slowness(node, indexes);
            if (why !== undefined) slow.push(`${why}: ${text}`);
          }
        }
        return slow;
      } finally {
        await connection.close();
      }
    },
  };
}

describe('the queries of requests', { timeout: 120_000 }, () => {
  let service: TestService;
  let me: Merchant;
  let plans: Plans;
  before(async () => {
    plans = (isPostgres ? postgresPlans : sqlitePlans)(() => service.directory);
    service = await startTestService({ variables: { CARDVAULT_RATE_LIMIT_CAPTURE: '0' } });
    me = await newMerchant(service);
    // A start reads one row of each table.
    plans.statements.clear();
  });
  after(async () => {
    plans.stop();
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
  const useTokens = async (): Promise<void> => {
    for (const scheme of [1, 3, 7, 8]) {
      await tokenize(scheme, { type: 'persistent' });
      const token = await tokenize(scheme);
      await send('GET', `/v1/tokens/${token}/inspect`);
      await send('DELETE', '/v1/tokens', { tokens: [token] });
    }
  };

  test('read no table of an account as a whole', async () => {
    const webhook = await send('POST', '/v1/webhooks', { url: 'https://shop.example.com/', events: ['*'] });
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
    await send('DELETE', `/v1/capture-sessions/${opened.id}`);
    await send('GET', '/v1/webhooks');
    await send('GET', `/v1/webhooks/${webhook.id}/deliveries`);
    await send('POST', `/v1/webhooks/${webhook.id}/replay`, { since: '2026-01-15T00:00:00Z' });
    await send('POST', `/v1/webhooks/${webhook.id}`, { description: 'orders' });
    assert.ok(plans.statements.size > 12, `${plans.statements.size} statements`);
    assert.deepEqual(await plans.findSlow(), []);
  });

  test('read none either while the keys of digests and fingerprints are replaced', async () => {
    const origin = { actor: { type: 'operator', name: 'test' } } as const;
    const before = plans.statements.size;
    await startDigestRotations(service.core, origin, { account: me.account });
    await startFingerprintRotations(service.core, origin, { account: me.account });
    service.advance(10 * 60_000);
    await useTokens();
    assert.ok(plans.statements.size > before);
    assert.deepEqual(await plans.findSlow(), []);
  });
});
