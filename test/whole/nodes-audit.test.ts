import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type Node, Nodes } from '../fixtures/nodes.ts';
import { luhnPan } from '../fixtures/test-service.ts';
import { CAPTURES, capture, cards, TOKENIZE } from '../interface/vault-requests.ts';

const VERIFICATIONS = 2;
/** Minimum number of records that are written concurrently. */
const WRITTEN = 60;

describe('the audit log of several writers', { timeout: 240_000 }, () => {
  let nodes: Nodes;
  let both: Node[];
  before(async () => {
    nodes = await Nodes.overShared();
    const start = () => nodes.start({ CARDVAULT_RATE_LIMIT_FAILED_AUTHENTICATION: '0' });
    both = await Promise.all([start(), start()]);
  });
  after(() => nodes.end());

  test('verifies while two nodes and the command line write, and afterwards', async () => {
    const callers = [await nodes.newCaller(), await nodes.newCaller()];
    const load = { goesOn: true };
    const written = { records: 0 };
    const ok = async (response: ReturnType<Node['call']>, expected = 200) => {
      const { status, text, json } = await response;
      assert.equal(status, expected, text);
      return json;
    };
    const write = async (node: Node, key: string): Promise<void> => {
      while (load.goesOn) {
        const { data } = await ok(node.call('POST', CAPTURES, { key, body: capture() }));
        await ok(node.call('GET', `${CAPTURES}/${data.id}`, { key }));
        await ok(node.call('POST', TOKENIZE, { key, body: cards([luhnPan('411111')]) }));
        await ok(node.call('DELETE', `${CAPTURES}/${data.id}`, { key }));
        await ok(node.call('GET', '/v1/account', { key: 'cv_sandbox_nobody' }), 403);
        // Retrieved, deleted, refused.
        written.records += 3;
        await pause(20);
      }
    };
    const command = async (): Promise<void> => {
      for (let index = 0; load.goesOn; index++) {
        const { account } = callers[index % callers.length] ?? { account: '' };
        const created = await nodes.done([
          'key',
          'create',
          '--account',
          account,
          '--environment',
          'sandbox',
          '--name',
          'x',
        ]);
        assert.equal(created.account, account);
        await nodes.done(['key', 'revoke', created.id]);
        written.records += 2;
        // An account has room for some hundred keys a day.
        await pause(100);
      }
    };
    const writers = [...both.flatMap((node) => callers.map(({ key }) => write(node, key))), command()];
    try {
      for (let round = 0; round < VERIFICATIONS || written.records < WRITTEN; round++) {
        const { ok: isWhole, ...found } = await nodes.done(['audit', 'verify']);
        assert.equal(isWhole, true, JSON.stringify(found));
      }
    } finally {
      load.goesOn = false;
    }
    await Promise.all(writers);
    const { ok: isWhole, records } = await nodes.done(['audit', 'verify']);
    assert.equal(isWhole, true);
    // Besides the announcements of chains, and what made the callers.
    assert.ok(records > written.records, `${records} records, ${written.records} written`);
    const lanes = await nodes.rows('select distinct lane from journal');
    assert.ok(lanes.length >= 3, 'the writers were in one lane');
  });
});
