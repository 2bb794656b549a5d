import { STATUSES } from '../../src/accounts/account.ts';
import { object, oneOf, optional, output, plainText } from '../../src/http/fields.ts';
import { ENVIRONMENTS } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { define, done } from './definition.ts';

/** Onboarding, from an account to live payments (interface: What the service does, 6). */

export const STEPS = [
  'account_configured',
  'sandbox_key',
  'production_key',
  'activation_requested',
  'sandbox_tested',
  'live',
] as const;

const request = object({
  id: output.text('Id'),
  environment: output.oneOf(ENVIRONMENTS, 'Where'),
  processor: output.text('Which processor'),
  note: output.text('What the merchant wrote'),
  status: output.oneOf(['requested', 'approved', 'declined', 'withdrawn'] as const, 'How far it is'),
  decision_note: output.text('What the operator wrote'),
  requested_by: output.text('Name of who asked'),
  decided_by: output.nullableText('Name of who decided'),
  created_at: output.time('When it was asked'),
  decided_at: output.nullableTime('When it was decided'),
});

export const showOnboarding = define({
  method: 'GET',
  path: '/api/accounts/:account/onboarding',
  access: 'onboarding:read',
  data: object({
    account: object({
      id: output.text('Id'),
      name: output.text('Name'),
      status: output.oneOf(STATUSES, 'How far it is'),
      created_at: output.time('When it was made'),
    }),
    steps: output.list(
      object({
        step: output.oneOf(STEPS, 'In the order of the interface'),
        state: output.oneOf(['done', 'waiting', 'open'] as const, 'waiting: another user has to act'),
        at: output.nullableTime('When it was done, where that is known'),
      }),
      'In order',
    ),
    /** Calls made in the sandbox, for the step sandbox_tested. */
    tried: object({
      call: output.bool('Any call with a sandbox key'),
      token: output.bool('A token'),
      capture: output.bool('A capture'),
      payment: output.bool('A payment'),
    }),
    payments: output.list(
      object({
        environment: output.oneOf(ENVIRONMENTS, 'Where'),
        enabled: output.bool('Payments are enabled'),
        processor: output.nullableText('By which processor'),
      }),
      'Both environments',
    ),
    requests: output.list(request, 'Requests for activation, newest first'),
    processors: output.list(
      object({ name: output.text('Name'), is_simulator: output.bool('Moves no money') }),
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
    environment: oneOf(ENVIRONMENTS, 'Where'),
    processor: plainText(LIMITS.processorNameCharacters, 'Which processor'),
    note: optional(plainText(LIMITS.noteCharacters, 'Anything the operator should know')),
  }),
  data: object({ id: output.text('Id') }),
});

export const withdrawActivationRequest = define({
  method: 'DELETE',
  path: '/api/accounts/:account/activation-requests/:id',
  access: 'activation:request',
  allowedWhileSuspended: true,
  data: object({ done }),
});

export const listActivationRequests = define({
  method: 'GET',
  path: '/api/operator/activation-requests',
  access: 'operate',
  data: object({
    requests: output.list(
      object({ account: output.text('Id of the account'), account_name: output.text('Its name'), request }),
      'Open ones first, then the newest',
    ),
  }),
});
