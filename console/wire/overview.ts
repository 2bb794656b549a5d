import { OPERATOR_CHANGES } from '../../src/accounts/account.ts';
import { integer, object, optional, reply } from '../../src/http/fields.ts';
import { define, orNull } from './definition.ts';

/** What happened in some time. */
const figures = {
  tokens: reply.integer('Tokens made'),
  captures: reply.integer('Captures made'),
  payments: reply.integer('Payments begun'),
  approved: reply.integer('Payments approved'),
  not_approved: reply.integer('Payments declined, or failed at the processor'),
  requests: reply.integer('Requests answered'),
  refused: reply.integer('Answered 4xx'),
  failed: reply.integer('Answered 5xx'),
  /** Upper ends of the steps that are counted; one more than LIMITS.longestTimeCountedMs where the step has no end. */
  median_ms: orNull(reply.integer('Half were answered within')),
  p95_ms: orNull(reply.integer('95 of 100 were answered within')),
};

/** How an account does in one environment. */
export const showOverview = define({
  method: 'GET',
  path: '/api/accounts/:account/:environment/overview',
  access: 'overview:read',
  query: object({ days: optional(integer({ min: 1, max: 90 }, '1 gives hours, more give days; 7 when absent')) }),
  data: object({
    totals: object({
      tokens: reply.integer('Tokens in the vault'),
      captures: reply.integer('Captures alive'),
      payments: reply.integer('Payments ever'),
      doubtful: reply.integer('Payments whose outcome is not known'),
    }),
    /** The last change of each kind in the last 30 days. */
    operator_changes: reply.list(
      object({
        action: reply.word(OPERATOR_CHANGES, 'What an operator changed, as the audit log calls it'),
        at: reply.time('When it took effect'),
      }),
      'Newest first',
    ),
    /** Of the time asked for. */
    period: object(figures),
    /** Of the time before it, which is as long: the present hour is the last of both. */
    before: object(figures),
    points: reply.list(
      object({ at: reply.time('Beginning of the hour or day'), ...figures }),
      'In order, none left out',
    ),
  }),
});
