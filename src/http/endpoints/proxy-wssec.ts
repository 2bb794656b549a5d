import { defineEndpoint } from '../endpoint.ts';
import { object, output } from '../fields.ts';
import { PLACEHOLDERS, PROXY_HEADERS, type ProxyCall, toPayload } from './proxy-parameters.ts';

const wssecResponse = async (call: ProxyCall) => ({
  xml: await call.services.proxy.wssec(call.transaction, toPayload(call)),
});

/** POST /proxy/wssec (interface: Proxy). */
export const proxyWssec = defineEndpoint({
  method: 'POST',
  path: '/proxy/wssec',
  parameters: PROXY_HEADERS,
  family: 'proxy',
  tag: 'Proxy',
  operationId: 'proxyWssec',
  permission: 'proxy:use',
  summary: 'Secure a payload with WS-Security',
  description: `Replaces the placeholders in an XML payload with card data and puts it, signed and encrypted, into the Body of a SOAP 1.1 envelope with WS-Security headers. Of a SOAP envelope the one element in its Body is taken. ${PLACEHOLDERS}`,
  text: {
    media: 'xml',
    description:
      'A well-formed XML document in UTF-8 without DOCTYPE and processing instructions, elements at most 100 deep.',
  },
  data: object({ xml: output.text('The SOAP envelope') }),
  failures: ['malformed_xml', 'invalid_placeholder', 'unknown_token', 'unknown_capture', 'proxy_not_configured'],
  example: {
    body: '<compra xmlns="http://www.example.com/compra"><numeroTarjeta>{{4111118372951111:detokenize | extract:card}}</numeroTarjeta></compra>',
    data: { xml: '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/">…</soapenv:Envelope>' },
  },
  run: wssecResponse,
});
