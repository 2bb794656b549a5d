import { anyText, integer, list, object, optional, output, plainText } from '../../src/http/fields.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { resultOrApproval } from './approvals.ts';
import { define, done } from './definition.ts';

/** Keys, certificates and settings of the payload proxy. */

const keyTraits = {
  fingerprint: output.text('SHA-256 of the public key, hexadecimal'),
  bits: output.integer('Length'),
  /** Set for a pending key. */
  from: output.nullableTime('Start of its use; null: active'),
};

const keyView = object(keyTraits);

/** Only the public half of a private key leaves the vault. */
const privateKeyView = object({ ...keyTraits, public_key: output.text('Its public half, PEM') });

const certificateView = object({
  fingerprint: output.text('SHA-256, hexadecimal'),
  subject: output.text('Subject'),
  expires_at: output.time('Expiry'),
  pem: output.text('PEM'),
  from: output.nullableTime('Start of its use; null: active'),
});

const configuration = object({
  processor_public_keys: output.list(keyView, 'Active, then pending'),
  merchant_private_keys: output.list(privateKeyView, 'Active, then pending'),
  merchant_certificates: output.list(certificateView, 'Active, then pending'),
  settings: output.list(
    object({
      name: output.text('Name'),
      description: output.text('Description'),
      is_set: output.bool('A value is set'),
      /** Null when not set, or secret. */
      value: output.nullableText('As set'),
      default_value: output.nullableText('Default value'),
      expected: output.explanation('Accepted values'),
      choices: output.texts('Accepted words; empty for free text'),
      is_secret: output.bool('Never shown'),
    }),
    'All of them',
  ),
});

const path = '/api/accounts/:account/:environment/proxy';

export const showProxy = define({ method: 'GET', path, access: 'proxy:read', data: configuration });

const file = (what: string) => optional(anyText(LIMITS.keyFileBytes, what));

/** Absent members stay as they are. */
export const configureProxy = define({
  method: 'POST',
  path,
  access: 'proxy:write',
  stepUp: true,
  dualControl: 'proxy.configure',
  largeBody: true,
  body: object({
    processor_public_key: file('PEM, JWK or base64 of DER'),
    merchant_private_key: file('PEM, JWK or base64 of DER'),
    passphrase: file('Of the private key'),
    merchant_certificate: file('PEM or base64 of DER'),
    settings: optional(
      list(
        object({
          name: plainText(LIMITS.proxySettingCharacters, 'Name'),
          value: optional(plainText(LIMITS.proxySettingCharacters, 'Absent: removes the value')),
        }),
        { min: 0, max: 100 },
      ),
    ),
    overlap_minutes: optional(
      integer({ min: 0, max: LIMITS.overlapMinutes }, 'Overlap, during which the active value is used'),
    ),
  }),
  data: resultOrApproval(configuration),
});

export const removeProxy = define({
  method: 'DELETE',
  path,
  access: 'proxy:write',
  stepUp: true,
  dualControl: 'proxy.remove',
  data: resultOrApproval(object({ done })),
});
