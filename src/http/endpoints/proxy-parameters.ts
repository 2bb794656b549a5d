import type { ApiKey } from '../../accounts/api-key.ts';
import { ENCRYPTION_TYPES, parseEncryption } from '../../placeholders/encryption.ts';
import type { Payload } from '../../proxy/payload-proxy.ts';
import type { ApiCall, Parameter, Services } from '../endpoint.ts';

const ENCRYPTION_HEADER = 'ft-encryption';

/** Headers of every proxy endpoint. */
export const PROXY_HEADERS: Readonly<Record<string, Parameter>> = {
  [ENCRYPTION_HEADER]: {
    in: 'header',
    description:
      'How values marked with `encrypt` are encrypted: a JSON object with `key` (RSA public key, PEM or base64 of DER; default: the processor’s key of the account), `type` (`RSA`: OAEP with SHA-256, `RSA-OAEP`: OAEP with SHA-1, `RSA-PKCS1`; default `RSA`) and `is_partial` (false: every replaced value; default true).',
    required: false,
    schema: {
      type: 'string',
      contentMediaType: 'application/json',
      contentSchema: {
        type: 'object',
        properties: {
          key: { type: 'string', description: 'RSA public key, PEM or base64 of DER' },
          type: { type: 'string', enum: ENCRYPTION_TYPES, description: 'The padding; default RSA' },
          is_partial: { type: 'boolean', description: 'False: every replaced value is encrypted; default true' },
        },
        additionalProperties: false,
      },
    },
  },
};

export const PLACEHOLDERS =
  'Placeholders are `{{ token : detokenize | extract:PART }}` for permanent tokens and `{{ id : transaction | extract:PART }}` for captures, with PART `card`, `expiration`, `name`, `token` or (captures only) `cvv`; `| date:FORMAT` after `extract:expiration` (`MM`, `YY`, `YYYY`, `MM/YY`, `MM/YYYY`, `YYYY/MM`, `YYYY-MM`), and `| encrypt` at the end. They need the permission `tokens:detokenize` or `captures:retrieve`. Everything that is not a placeholder stays byte for byte.';

/** The headers that endpoints of the proxy read. */
export interface ProxyCall extends Pick<ApiCall, 'transaction' | 'tenant' | 'query' | 'headers' | 'text'> {
  readonly services: Pick<Services, 'proxy'>;
  readonly key: Pick<ApiKey, 'permissions'>;
}

/** Throws `invalid_field` when the header is malformed. */
export const toPayload = ({ tenant, key, text, headers }: ProxyCall): Payload => ({
  reader: { tenant, permissions: key.permissions },
  text,
  encryption: parseEncryption(headers[ENCRYPTION_HEADER]),
});
