import { STATUSES } from '../../src/accounts/account.ts';
import { bool, list, object, optional, output, plainText } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { resultOrApproval } from './approvals.ts';
import { define, done, orNull } from './definition.ts';

/** Calls of operators, who see no token, capture or payment of an account but payments in doubt. */

const setting = object({
  name: output.text('Name'),
  description: object({ en: output.text('What it decides, in English'), es: output.text('In Spanish') }),
  value: output.nullableText('As set; null: not set, or secret'),
  is_set: output.bool('A value is set'),
  default_value: output.nullableText('In force when not set'),
  expected: output.explanation('What it can be'),
  is_required: output.bool('Nothing works without it'),
  is_secret: output.bool('Never shown'),
});

const payments = object({
  environment: output.oneOf(ENVIRONMENTS, 'Where'),
  enabled: output.bool('Payments are enabled'),
  processor: output.nullableText('By which processor'),
  is_altered: output.bool(
    'What was enabled was changed in the database itself: no payment is taken until it is enabled again',
  ),
  settings: output.list(setting, 'Of the enabled processor'),
});

const account = {
  id: output.text('Id'),
  name: output.text('Name'),
  status: output.oneOf(STATUSES, 'How far it is'),
  is_altered: output.bool(
    'Its row was changed in the database itself: it counts as suspended, and its name is not certain',
  ),
  created_at: output.time('When it was made'),
  people: output.integer('People who belong to it'),
  sandbox_keys: output.integer('Keys that work in the sandbox'),
  production_keys: output.integer('Keys that work in production'),
  open_requests: output.integer('Requests for activation that wait'),
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
    owner_email: optional(plainText(LIMITS.emailCharacters, 'Who gets an invitation to own it')),
  }),
  data: object({
    id: output.text('Id'),
    invitation: orNull(object({ url: output.text('Shown this one time'), expires_at: output.time('When it ends') })),
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
  processor: plainText(LIMITS.processorNameCharacters, 'Which processor'),
  settings: optional(
    list(
      object({
        name: plainText(LIMITS.proxySettingCharacters, 'Name'),
        value: optional(plainText(LIMITS.processorSettingCharacters, 'Absent: no longer set')),
      }),
      { min: 0, max: 100 },
    ),
  ),
  force: optional(bool('Take the simulator in production')),
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
    decision_note: optional(plainText(LIMITS.noteCharacters, 'What the merchant should know')),
  }),
  data: resultOrApproval(object({ done })),
});

export const declineActivation = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/activation-requests/:request/decline',
  access: 'operate',
  body: object({ decision_note: plainText(LIMITS.noteCharacters, 'Why') }),
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
        settings: output.list(setting, 'All there are; values are null'),
        sandbox_accounts: output.integer('Accounts that use it in the sandbox'),
        production_accounts: output.integer('Accounts that use it in production'),
      }),
      'All there are',
    ),
    in_doubt: output.list(
      object({
        account: output.text('Id of the account'),
        account_name: output.text('Its name'),
        environment: output.oneOf(ENVIRONMENTS, 'Where'),
        id: output.text('transaction_id of the payment'),
        processor: output.text('Processor'),
        operation: output.nullableText('transaction_id that is in doubt'),
        status: output.text('Status'),
        since: output.time('In doubt since'),
        problem: output.nullableText('Why the outcome is unknown'),
      }),
      'Payments whose outcome is not known, the oldest first',
    ),
  }),
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
        purpose: output.text('What it is for'),
        versions: output.integer('Versions so far'),
        newest_at: output.time('When the newest was made'),
        used: output.integer('Seals set aside of the newest'),
        limit: output.integer('At which the next version takes over'),
      }),
      'Every key that wraps or seals',
    ),
  }),
});

/** Findings of the checks of health, as subject and result; the browser words them. */
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
    waiting_writes: output.integer('Writes that wait for the disk'),
    memory_mib: output.integer('Of this process'),
    in_doubt_payments: output.integer('Payments whose outcome is not known'),
    certificate_expires_at: output.nullableTime('Of the listeners'),
    proxy_certificates: output.list(
      object({
        account: output.text('Id of the account'),
        account_name: output.text('Its name'),
        environment: output.oneOf(ENVIRONMENTS, 'Where'),
        which: output.text('merchant or processor'),
        expires_at: output.time('When it ends'),
      }),
      'The next to end first',
    ),
    checks: output.list(
      object({
        finding: output.oneOf(FINDINGS, 'Subject and result of the check'),
        state: output.oneOf(['good', 'warning', 'bad'] as const, 'How it is'),
        count: output.integer('How many it is about; 0 where it counts nothing'),
        limit: output.integer('As many as there can be; 0 where there is no limit'),
        expires_at: output.nullableTime('When what it is about ends'),
      }),
      'In order',
    ),
  }),
});
