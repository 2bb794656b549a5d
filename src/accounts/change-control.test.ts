import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Transaction } from '../idempotency/transaction.ts';
import { ApprovalRequired, type ApprovalService, ChangeControl } from './change-control.ts';

const PRODUCTION = { account: 'acct_1', environment: 'production' } as const;
const SANDBOX = { ...PRODUCTION, environment: 'sandbox' } as const;
const CHANGE = { action: 'payments.disable', summary: [], body: '{}' } as const;
const OPERATOR = { actor: { type: 'operator', name: 'Olga' } } as const;
const CONSENT = { approvalId: 'approval_1' };

/** Takes writes, and commits nothing. */
const newTransaction = (): { transaction: Transaction; writes: unknown[] } => {
  const writes: unknown[] = [];
  return { transaction: { origin: OPERATOR, write: (write: unknown) => writes.push(write) } as never, writes };
};

const newControl = (dualControl: boolean): ChangeControl =>
  new ChangeControl({ find: () => Promise.resolve({ dualControl } as never) });

describe('a change of a setting that decides where card data goes', () => {
  test('needs no consent in the sandbox, and in production of an account without dual control', async () => {
    const { transaction, writes } = newTransaction();
    await newControl(true).permit(transaction, SANDBOX, CHANGE, {});
    assert.equal(writes.length, 0);
    await newControl(false).permit(transaction, PRODUCTION, CHANGE, {});
    assert.equal(writes.length, 1, 'it conflicts when the account comes under dual control at the same moment');
  });

  test('is exempt without dual control, as long as that is so until the commit', async () => {
    const { transaction, writes } = newTransaction();
    assert.equal(await newControl(true).holdExempt(transaction, PRODUCTION.account), false);
    assert.equal(writes.length, 0);
    assert.equal(await newControl(false).holdExempt(transaction, PRODUCTION.account), true);
    assert.equal(writes.length, 1);
  });

  test('is rejected under dual control without the console, whatever right is claimed', async () => {
    const control = newControl(true);
    const { transaction } = newTransaction();
    await assert.rejects(
      control.permit(transaction, PRODUCTION, CHANGE, {}),
      /without the console no member can approve/,
    );
    for (const right of [{ isMember: true }, { consent: CONSENT }])
      await assert.rejects(control.permit(transaction, PRODUCTION, CHANGE, right), { code: 'changed_meanwhile' });
  });

  test('by an operator is stored as a request, and made with the consent that the console accepts', async () => {
    const control = newControl(true);
    const { transaction } = newTransaction();
    const redeemed: unknown[] = [];
    const approvals: ApprovalService = {
      requestByOperator: () => Promise.resolve('approval_1'),
      findOperatorRequest: () => Promise.resolve(undefined),
      redeem: (...args) => redeemed.push(args),
    };
    control.connectApprovals(approvals);
    await assert.rejects(
      control.permit(transaction, PRODUCTION, CHANGE, {}),
      (error) => error instanceof ApprovalRequired && error.approval === 'approval_1',
    );
    await control.permit(transaction, PRODUCTION, CHANGE, { consent: CONSENT });
    assert.deepEqual(redeemed, [[transaction, CONSENT, PRODUCTION, 'payments.disable']]);
  });

  test('that exports an account needs a second person in production, whatever the account requires', async () => {
    const control = newControl(false);
    const { transaction, writes } = newTransaction();
    const change = { ...CHANGE, action: 'account.export' } as const;
    await assert.rejects(control.permit(transaction, PRODUCTION, change, {}), { code: 'not_possible' });
    await control.permit(transaction, SANDBOX, change, {});
    assert.deepEqual(writes, []);
  });
});
