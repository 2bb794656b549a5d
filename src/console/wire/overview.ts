import { integer, object, optional, reply } from '../../http/fields.ts';
import { define, orNull } from './definition.ts';

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
    /** Of the time asked for. */
    period: object({
      tokens: reply.integer('Tokens made'),
      captures: reply.integer('Captures made'),
      payments: reply.integer('Payments begun'),
      approved: reply.integer('Approved'),
      not_approved: reply.integer('Declined, or failed at the processor'),
      requests: reply.integer('Requests answered'),
      refused: reply.integer('Answered 4xx'),
      failed: reply.integer('Answered 5xx'),
      /** Upper bounds of the histogram's steps. */
      median_ms: orNull(reply.integer('Half were answered within')),
      p95_ms: orNull(reply.integer('95 of 100 were answered within')),
    }),
    points: reply.list(
      object({
        at: reply.time('Beginning of the hour or day'),
        tokens: reply.integer('Tokens made'),
        captures: reply.integer('Captures made'),
        approved: reply.integer('Payments approved'),
        not_approved: reply.integer('Payments not approved'),
        requests: reply.integer('Requests'),
        refused: reply.integer('4xx'),
        failed: reply.integer('5xx'),
        median_ms: orNull(reply.integer('Half within')),
        p95_ms: orNull(reply.integer('95 of 100 within')),
      }),
      'In order, none left out',
    ),
  }),
});
