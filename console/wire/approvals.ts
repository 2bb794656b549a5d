import { bool, type Field, object, output } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { APPROVAL_STATUSES } from '../approvals/approval-status.ts';
import { define, done, orNull } from './definition.ts';

/** Approvals of changes in production, and settings of an account. */

/** The result of a change that may need approval: exactly one of the two members is set. */
export const resultOrApproval = <T>(field: Field<T>) =>
  object({
    approval: output.nullableText('Id of the requested approval; the change was not made'),
    result: orNull(field),
  });

const approval = object({
  id: output.text('Id'),
  environment: output.oneOf(ENVIRONMENTS, 'Environment'),
  /** The `dualControl` name of the call. */
  action: output.text('The change'),
  /** Names and values; never a secret. */
  summary: output.list(object({ name: output.text('Name'), value: output.text('Value') }), 'Effect of the change'),
  /** Above 0 in lists alone: an approver reads every line first. */
  more_lines: output.integer('Number of further lines of the summary'),
  status: output.oneOf(APPROVAL_STATUSES, 'Status'),
  requested_by: output.text('Name of the requester'),
  /** Names are not unique. */
  requested_by_email: output.nullableText('Email address of the requester; null after the end of the membership'),
  by_operator: output.bool('An operator requested it; it takes effect with its approval'),
  is_yours: output.bool('The caller requested it'),
  may_decide: output.bool('The caller may approve or decline it'),
  decided_by: output.nullableText('Name of the user who decided'),
  decided_by_email: output.nullableText('Email address of the approver, in the same way'),
  created_at: output.time('Time of the request'),
  expires_at: output.time('End of its validity'),
});

/** Lists approvals with the first lines of their summaries. */
export const listApprovals = define({
  method: 'GET',
  path: '/api/accounts/:account/approvals',
  access: 'approvals:read',
  data: object({ approvals: output.list(approval, 'Newest first') }),
});

/** Returns an approval with every line of its summary. */
export const showApproval = define({
  method: 'GET',
  path: '/api/accounts/:account/approvals/:id',
  access: 'approvals:read',
  data: object({ approval }),
});

export const approve = define({
  method: 'POST',
  path: '/api/accounts/:account/approvals/:id/approve',
  access: 'approvals:decide',
  stepUp: true,
  data: object({ executed: output.bool('It took effect now, because an operator requested it') }),
});

export const decline = define({
  method: 'POST',
  path: '/api/accounts/:account/approvals/:id/decline',
  access: 'approvals:decide',
  allowedWhileSuspended: true,
  data: object({ done }),
});

export const withdrawApproval = define({
  method: 'DELETE',
  path: '/api/accounts/:account/approvals/:id',
  access: 'approvals:read',
  allowedWhileSuspended: true,
  data: object({ done }),
});

/** The requester executes an approved change; the result is that of the call itself. */
export const executeApproval = define({
  method: 'POST',
  path: '/api/accounts/:account/approvals/:id/execute',
  access: 'approvals:read',
  stepUp: true,
  data: object({ action: output.text('Action'), result: output.json('Data of the executed call') }),
});

const dualControlQuestionPath = '/api/accounts/:account/dual-control-question';

/** The question is open from when a second user may approve changes until an owner decides it. */
export const showDualControlQuestion = define({
  method: 'GET',
  path: dualControlQuestionPath,
  access: 'account:settings',
  data: object({
    is_asked: output.bool('Two-person approval in production is not decided, and can be'),
    is_recommended: output.bool('Two-person approval is suggested, because keys of the account may read cards'),
  }),
});

export const answerDualControlQuestion = define({
  method: 'POST',
  path: dualControlQuestionPath,
  access: 'account:settings',
  stepUp: true,
  body: object({ dual_control: bool('Changes in production need two-person approval from now on') }),
  data: object({ done }),
});

/** Switching dual control off needs approval itself. */
export const setDualControl = define({
  method: 'POST',
  path: '/api/accounts/:account/settings/dual-control',
  access: 'account:settings',
  stepUp: true,
  dualControl: 'account.settings',
  body: object({ dual_control: bool('Changes in production need two-person approval') }),
  data: resultOrApproval(object({ dual_control: output.bool('Present setting') })),
});
