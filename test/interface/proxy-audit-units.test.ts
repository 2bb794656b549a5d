import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { UnitOfWork } from '../../src/storage/database.ts';
import { luhnPan, startTestService, type TestResponse, type TestService } from '../fixtures/test-service.ts';
import { ENDPOINTS, newSender, proxied, type Sender } from './proxy-requests.ts';
import { dataOf, TOKENIZE } from './vault-requests.ts';

const MANY = 100;
/** Long enough that an answer that did not wait would be there first. */
const HELD_MS = 50;

describe('the audit records of the reads of one request', () => {
  let service: TestService;
  let me: Sender;
  let tokens: string[];
  let captures: string[];
  before(async () => {
    service = await startTestService();
    me = await newSender(service);
    const chd = Array.from({ length: MANY }, () => ({ card: luhnPan('411111'), name: 'Ana Lopez', exp: '12/29' }));
    const body = { chd, tags: [], scheme: 7 };
    const created = dataOf(await service.call('POST', TOKENIZE, { key: me.key, body })).tokens;
    tokens = created.map(({ token }: { token: string }) => token);
    captures = await Promise.all(tokens.map(() => me.capture({ cvv: '123' })));
  });
  after(() => service.stop());

  /**
   * The actions of a request, in order: units with reads, the end of each, the response; and how many reads each unit
   * had.
   */
  async function watch(
    send: () => Promise<TestResponse>,
  ): Promise<{ response: TestResponse; order: string[]; reads: number[] }> {
    const { database } = service.core;
    const { commit } = database;
    const order: string[] = [];
    const reads: number[] = [];
    database.commit = async (unit: UnitOfWork) => {
      const count = (unit.journal ?? []).filter(({ record }) =>
        /^(token\.detokenized|capture\.retrieved)$/.test(JSON.parse(record).action),
      ).length;
      const outcome = await commit.call(database, unit);
      if (count > 0) {
        reads.push(count);
        await sleep(HELD_MS);
        order.push('on disk');
      }
      return outcome;
    };
    try {
      const response = await send();
      order.push('answer');
      return { response, order, reads };
    } finally {
      database.commit = commit;
    }
  }

  const inside = (names: readonly string[], filter: string): string =>
    names.map((name) => `{{${name}:${filter}}}`).join(' ');

  for (const { name, around } of ENDPOINTS) {
    const send = (text: string) => watch(() => me[name](around(text)));

    test(`of unknown tokens are one unit of work, on ${name}`, async () => {
      const before = (await me.reads()).length;
      const unknown = Array.from({ length: MANY }, () => randomUUID());
      const { response, order, reads } = await send(inside(unknown, 'detokenize'));
      const records = (await me.reads()).slice(before);
      assert.equal(response.status, 400);
      assert.match(response.json.description, /placeholder 1: no such token$/);
      assert.deepEqual([order, reads], [['on disk', 'answer'], [MANY]]);
      assert.equal(records.length, MANY);
      for (const record of records) {
        assert.deepEqual([record.action, record.outcome, record.detail['use']], ['token.detokenized', 'missing', name]);
      }
    });

    test(`of tokens are one unit of work, with a record of each, on ${name}`, async () => {
      const before = (await me.reads()).length;
      const { response, order, reads } = await send(inside(tokens, 'detokenize'));
      const records = (await me.reads()).slice(before);
      proxied(response);
      assert.deepEqual([order, reads], [['on disk', 'answer'], [MANY]]);
      const targets = records.map(({ outcome, targets: of }) => `${outcome} ${of}`);
      assert.deepEqual(targets.sort(), tokens.map((token) => `success token:${token}`).sort());
    });

    test(`of captures are one unit of work, with a record of each, on ${name}`, async () => {
      const before = (await me.reads()).length;
      const { response, order, reads } = await send(inside(captures, 'transaction | extract:cvv'));
      const records = (await me.reads()).slice(before);
      proxied(response);
      assert.deepEqual([order, reads], [['on disk', 'answer'], [MANY]]);
      const targets = records.map(({ outcome, targets: of }) => `${outcome} ${of}`);
      assert.deepEqual(targets.sort(), captures.map((id) => `success capture:${id}`).sort());
    });
  }
});
