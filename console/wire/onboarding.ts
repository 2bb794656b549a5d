import { STATUSES } from '../../src/accounts/account.ts';
import { choice, object, optional, plainText, reply } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { define, done } from './definition.ts';

/** From an account to live payments (interface: What the service does, 6). */

export const STEPS = [
  'account_configured',
  'sandbox_key',
  'production_key',
  'activation_requested',
  'sandbox_tested',
  'live',
] as const;

const request = object({
  id: reply.text('Id'),
  environment: reply.word(ENVIRONMENTS, 'Where'),
  processor: reply.text('Which processor'),
  note: reply.text('What the merchant wrote'),
  status: reply.word(['requested', 'approved', 'declined', 'withdrawn'] as const, 'How far it is'),
  answer: reply.text('What the operator wrote'),
  requested_by: reply.text('Name of who asked'),
  decided_by: reply.nullableText('Name of who decided'),
  created_at: reply.time('When it was asked'),
  decided_at: reply.nullableTime('When it was decided'),
});

export const showOnboarding = define({
  method: 'GET',
  path: '/api/accounts/:account/onboarding',
  access: 'onboarding:read',
  data: object({
    account: object({
      id: reply.text('Id'),
      name: reply.text('Name'),
      status: reply.word(STATUSES, 'How far it is'),
      created_at: reply.time('When it was made'),
    }),
    steps: reply.list(
      object({
        step: reply.word(STEPS, 'In the order of the interface'),
        state: reply.word(['done', 'waiting', 'open'] as const, 'waiting: somebody else has to act'),
        at: reply.nullableTime('When it was done, where that is known'),
      }),
      'In order',
    ),
    /** What has been tried in the sandbox, for the step sandbox_tested. */
    tried: object({
      call: reply.truth('Any call with a sandbox key'),
      token: reply.truth('A token'),
      capture: reply.truth('A capture'),
      payment: reply.truth('A payment'),
    }),
    payments: reply.list(
      object({
        environment: reply.word(ENVIRONMENTS, 'Where'),
        enabled: reply.truth('Payments are enabled'),
        processor: reply.nullableText('By which processor'),
      }),
      'Both environments',
    ),
    requests: reply.list(request, 'Requests for activation, newest first'),
    processors: reply.list(
      object({ name: reply.text('Name'), is_simulator: reply.truth('Moves no money') }),
      'To choose from',
    ),
  }),
});

export const requestActivation = define({
  method: 'POST',
  path: '/api/accounts/:account/activation-requests',
  access: 'activation:request',
  stepUp: true,
  body: object({
    environment: choice(ENVIRONMENTS, 'Where'),
    processor: plainText(LIMITS.processorNameCharacters, 'Which processor'),
    note: optional(plainText(LIMITS.noteCharacters, 'Anything the operator should know')),
  }),
  data: object({ id: reply.text('Id') }),
});

export const withdrawActivationRequest = define({
  method: 'DELETE',
  path: '/api/accounts/:account/activation-requests/:id',
  access: 'activation:request',
  evenSuspended: true,
  data: object({ done }),
});

export const listActivationRequests = define({
  method: 'GET',
  path: '/api/operator/activation-requests',
  access: 'operate',
  data: object({
    requests: reply.list(
      object({ account: reply.text('Id of the account'), account_name: reply.text('Its name'), request }),
      'Open ones first, then the newest',
    ),
  }),
});
