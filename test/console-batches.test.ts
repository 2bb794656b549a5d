import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CallError } from '../console/web/src/api/call.ts';
import {
  type BatchItem,
  type BatchOutcome,
  runBatch,
  sumByCurrency,
} from '../console/web/src/pages/payments/run-batch.ts';

const item = (id: string): BatchItem => ({
  id,
  amount: '1.00',
  currency: 'USD',
  card: '411111******1111',
  expected_operations: 1,
  refusal: null,
  key: `key-${id}`,
});

type Sent = Awaited<ReturnType<Parameters<typeof runBatch>[0]['send']>>;
const after = (state: string, response_code: string | null = null): Sent =>
  ({ approval: null, result: { operations: [{ type: 'capture', state, response_code }] } }) as unknown as Sent;

async function run(
  ids: readonly string[],
  send: (item: BatchItem) => Promise<Sent>,
  isStopped = () => false,
): Promise<Map<string, BatchOutcome>> {
  const outcomes = new Map<string, BatchOutcome>();
  await runBatch({
    items: ids.map(item),
    kind: 'capture',
    send,
    isStopped,
    onOutcome: ({ id }, outcome) => outcomes.set(id, outcome),
  });
  return outcomes;
}

describe('a batch of payments', () => {
  it('reports the outcome of each', async () => {
    const responses: Readonly<Record<string, () => Sent>> = {
      done: () => after('accepted'),
      declined: () => after('refused', '05'),
      unknown: () => after('in_progress'),
      approval: () => ({ approval: 'approval_1', result: null }),
      changed: () => {
        throw new CallError('changed_meanwhile', 409, '');
      },
      busy: () => {
        throw new CallError('operation_in_progress', 409, '', undefined, { reason: 'paymentBusy', values: {} });
      },
      pending: () => {
        throw new CallError('operation_in_progress', 409, '', undefined, { reason: 'outcomePending', values: {} });
      },
    };
    const outcomes = await run(Object.keys(responses), async ({ id }) => (responses[id] as () => Sent)());
    assert.deepEqual(
      [...outcomes].sort().map(([id, { state }]) => `${id}: ${state}`),
      [
        'approval: approval',
        'busy: refused',
        'changed: refused',
        'declined: declined',
        'done: done',
        'pending: unknown',
        'unknown: unknown',
      ],
    );
  });

  it('repeats with the same key when no response arrives', async () => {
    const keys: string[] = [];
    const outcomes = await run(['a'], async ({ key }) => {
      keys.push(key);
      if (keys.length === 1) throw new CallError('offline', 0, '');
      return after('accepted');
    });
    assert.deepEqual(keys, ['key-a', 'key-a']);
    assert.equal(outcomes.get('a')?.state, 'done');
  });

  it('starts nothing more once it was stopped, or the step-up was canceled', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    let sent = 0;
    const stopped = await run(
      ids,
      async () => {
        sent++;
        return after('accepted');
      },
      () => sent >= 2,
    );
    assert.equal(sent, 2);
    assert.deepEqual([...stopped.values()].filter(({ state }) => state === 'stopped').length, 4);
    sent = 0;
    const canceled = await run(ids, async () => {
      sent++;
      throw new CallError('cancelled', 0, '');
    });
    assert.equal(sent, 4, 'as many as run concurrently');
    assert.ok([...canceled.values()].every(({ state }) => state === 'stopped'));
  });

  it('adds up decimals by currency, without floating-point numbers', () => {
    const amounts = ['0.10', '0.20', '99999999999.99'].map((amount) => ({ amount, currency: 'USD' }));
    const yen = ['700', '1'].map((amount) => ({ amount, currency: 'JPY' }));
    assert.deepEqual(sumByCurrency([...amounts, ...yen]), [
      { currency: 'USD', amount: '100000000000.29' },
      { currency: 'JPY', amount: '701' },
    ]);
    assert.deepEqual(sumByCurrency([]), []);
  });
});
