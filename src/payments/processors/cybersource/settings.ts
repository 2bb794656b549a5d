import type { Environment } from '../../../kernel/environment.ts';
import { oneOf, type SettingTable, text, url } from '../../settings.ts';
import { readRecipient } from './encryption.ts';

const HOSTS: Readonly<Record<Environment, string>> = {
  production: 'https://api.cybersource.com',
  sandbox: 'https://apitest.cybersource.com',
};

export const CYBERSOURCE_SETTINGS = {
  'base-url': url(`Where CyberSource answers; ${HOSTS.production}, in the sandbox ${HOSTS.sandbox}, when not set`, {}),
  'merchant-id': text('The merchant id of the transactions', /^[A-Za-z0-9_.-]{1,64}$/, '1 to 64 of A-Z a-z 0-9 _ . -', {
    required: true,
  }),
  'key-id': text('The id of the REST key', /^[A-Za-z0-9_-]{1,64}$/, '1 to 64 of A-Z a-z 0-9 _ -', { required: true }),
  'shared-secret': text(
    'The shared secret of the REST key',
    /^(?:[A-Za-z0-9+/]{4}){4,128}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
    'base64 as CyberSource shows it, of 12 bytes at least',
    { required: true, secret: true },
  ),
  auth: oneOf('How requests are signed', ['jwt', 'http-signature'], { fallback: 'jwt' }),
  'mle-certificate': {
    about: 'The certificate for message-level encryption; needs auth=jwt',
    expected: 'base64 of the DER of a certificate for RSA, on one line, whose subject has a serialNumber',
    accepts: (value) => readRecipient(value) !== undefined,
  },
  'soft-decline': oneOf(
    'What becomes of an authorization that the issuer approved and CyberSource marked for its AVS or card code result',
    ['reverse', 'accept'],
    { fallback: 'reverse' },
  ),
} satisfies SettingTable;

/** Without a slash at the end. */
export const baseUrl = (setting: string | undefined, environment: Environment): string =>
  (setting ?? HOSTS[environment]).replace(/\/+$/, '');
