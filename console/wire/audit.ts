import { anyString, object, optional, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { define, recordCount, sortOrder } from './definition.ts';

/** The audit log. */

const filterText = (what: string) => optional(plainText(LIMITS.auditFilterCharacters, what));

const filter = {
  action: filterText('Action, or its beginning, as key.'),
  actor: filterText('Id or name of the actor'),
  target: filterText('Id of a record'),
  outcome: filterText('success, or the reason of the failure'),
  environment: filterText('production, sandbox, or none'),
  from: filterText('ISO 8601, from then on'),
  to: filterText('ISO 8601, before'),
  order: sortOrder,
  cursor: optional(anyString('Cursor of the previous page')),
};

const page = object({
  records: output.list(
    object({
      lane: output.integer('Chain'),
      sequence: output.integer('Number in the chain'),
      at: output.time('Time'),
      environment: output.text('Environment; empty without one'),
      action: output.text('Action'),
      outcome: output.text('success, or the reason of the failure'),
      actor_type: output.text('key, person, operator, service, buyer or unknown'),
      actor_id: output.nullableText('Id'),
      actor_name: output.nullableText('Name at that time'),
      actor_source: output.nullableText('How the name of an operator of a command is known: setting or os-user'),
      address: output.nullableText('Address of the client'),
      request_id: output.nullableText('Request'),
      targets: output.texts('Records concerned'),
      detail: output.list(object({ name: output.text('Name'), value: output.text('Value') }), 'Detail'),
      hash: output.text('Hash of the chain at this record'),
    }),
    'In the requested order',
  ),
  next: output.nullableText('Cursor of the next page; null at the end'),
  count: recordCount,
  searched_back_to: output.nullableTime('Time up to which the search has read in its order; null at the end'),
});

const verification = object({
  ok: output.bool('The log is intact'),
  records: output.integer('Intact records'),
  checkpoints: output.integer('Signed checkpoints that the log contains'),
  fault: output.nullableExplanation('First fault and its place'),
});

/** A search text may be a card number by mistake, so it is sent in the body and not in the URL. */
export const listAudit = define({
  method: 'POST',
  path: '/api/accounts/:account/audit/search',
  access: 'audit:read',
  allowedWhileSuspended: true,
  body: object(filter),
  data: page,
});

export const verifyAudit = define({
  method: 'POST',
  path: '/api/accounts/:account/audit/verify',
  access: 'audit:read',
  allowedWhileSuspended: true,
  data: verification,
});

/** Returns lines of JSON, as `cardvault audit export` prints them. */
export const exportAudit = define({
  method: 'GET',
  path: '/api/accounts/:account/audit/export',
  access: 'audit:read',
  data: output.text('application/x-ndjson'),
});

/** Without `account`: records of no account. */
export const listServiceAudit = define({
  method: 'POST',
  path: '/api/operator/audit/search',
  access: 'operate',
  body: object({ ...filter, account: filterText('Id of an account; absent: records of no account') }),
  data: page,
});

export const verifyServiceAudit = define({
  method: 'POST',
  path: '/api/operator/audit/verify',
  access: 'operate',
  data: verification,
});

/** Exports every record, or those of one account. */
export const exportServiceAudit = define({
  method: 'GET',
  path: '/api/operator/audit/export',
  access: 'operate',
  query: object({ account: filterText('Id of an account; absent: everything') }),
  data: output.text('application/x-ndjson'),
});
