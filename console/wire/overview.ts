import { OPERATOR_CHANGES } from '../../src/accounts/account.ts';
import { integer, object, oneOf, optional, output, plainText } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { STATUSES } from '../../src/payments/transitions.ts';
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

const text = (what: string) => optional(plainText(LIMITS.timeZoneCharacters, what));

/** Days of the time zone. Without `from` and `to`, the last one is today. */
const periodQuery = {
  days: optional(integer({ min: 1, max: LIMITS.overviewDays }, 'Number of days; 7 when absent')),
  from: text('The first day, as 2027-01-31'),
  to: text('The last day; today when absent'),
  zone: text('Time zone of the IANA database, such as America/Bogota; UTC when absent'),
};

/** The period as it was counted. */
const periodOf = {
  from: output.time('The hour with which the first day begins'),
  to: output.time('The hour with which the last day ends'),
  first_day: output.text('The first day'),
  last_day: output.text('The last day'),
  zone: output.text('Time zone of the days'),
  step: output.oneOf(['hour', 'day', 'week'] as const, 'Length of the time of a point'),
  is_exact: output.bool('Days of the time zone begin with a full hour of UTC'),
};

/** Payments that began in the period and have a result, as they are now. Amounts are decimal texts. */
const payments = {
  currencies: output.list(
    object({
      currency: output.text('Currency'),
      approved: output.integer('Approved payments'),
      authorized: output.text('Authorized, whatever became of it'),
      collected: output.text('Collected'),
      refunded: output.text('Refunded'),
      net: output.text('Collected without what was refunded'),
    }),
    'The one with most approved payments first',
  ),
  reasons: output.list(
    object({
      status: output.oneOf(STATUSES, 'Status'),
      reason: output.text('Reason'),
      number: output.integer('Payments'),
    }),
    'Why payments were not approved, the most frequent reason first',
  ),
};

const series = {
  /** The previous period of the same length; both end with the same hour of the day. */
  before: object(figures),
  points: output.list(
    object({ at: output.time('Beginning of the hour, day or week'), ...figures }),
    'In the order of time, without gaps',
  ),
  ...payments,
};

/** Returns the usage of an account in one environment. */
export const showOverview = define({
  method: 'GET',
  path: '/api/accounts/:account/:environment/overview',
  access: 'overview:read',
  query: object(periodQuery),
  data: object({
    ...periodOf,
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
    ...series,
  }),
});

/** Returns the usage of all accounts in one environment. */
export const showServiceOverview = define({
  method: 'GET',
  path: '/api/operator/overview',
  access: 'operate',
  query: object({ ...periodQuery, environment: oneOf(ENVIRONMENTS, 'Environment') }),
  data: object({
    ...periodOf,
    in_doubt: output.integer('Payments whose outcome is not known'),
    period: object(figures),
    ...series,
  }),
});
