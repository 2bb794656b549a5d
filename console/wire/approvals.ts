import { bool, type Field, object, output } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { APPROVAL_STATUSES } from '../approvals/approval-status.ts';
import { define, done, orNull } from './definition.ts';

/** Approvals of changes in production, and settings of an account. */

/** The result of a change that may need approval: exactly one of the two members is set. */
export const resultOrApproval = <T>(field: Field<T>) =>
  object({
    approval: output.nullableText('Id of the request for approval; then nothing was changed'),
    result: orNull(field),
  });

const approval = object({
  id: output.text('Id'),
  environment: output.oneOf(ENVIRONMENTS, 'Where'),
  /** The `dualControl` name of the call. */
  action: output.text('What is to be done'),
  /** Names and values; never a secret. */
  summary: output.list(object({ name: output.text('What'), value: output.text('Value') }), 'What it would change'),
  /** Above 0 in lists alone: an approver reads every line first. */
  more_lines: output.integer('Number of further lines of the summary'),
  status: output.oneOf(APPROVAL_STATUSES, 'How far it is'),
  requested_by: output.text('Name of who asked'),
  /** Names are not unique. */
  requested_by_email: output.nullableText('E-mail address of who asked; null for who is no member any more'),
  by_operator: output.bool('An operator asked; it takes effect as soon as it is approved'),
  is_yours: output.bool('The caller asked'),
  may_decide: output.bool('The caller may approve or decline it'),
  decided_by: output.nullableText('Name of who decided'),
  decided_by_email: output.nullableText('E-mail address of who decided, in the same way'),
  created_at: output.time('When it was asked'),
  expires_at: output.time('After that it is void'),
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
  data: object({ executed: output.bool('It took effect now, because an operator asked for it') }),
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
  data: object({ action: output.text('What was done'), result: output.json('The answer of the call itself') }),
});

const dualControlQuestionPath = '/api/accounts/:account/dual-control-question';

/** The question is open from when a second user may approve changes until an owner decides it. */
export const showDualControlQuestion = define({
  method: 'GET',
  path: dualControlQuestionPath,
  access: 'account:settings',
  data: object({
    is_asked: output.bool('Whether production changes take two people has not been decided, and can be'),
    is_recommended: output.bool('Yes is the suggested answer, because keys of the account may read cards'),
  }),
});

export const answerDualControlQuestion = define({
  method: 'POST',
  path: dualControlQuestionPath,
  access: 'account:settings',
  stepUp: true,
  body: object({ dual_control: bool('Changes in production take two people from now on') }),
  data: object({ done }),
});

/** Switching dual control off needs approval itself. */
export const setDualControl = define({
  method: 'POST',
  path: '/api/accounts/:account/settings/dual-control',
  access: 'account:settings',
  stepUp: true,
  dualControl: 'account.settings',
  body: object({ dual_control: bool('Changes in production take two people') }),
  data: resultOrApproval(object({ dual_control: output.bool('As it is now') })),
});
