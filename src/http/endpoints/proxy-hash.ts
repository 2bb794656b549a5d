import { invalidField } from '../../kernel/failure.ts';
import { HASH_TYPES, type HashType } from '../../proxy/payload-proxy.ts';
import { defineEndpoint } from '../endpoint.ts';
import { object, output } from '../fields.ts';
import { PLACEHOLDERS, PROXY_HEADERS, type ProxyCall, toPayload } from './proxy-parameters.ts';

async function hashResponse(call: ProxyCall) {
  const hashType = parseHashType(call.query);
  return { hashValue: await call.services.proxy.hash(call.transaction, toPayload(call), hashType), hashType };
}

/** POST /proxy/hash/?type= (interface: Proxy). */
export const proxyHash = defineEndpoint({
  method: 'POST',
  path: '/proxy/hash',
  parameters: {
    type: { in: 'query', description: 'The algorithm', required: true, schema: { type: 'string', enum: HASH_TYPES } },
    ...PROXY_HEADERS,
  },
  family: 'proxy',
  tag: 'Proxy',
  operationId: 'proxyHash',
  permission: 'proxy:use',
  summary: 'Hash a payload',
  description: `Replaces the placeholders anywhere in a text, escaped as in a JSON string, and returns the digest of the resulting bytes. ${PLACEHOLDERS}`,
  text: { media: 'any', description: 'Text in UTF-8 of any form; may be empty.' },
  data: object({
    hashValue: output.text('Base64 of the digest'),
    hashType: output.oneOf(HASH_TYPES, 'The algorithm'),
  }),
  failures: ['invalid_field', 'invalid_placeholder', 'unknown_token', 'unknown_capture', 'proxy_not_configured'],
  example: {
    query: 'type=SHA256',
    body: '{"chd":{"holder":"{{4111118372951111:detokenize | extract:name}}","number":"{{4111118372951111:detokenize | extract:card}}"}}',
    data: { hashValue: '+N+rRbmf9BjOVjt9N96jvJh1w4CXBrrTWsPkdriagCU=', hashType: 'SHA256' },
  },
  run: hashResponse,
});

function parseHashType(query: string): HashType {
  const [given, ...more] = new URLSearchParams(query).getAll('type');
  const type = HASH_TYPES.find((each) => each === given);
  if (type === undefined || more.length > 0) throw invalidField('type', 'choiceOnce', { words: HASH_TYPES.join(', ') });
  return type;
}
