import { object, optional, plainText, reference, reply } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { define } from './definition.ts';

/** The audit log. */

const text = (what: string) => optional(plainText(LIMITS.auditFilterCharacters, what));

const filter = {
  action: text('Action, or its beginning, as key.'),
  actor: text('Id or name of who acted'),
  target: text('Id of a record'),
  outcome: text('success, or why not'),
  environment: text('production, sandbox, or none for what belongs to neither'),
  from: text('ISO 8601, from then on'),
  to: text('ISO 8601, before'),
  cursor: optional(reference('Where the page before ended')),
};

const page = object({
  records: reply.list(
    object({
      lane: reply.integer('Chain'),
      sequence: reply.integer('Number in the chain'),
      at: reply.time('When'),
      environment: reply.text('Environment; empty without one'),
      action: reply.text('What was done'),
      outcome: reply.text('success, or why not'),
      actor_type: reply.text('key, person, operator, service or unknown'),
      actor_id: reply.nullableText('Id'),
      actor_name: reply.nullableText('Name then'),
      actor_source: reply.nullableText('How the name of an operator of a command is known: setting or os-user'),
      address: reply.nullableText('From where'),
      request_id: reply.nullableText('Request'),
      targets: reply.texts('Records concerned'),
      detail: reply.list(object({ name: reply.text('What'), value: reply.text('Value') }), 'More'),
      hash: reply.text('Of the chain here'),
    }),
    'Newest first',
  ),
  next: reply.nullableText('Where to look on; null at the end'),
  looked_back_to: reply.nullableTime('How far the search has looked; null when it reached the end'),
});

const verification = object({
  ok: reply.truth('Every record is in order'),
  records: reply.integer('Records found in order'),
  fault: reply.nullableText('Where the first fault lies'),
});

/** What is looked for may be a card number by mistake, so it stands in no address. */
export const listAudit = define({
  method: 'POST',
  path: '/api/accounts/:account/audit/search',
  access: 'audit:read',
  evenSuspended: true,
  body: object(filter),
  data: page,
});

export const verifyAudit = define({
  method: 'POST',
  path: '/api/accounts/:account/audit/verify',
  access: 'audit:read',
  evenSuspended: true,
  data: verification,
});

/** Answers lines of JSON, as `cardvault audit export` prints them. */
export const exportAudit = define({
  method: 'GET',
  path: '/api/accounts/:account/audit/export',
  access: 'audit:read',
  data: reply.text('application/x-ndjson'),
});

/** account absent: records of no account. */
export const listAuditOfService = define({
  method: 'POST',
  path: '/api/operator/audit/search',
  access: 'operate',
  body: object({ ...filter, account: text('Id of an account; absent: records of no account') }),
  data: page,
});

export const verifyAuditOfService = define({
  method: 'POST',
  path: '/api/operator/audit/verify',
  access: 'operate',
  data: verification,
});

/** Of everything, or of one account. */
export const exportAuditOfService = define({
  method: 'GET',
  path: '/api/operator/audit/export',
  access: 'operate',
  query: object({ account: text('Id of an account; absent: everything') }),
  data: reply.text('application/x-ndjson'),
});
