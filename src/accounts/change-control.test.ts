import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ApprovalRequired, type ApprovalService, ChangeControl } from './change-control.ts';

const PRODUCTION = { account: 'acct_1', environment: 'production' } as const;
const SANDBOX = { ...PRODUCTION, environment: 'sandbox' } as const;
const CHANGE = { action: 'payments.disable', summary: [], body: '{}' } as const;
const OPERATOR = { actor: { type: 'operator', name: 'Olga' } } as const;
const CONSENT = { approvalId: 'approval_1' };

const newControl = (dualControl: boolean): ChangeControl =>
  new ChangeControl({ find: () => Promise.resolve({ dualControl } as never) });

describe('a change of a setting that decides where card data goes', () => {
  test('needs no consent in the sandbox, and in production of an account without dual control', async () => {
    assert.deepEqual(await newControl(true).permit(SANDBOX, CHANGE, OPERATOR, {}), { writes: [], journal: [] });
    const { writes } = await newControl(false).permit(PRODUCTION, CHANGE, OPERATOR, {});
    assert.equal(writes.length, 1, 'it conflicts when the account comes under dual control at the same moment');
  });

  test('is rejected under dual control without the console, whatever right is claimed', async () => {
    const control = newControl(true);
    await assert.rejects(control.permit(PRODUCTION, CHANGE, OPERATOR, {}), /without the console no member can approve/);
    for (const right of [{ isMember: true }, { consent: CONSENT }])
      await assert.rejects(control.permit(PRODUCTION, CHANGE, OPERATOR, right), { code: 'changed_meanwhile' });
  });

  test('by an operator is stored as a request, and made with the consent that the console accepts', async () => {
    const control = newControl(true);
    const accepted = { writes: [], journal: [] };
    const approvals: ApprovalService = {
      requestByOperator: () => Promise.resolve('approval_1'),
      redeem: () => accepted,
    };
    control.connectApprovals(approvals);
    await assert.rejects(
      control.permit(PRODUCTION, CHANGE, OPERATOR, {}),
      (error) => error instanceof ApprovalRequired && error.approval === 'approval_1',
    );
    assert.equal(await control.permit(PRODUCTION, CHANGE, OPERATOR, { consent: CONSENT }), accepted);
  });
});
