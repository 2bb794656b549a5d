import { anyText, object, oneOf, optional, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { define, orNull } from './definition.ts';

/** The workbench: requests of signed-in users to the API, in the sandbox only. */

/** The endpoints of the workbench, by `operationId`. A test compares them with those of the API. */
export const OPERATIONS = {
  tokenizeCards: { method: 'POST', path: '/v1/tokenization/simple' },
  inspectToken: { method: 'GET', path: '/v1/tokens/:token/inspect' },
  deleteTokens: { method: 'DELETE', path: '/v1/tokens' },
  createCapture: { method: 'POST', path: '/transactions/requests' },
  tokenizeCapture: { method: 'POST', path: '/transactions/requests/:id/tokenize' },
  inspectCapture: { method: 'GET', path: '/transactions/requests/:id/inspect' },
  deleteCapture: { method: 'DELETE', path: '/transactions/requests/:id' },
  createPayment: { method: 'POST', path: '/v1/payments' },
  capturePayment: { method: 'POST', path: '/v1/payments/:id/capture' },
  refundPayment: { method: 'POST', path: '/v1/payments/:id/refund' },
  voidPayment: { method: 'POST', path: '/v1/payments/:id/void' },
  showPayment: { method: 'GET', path: '/v1/payments/transactions/:id' },
  proxyJose: { method: 'POST', path: '/proxy/jose' },
  proxyWssec: { method: 'POST', path: '/proxy/wssec' },
  proxyHash: { method: 'POST', path: '/proxy/hash' },
} as const;

export type Operation = keyof typeof OPERATIONS;

const OPERATION_NAMES = Object.keys(OPERATIONS) as Operation[];
export const HASH_TYPES = ['SHA256', 'SHA384', 'SHA512'] as const;

/** Runs in the sandbox only. An error of the endpoint is a result, not a failure. */
export const runInWorkbench = define({
  method: 'POST',
  path: '/api/accounts/:account/workbench',
  access: 'workbench:use',
  largeBody: true,
  body: object({
    operation: oneOf(OPERATION_NAMES, 'Endpoint'),
    parameter: optional(plainText(LIMITS.workbenchParameterCharacters, 'Value of the parameter in the path')),
    hash_type: optional(oneOf(HASH_TYPES, 'For proxyHash')),
    payload: optional(anyText(LIMITS.workbenchPayloadCharacters, 'Body of the request')),
  }),
  data: object({
    status: output.integer('Status of the response'),
    /** The body of the endpoint's response. */
    response: output.text('JSON text'),
    error: orNull(
      object({
        code: output.text('Code of the failure'),
        explanation: output.nullableExplanation('Line and column of the payload'),
        field: output.nullableText('Field of the failure'),
      }),
    ),
    duration_ms: output.integer('Duration'),
  }),
});
