import { anyString, object, optional, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { define } from './definition.ts';

/** The audit log. */

const filterText = (what: string) => optional(plainText(LIMITS.auditFilterCharacters, what));

const filter = {
  action: filterText('Action, or its beginning, as key.'),
  actor: filterText('Id or name of who acted'),
  target: filterText('Id of a record'),
  outcome: filterText('success, or why not'),
  environment: filterText('production, sandbox, or none for what belongs to neither'),
  from: filterText('ISO 8601, from then on'),
  to: filterText('ISO 8601, before'),
  cursor: optional(anyString('Where the page before ended')),
};

const page = object({
  records: output.list(
    object({
      lane: output.integer('Chain'),
      sequence: output.integer('Number in the chain'),
      at: output.time('When'),
      environment: output.text('Environment; empty without one'),
      action: output.text('What was done'),
      outcome: output.text('success, or why not'),
      actor_type: output.text('key, person, operator, service or unknown'),
      actor_id: output.nullableText('Id'),
      actor_name: output.nullableText('Name then'),
      actor_source: output.nullableText('How the name of an operator of a command is known: setting or os-user'),
      address: output.nullableText('From where'),
      request_id: output.nullableText('Request'),
      targets: output.texts('Records concerned'),
      detail: output.list(object({ name: output.text('What'), value: output.text('Value') }), 'More'),
      hash: output.text('Of the chain here'),
    }),
    'Newest first',
  ),
  next: output.nullableText('Where to look on; null at the end'),
  searched_back_to: output.nullableTime('How far the search has looked; null when it reached the end'),
});

const verification = object({
  ok: output.bool('Every record is in order'),
  records: output.integer('Records found in order'),
  fault: output.nullableExplanation('What the first fault is, and where it lies'),
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
