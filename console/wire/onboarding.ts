import { STATUSES } from '../../src/accounts/account.ts';
import { object, optional, output, plainText } from '../../src/http/fields.ts';
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
  environment: output.oneOf(ENVIRONMENTS, 'Environment'),
  processor: output.text('Processor'),
  note: output.text('Note of the merchant'),
  status: output.oneOf(['requested', 'approved', 'declined', 'withdrawn'] as const, 'Status'),
  decision_note: output.text('Note of the operator'),
  requested_by: output.text('Name of the requester'),
  decided_by: output.nullableText('Name of the user who decided'),
  created_at: output.time('Time of the request'),
  decided_at: output.nullableTime('Time of the decision'),
});

export const showOnboarding = define({
  method: 'GET',
  path: '/api/accounts/:account/onboarding',
  access: 'onboarding:read',
  data: object({
    account: object({
      id: output.text('Id'),
      name: output.text('Name'),
      status: output.oneOf(STATUSES, 'Status'),
      created_at: output.time('Time of creation'),
    }),
    steps: output.list(
      object({
        step: output.oneOf(STEPS, 'In the order of the interface'),
        state: output.oneOf(['done', 'waiting', 'open'] as const, 'waiting: another user has to act'),
        at: output.nullableTime('Time of completion, where it is known'),
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
        environment: output.oneOf(ENVIRONMENTS, 'Environment'),
        enabled: output.bool('Payments are enabled'),
        processor: output.nullableText('Processor'),
      }),
      'Both environments',
    ),
    requests: output.list(request, 'Requests for activation, newest first'),
    processors: output.list(
      object({ name: output.text('Name'), is_simulator: output.bool('Moves no money') }),
      'Processors of the service',
    ),
  }),
});

/** Requests payments in one environment or in both: all of it, or nothing. */
export const requestActivation = define({
  method: 'POST',
  path: '/api/accounts/:account/activation-requests',
  access: 'activation:request',
  stepUp: true,
  body: object({
    sandbox: optional(plainText(LIMITS.processorNameCharacters, 'Processor in the sandbox; absent: not requested')),
    production: optional(plainText(LIMITS.processorNameCharacters, 'Processor in production; absent: not requested')),
    note: optional(plainText(LIMITS.noteCharacters, 'Note for the operator')),
  }),
  data: object({
    sandbox: output.nullableText('Id of the request; null: not requested'),
    production: output.nullableText('Id of the request; null: not requested'),
  }),
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
      object({ account: output.text('Id of the account'), account_name: output.text('Name of the account'), request }),
      'Pending first, then the newest',
    ),
  }),
});
