import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CallError } from '../console/web/src/api/call.ts';
import type { Approval } from '../console/web/src/pages/approvals/approval.ts';
import { type DecisionOutcome, decideEach, groupApprovals } from '../console/web/src/pages/approvals/decide-each.ts';

const approval = (id: string, changes: Partial<Approval> = {}): Approval => ({
  id,
  environment: 'production',
  action: 'payment.refund',
  status: 'waiting',
  summary: [],
  more_lines: 0,
  requested_by: 'Ana',
  requested_by_email: 'ana@example.com',
  by_operator: false,
  is_yours: false,
  may_decide: true,
  decided_by: null,
  decided_by_email: null,
  created_at: '2026-01-01T00:00:00Z',
  expires_at: '2026-01-02T00:00:00Z',
  ...changes,
});

const grouped = (approvals: readonly Approval[]) =>
  groupApprovals(approvals).map(({ decisions, approvals: each }) => [
    decisions.join(),
    each.map(({ id }) => id).join(),
  ]);

describe('a group of requests', () => {
  it('has several of one user for one operation, which the reader may decide', () => {
    const others: Partial<Approval>[] = [
      { action: 'payment.void' },
      { requested_by: 'Eva', requested_by_email: 'eva@example.com' },
      // Names are not unique.
      { requested_by_email: 'another-ana@example.com' },
      { may_decide: false },
      { may_decide: false, is_yours: true },
      { action: 'key.create' },
      { action: 'payment.resolve' },
      // The list does not have all lines of it.
      { more_lines: 1 },
      { environment: 'sandbox' },
      { status: 'approved' },
    ];
    const all = others.map((changes, number) => approval(`other-${number}`, changes));
    assert.deepEqual(grouped([approval('a'), ...all]), []);
    assert.deepEqual(grouped([approval('a'), ...all, approval('b')]), [['approve,decline', 'a,b']]);
    assert.deepEqual(grouped([approval('a', { action: 'key.create' }), approval('b', { action: 'key.create' })]), []);
  });

  it('has approved ones that the reader requested, of one approver', () => {
    const own = (id: string, decided_by = 'Ben') =>
      approval(id, { status: 'approved', is_yours: true, may_decide: false, decided_by });
    assert.deepEqual(grouped([own('a'), own('b'), own('c', 'Eva')]), [['execute', 'a,b']]);
  });
});

describe('a decision on each of several requests', () => {
  const run = async (ids: readonly string[], send: (id: string) => Promise<unknown>) => {
    const outcomes = new Map<string, DecisionOutcome>();
    const sent: string[] = [];
    const record = async (id: string): Promise<void> => {
      sent.push(id);
      await send(id);
    };
    await decideEach(ids, record, (id, outcome) => outcomes.set(id, outcome));
    return { sent: sent.join(), states: [...outcomes.values()].map(({ state }) => state).join() };
  };

  it('is sent for each in their order, and fails alone', async () => {
    const { sent, states } = await run(['a', 'b', 'c'], async (id) => {
      if (id === 'b') throw new CallError('changed_meanwhile', 409, '');
    });
    assert.deepEqual([sent, states], ['a,b,c', 'done,failed,done']);
  });

  it('is not sent for the others when the second factor is canceled or the session has ended', async () => {
    for (const code of ['cancelled', 'not_signed_in']) {
      const { sent, states } = await run(['a', 'b', 'c'], async (id) => {
        if (id === 'b') throw new CallError(code, 401, '');
      });
      assert.deepEqual([sent, states], ['a,b', 'done,stopped,stopped'], code);
    }
  });
});
