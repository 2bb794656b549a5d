import { STATUSES } from '../../src/accounts/account.ts';
import { list, object, optional, plainText, reply, truth } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { approvalOr } from './approvals.ts';
import { define, done, orNull } from './definition.ts';

/** What operators look after. They see no token, capture or payment of an account beyond what is in doubt. */

const setting = object({
  name: reply.text('Name'),
  about: reply.text('What it decides'),
  value: reply.nullableText('As set; null: not set, or secret'),
  is_set: reply.truth('A value is set'),
  fallback: reply.nullableText('In force when not set'),
  expected: reply.text('What it can be'),
  is_required: reply.truth('Nothing works without it'),
  is_secret: reply.truth('Never shown'),
});

const payments = object({
  environment: reply.word(ENVIRONMENTS, 'Where'),
  enabled: reply.truth('Payments are enabled'),
  processor: reply.nullableText('By which processor'),
  is_altered: reply.truth(
    'What was enabled was changed in the database itself: no payment is taken until it is enabled again',
  ),
  settings: reply.list(setting, 'Of the enabled processor'),
});

const account = {
  id: reply.text('Id'),
  name: reply.text('Name'),
  status: reply.word(STATUSES, 'How far it is'),
  is_altered: reply.truth(
    'Its row was changed in the database itself: it counts as suspended, and its name is not certain',
  ),
  created_at: reply.time('When it was made'),
  people: reply.integer('People who belong to it'),
  sandbox_keys: reply.integer('Keys that work in the sandbox'),
  production_keys: reply.integer('Keys that work in production'),
  open_requests: reply.integer('Requests for activation that wait'),
  sandbox_processor: reply.nullableText('Null: payments are not enabled'),
  production_processor: reply.nullableText('Null: payments are not enabled'),
};

export const listAccounts = define({
  method: 'GET',
  path: '/api/operator/accounts',
  access: 'operate',
  data: object({ accounts: reply.list(object(account), 'Newest first') }),
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
    id: reply.text('Id'),
    invitation: orNull(object({ url: reply.text('Shown this one time'), expires_at: reply.time('When it ends') })),
  }),
});

export const showAccount = define({
  method: 'GET',
  path: '/api/operator/accounts/:id',
  access: 'operate',
  data: object({ account: object(account), payments: reply.list(payments, 'Both environments') }),
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

const given = {
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
  force: optional(truth('Take the simulator in production')),
};

/** Merged into what was set, as `cardvault payments enable` does. */
export const enablePayments = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/payments/:where',
  access: 'operate',
  stepUp: true,
  longBody: true,
  body: object(given),
  data: approvalOr(object({ payments })),
});

export const disablePayments = define({
  method: 'DELETE',
  path: '/api/operator/accounts/:id/payments/:where',
  access: 'operate',
  stepUp: true,
  data: approvalOr(object({ done })),
});

/** Enables payments and answers the request. */
export const approveActivation = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/activation-requests/:request/approve',
  access: 'operate',
  stepUp: true,
  longBody: true,
  body: object({ ...given, answer: optional(plainText(LIMITS.noteCharacters, 'What the merchant should know')) }),
  data: approvalOr(object({ done })),
});

export const declineActivation = define({
  method: 'POST',
  path: '/api/operator/accounts/:id/activation-requests/:request/decline',
  access: 'operate',
  body: object({ answer: plainText(LIMITS.noteCharacters, 'Why') }),
  data: object({ done }),
});

export const listProcessors = define({
  method: 'GET',
  path: '/api/operator/processors',
  access: 'operate',
  data: object({
    processors: reply.list(
      object({
        name: reply.text('Name'),
        is_simulator: reply.truth('Moves no money'),
        settings: reply.list(setting, 'All there are; values are null'),
        sandbox_accounts: reply.integer('Accounts that use it in the sandbox'),
        production_accounts: reply.integer('Accounts that use it in production'),
      }),
      'All there are',
    ),
    doubtful: reply.list(
      object({
        account: reply.text('Id of the account'),
        account_name: reply.text('Its name'),
        environment: reply.word(ENVIRONMENTS, 'Where'),
        id: reply.text('transaction_id of the payment'),
        processor: reply.text('Processor'),
        operation: reply.nullableText('transaction_id that is in doubt'),
        status: reply.text('Status'),
        since: reply.time('In doubt since'),
        problem: reply.nullableText('Why nobody can say'),
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
    keys: reply.list(
      object({
        account: reply.text('Id of the account; empty: of a whole environment'),
        environment: reply.text('production, sandbox or service'),
        purpose: reply.text('What it is for'),
        versions: reply.integer('Versions so far'),
        newest_at: reply.time('When the newest was made'),
        used: reply.integer('Seals set aside of the newest'),
        limit: reply.integer('At which the next version takes over'),
      }),
      'Every key that wraps or seals',
    ),
  }),
});

export const showHealth = define({
  method: 'GET',
  path: '/api/operator/health',
  access: 'operate',
  data: object({
    ready: reply.truth('The database reads and writes'),
    version: reply.text('Version of the service'),
    node: reply.text('Version of Node'),
    database: reply.text('sqlite or postgres'),
    schema: reply.integer('Version of the schema'),
    started_at: reply.time('When this process started'),
    now: reply.time("The service's time"),
    waiting_writes: reply.integer('Writes that wait for the disk'),
    memory_mib: reply.integer('Of this process'),
    doubtful_payments: reply.integer('Payments whose outcome is not known'),
    certificate_expires_at: reply.nullableTime('Of the listeners'),
    proxy_certificates: reply.list(
      object({
        account: reply.text('Id of the account'),
        account_name: reply.text('Its name'),
        environment: reply.word(ENVIRONMENTS, 'Where'),
        which: reply.text('merchant or processor'),
        expires_at: reply.time('When it ends'),
      }),
      'The next to end first',
    ),
    checks: reply.list(
      object({
        finding: reply.text('What was looked at and how it was found, as a word'),
        state: reply.word(['good', 'warning', 'bad'] as const, 'How it is'),
        count: reply.integer('How many it is about; 0 where it counts nothing'),
        limit: reply.integer('As many as there can be; 0 where there is no limit'),
        ends_at: reply.nullableTime('When what it is about ends'),
        text: reply.text('In English, for pages that do not know the word'),
      }),
      'In order',
    ),
  }),
});
