import { STATUSES } from '../../src/accounts/account.ts';
import { bool, list, object, optional, output, plainText } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { STATUSES as PAYMENT_STATUSES } from '../../src/payments/transitions.ts';
import { resultOrApproval } from './approvals.ts';
import { define, done, orNull } from './definition.ts';
import { resolution } from './payments.ts';

/** Calls of operators, who see no token, capture or payment of an account but payments in doubt. */

const setting = object({
  name: output.text('Name'),
  description: object({ en: output.text('Description in English'), es: output.text('Description in Spanish') }),
  value: output.nullableText('Value; null: not set, or secret'),
  is_set: output.bool('A value is set'),
  default_value: output.nullableText('Default value'),
  expected: output.explanation('Accepted values'),
  is_required: output.bool('Payments need it'),
  is_secret: output.bool('Never shown'),
});

const payments = object({
  environment: output.oneOf(ENVIRONMENTS, 'Environment'),
  enabled: output.bool('Payments are enabled'),
  processor: output.nullableText('Processor'),
  is_altered: output.bool(
    'What was enabled was changed in the database itself: no payment is taken until it is enabled again',
  ),
  settings: output.list(setting, 'Settings of the enabled processor'),
});

const account = {
  id: output.text('Id'),
  name: output.text('Name'),
  status: output.oneOf(STATUSES, 'Status'),
  is_altered: output.bool(
    'Its row was changed in the database itself: it counts as suspended, and its name is not certain',
  ),
  created_at: output.time('Time of creation'),
  people: output.integer('Members'),
  sandbox_keys: output.integer('Active keys in the sandbox'),
  production_keys: output.integer('Active keys in production'),
  open_requests: output.integer('Pending requests for payments'),
  sandbox_processor: output.nullableText('Null: payments are not enabled'),
  production_processor: output.nullableText('Null: payments are not enabled'),
};

export const listAccounts = define({
  method: 'GET',
  path: '/api/operator/accounts',
  access: 'operate',
  data: object({ accounts: output.list(object(account), 'Newest first') }),
});

export const createAccount = define({
  method: 'POST',
  path: '/api/operator/accounts',
  access: 'operate',
  stepUp: true,
  body: object({
    name: plainText(LIMITS.accountNameCharacters, 'Name'),
    owner_email: optional(plainText(LIMITS.emailCharacters, 'Recipient of the invitation of the first owner')),
  }),
  data: object({
    id: output.text('Id'),
    invitation: orNull(object({ url: output.text('Shown once'), expires_at: output.time('Expiry') })),
  }),
});

export const showAccount = define({
  method: 'GET',
  path: '/api/operator/accounts/:id',
  access: 'operate',
  data: object({ account: object(account), payments: output.list(payments, 'Both environments') }),
});

export const suspendAccount = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/suspend',
  access: 'operate',
  stepUp: true,
  data: object({ done }),
});

/** Seals an altered account again: suspended, with dual control on, under this name. */
export const sealAccount = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/seal',
  access: 'operate',
  stepUp: true,
  body: object({ name: plainText(LIMITS.accountNameCharacters, 'Name') }),
  data: object({ done }),
});

export const resumeAccount = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/resume',
  access: 'operate',
  stepUp: true,
  data: object({ done }),
});

const enableFields = {
  processor: plainText(LIMITS.processorNameCharacters, 'Processor'),
  settings: optional(
    list(
      object({
        name: plainText(LIMITS.proxySettingCharacters, 'Name'),
        value: optional(plainText(LIMITS.processorSettingCharacters, 'Absent: removes the value')),
      }),
      { min: 0, max: 100 },
    ),
  ),
  force: optional(bool('Allow the simulator in production')),
};

/** Merges the settings into the configured ones, as `cardvault payments enable` does. */
export const enablePayments = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/payments/:where',
  access: 'operate',
  stepUp: true,
  largeBody: true,
  body: object(enableFields),
  data: resultOrApproval(object({ payments })),
});

export const disablePayments = define({
  method: 'DELETE',
  path: '/api/operator/accounts/:id/payments/:where',
  access: 'operate',
  stepUp: true,
  data: resultOrApproval(object({ done })),
});

/** Enables payments and approves the request. */
export const approveActivation = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/activation-requests/:request/approve',
  access: 'operate',
  stepUp: true,
  largeBody: true,
  body: object({
    ...enableFields,
    decision_note: optional(plainText(LIMITS.noteCharacters, 'Note for the merchant')),
  }),
  data: resultOrApproval(object({ done })),
});

export const declineActivation = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/activation-requests/:request/decline',
  access: 'operate',
  body: object({ decision_note: plainText(LIMITS.noteCharacters, 'Reason') }),
  data: object({ done }),
});

export const listProcessors = define({
  method: 'GET',
  path: '/api/operator/processors',
  access: 'operate',
  data: object({
    processors: output.list(
      object({
        name: output.text('Name'),
        is_simulator: output.bool('Moves no money'),
        settings: output.list(setting, 'All settings; values are null'),
        sandbox_accounts: output.integer('Accounts that use it in the sandbox'),
        production_accounts: output.integer('Accounts that use it in production'),
      }),
      'All of them',
    ),
    in_doubt: output.list(
      object({
        account: output.text('Id of the account'),
        account_name: output.text('Name of the account'),
        environment: output.oneOf(ENVIRONMENTS, 'Environment'),
        id: output.text('transaction_id of the payment'),
        processor: output.text('Processor'),
        operation: output.nullableText('transaction_id that is in doubt'),
        status: output.text('Status'),
        since: output.time('In doubt since'),
        problem: output.nullableText('Why the outcome is unknown'),
      }),
      'Payments whose outcome is not known, the oldest first',
    ),
    has_more_in_doubt: output.bool('There are more of them than this list has; the export has all'),
  }),
});

export const checkPaymentAsOperator = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/payments/:where/:payment/check',
  access: 'operate',
  data: object({
    is_in_doubt: output.bool('The outcome is still unknown'),
    status: output.oneOf(PAYMENT_STATUSES, 'Status of the payment'),
    problem: output.nullableText('Why the last inquiry had no result'),
  }),
});

export const resolvePaymentAsOperator = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/payments/:where/:payment/resolve',
  access: 'operate',
  stepUp: true,
  body: resolution,
  data: resultOrApproval(object({ done })),
});

export const showKeyring = define({
  method: 'GET',
  path: '/api/operator/keyring',
  access: 'operate',
  data: object({
    keys: output.list(
      object({
        account: output.text('Id of the account; empty: of a whole environment'),
        environment: output.text('production, sandbox or service'),
        purpose: output.text('Purpose'),
        versions: output.integer('Number of versions'),
        newest_at: output.time('Time of creation of the newest version'),
        used: output.integer('Reserved seals of the newest version'),
        limit: output.integer('Seals after which the next version is used'),
      }),
      'Every key that wraps or seals',
    ),
  }),
});

/** Findings of the checks of health, as subject and result; the browser has their texts. */
export const FINDINGS = [
  'database-works',
  'database-fails',
  'log-sealed',
  'log-broken',
  'log-unreadable',
  'writes-wait',
  'certificate-ends',
  'certificate-ended',
  'certificate-unknown',
  'proxies-none',
  'proxies-good',
  'proxies-near',
  'proxies-ended',
  'payments-known',
  'rows-sealed',
  'rows-altered',
  'payments-in-doubt',
  'users-active',
  'users-inactive',
  'passwords-accepted',
  'passwords-blocked',
  'time-trusted',
  'time-untrusted',
  'custody-good',
  'custody-exposed',
  'dumps-off',
  'dumps-on',
] as const;

export const showHealth = define({
  method: 'GET',
  path: '/api/operator/health',
  access: 'operate',
  data: object({
    ready: output.bool('The database reads and writes'),
    version: output.text('Version of the service'),
    node: output.text('Version of Node'),
    database: output.text('sqlite or postgres'),
    schema: output.integer('Version of the schema'),
    started_at: output.time('When this process started'),
    now: output.time("The service's time"),
    waiting_writes: output.integer('Queued writes'),
    memory_mib: output.integer('Memory of this process'),
    in_doubt_payments: output.integer('Payments whose outcome is not known'),
    certificate_expires_at: output.nullableTime('Expiry of the certificate of the listeners'),
    proxy_certificates: output.list(
      object({
        account: output.text('Id of the account'),
        account_name: output.text('Name of the account'),
        environment: output.oneOf(ENVIRONMENTS, 'Environment'),
        which: output.text('merchant or processor'),
        expires_at: output.time('Expiry'),
      }),
      'Earliest expiry first',
    ),
    checks: output.list(
      object({
        finding: output.oneOf(FINDINGS, 'Subject and result of the check'),
        state: output.oneOf(['good', 'warning', 'bad'] as const, 'Severity'),
        count: output.integer('Number of affected items; 0 where the finding counts nothing'),
        limit: output.integer('Limit of the count; 0 without a limit'),
        expires_at: output.nullableTime('Expiry of the affected item'),
      }),
      'In order',
    ),
  }),
});
