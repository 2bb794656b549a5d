import { OPERATOR_CHANGES } from '../../src/accounts/account.ts';
import { integer, object, optional, output } from '../../src/http/fields.ts';
import { define, orNull } from './definition.ts';

/** Usage within a period. */
const figures = {
  tokens: output.integer('Tokens created'),
  captures: output.integer('Captures created'),
  payments: output.integer('Payments started'),
  approved: output.integer('Payments approved'),
  not_approved: output.integer('Payments declined, or failed at the processor'),
  requests: output.integer('Requests'),
  refused: output.integer('Responses 4xx'),
  failed: output.integer('Responses 5xx'),
  /** Upper bound of the latency bucket; one more than LIMITS.longestTimeCountedMs for the unbounded bucket. */
  median_ms: orNull(output.integer('Median latency')),
  p95_ms: orNull(output.integer('95th percentile of the latency')),
};

/** Returns the usage of an account in one environment. */
export const showOverview = define({
  method: 'GET',
  path: '/api/accounts/:account/:environment/overview',
  access: 'overview:read',
  query: object({ days: optional(integer({ min: 1, max: 90 }, '1 gives hours, more give days; 7 when absent')) }),
  data: object({
    totals: object({
      tokens: output.integer('Tokens in the vault'),
      captures: output.integer('Active captures'),
      payments: output.integer('Payments'),
      in_doubt: output.integer('Payments whose outcome is not known'),
    }),
    /** The last change of each kind in the last 30 days. */
    operator_changes: output.list(
      object({
        action: output.oneOf(OPERATOR_CHANGES, 'What an operator changed, as the audit log calls it'),
        at: output.time('Time of the change'),
      }),
      'Newest first',
    ),
    /** The requested period. */
    period: object(figures),
    /** The previous period of the same length; both end with the same hour of the day. */
    before: object(figures),
    points: output.list(
      object({ at: output.time('Beginning of the hour or day'), ...figures }),
      'In the order of time, without gaps',
    ),
  }),
});
