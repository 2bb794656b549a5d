import { LIMITS } from '../../kernel/limits.ts';
import { defineEndpoint } from '../endpoint.ts';
import { anyObject, list, object, output } from '../fields.ts';
import { PLACEHOLDERS, PROXY_HEADERS, type ProxyCall, toPayload } from './proxy-parameters.ts';

/**
 * The keys that the interface lists (Proxy JOSE request body); other keys may be anything and are not named in
 * failures.
 */
const NAMED_KEYS: ReadonlySet<string> = new Set([
  'uniqueCode',
  'terminalId',
  'purchaseAmount',
  'ivaTax',
  'currencyCode',
  'cardData',
  'cardNumber',
  'cardExpireMonth',
  'cardExpireYear',
  'cvv',
  'brandId',
  'cardAccountTypeId',
  'installmentsNumber',
  'ipAddress',
  'references',
  'referenceKey',
  'referenceDescription',
  'iacTax',
  'merchantNameAggregate',
  'mcc',
  'services',
  'cofTransaction',
  'recurringTransaction',
  'credentialOnFile',
]);

async function joseResponse(call: ProxyCall) {
  const { value, signature } = await call.services.proxy.jose(call.transaction, toPayload(call), NAMED_KEYS);
  return { value, encryption: signature, signed: true };
}

/** POST /proxy/jose (interface: Proxy). */
export const proxyJose = defineEndpoint({
  method: 'POST',
  path: '/proxy/jose',
  parameters: PROXY_HEADERS,
  family: 'proxy',
  tag: 'Proxy',
  operationId: 'proxyJose',
  permission: 'proxy:use',
  summary: 'Secure a payload with JOSE',
  description: `Replaces the placeholders in a JSON payload with card data, signs it with the merchant's key and encrypts it for the processor. ${PLACEHOLDERS}`,
  body: object(
    {
      cardData: { ...anyObject('Card data, most of it placeholders'), optional: true },
      references: {
        ...list(anyObject('A reference'), { min: 0, max: LIMITS.bodyBytes }, 'References of the purchase'),
        optional: true,
      },
    },
    'Any members; these two have their form.',
  ),
  data: object({
    value: output.text('The encrypted payload: JWE in compact form, for the processor'),
    encryption: output.text('JWS in compact form by the merchant over `value`'),
    signed: output.bool('The payload is signed'),
  }),
  failures: ['invalid_placeholder', 'unknown_token', 'unknown_capture', 'proxy_not_configured'],
  example: {
    body: {
      uniqueCode: 'A-1001',
      terminalId: '00012345',
      purchaseAmount: 12500,
      currencyCode: 'COP',
      cardData: {
        cardNumber: '{{4111118372951111:detokenize | extract:card}}',
        cardExpireMonth: '{{4111118372951111:detokenize | extract:expiration | date:MM}}',
        cardExpireYear: '{{4111118372951111:detokenize | extract:expiration | date:YY}}',
        cvv: null,
        brandId: 'VISA',
      },
      installmentsNumber: 1,
    },
    data: { value: 'eyJhbGciOiJSU0EtT0FFUC0yNTYi…', encryption: 'eyJhbGciOiJSUzI1NiIs…', signed: true },
  },
  run: joseResponse,
});
