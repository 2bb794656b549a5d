import type { Environment } from '../../../kernel/environment.ts';
import type { ProcessorCall, ProcessorSettings } from '../../processor.ts';
import { oneOf, type SettingTable, text, url } from '../../settings.ts';

const WORD = /^[\x21-\x7e]{1,64}$/;

export const KOIN_SETTINGS = {
  'base-url': url('KOIN payments API; absent: that of the environment', {}),
  'tokenize-url': url('Where cards are exchanged for a secure token; absent: base-url, or that of the environment', {}),
  'private-key': text('Private key that KOIN issued', /^[\x21-\x7e]{1,512}$/, 'visible ASCII without blanks', {
    required: true,
    secret: true,
  }),
  account: text('Account number that KOIN gave', WORD, 'up to 64 visible ASCII characters', { required: true }),
  'store-code': text('Store code that KOIN gave', WORD, 'up to 64 visible ASCII characters', {}),
  'store-category': text('Merchant category code, sent with antifraud', /^[0-9]{4}$/, 'four digits', {}),
  'country-code': text(
    'Country of the payments; absent: that of the payer',
    /^[A-Z]{2}$/,
    'two capital letters (ISO 3166)',
    {},
  ),
  'notification-url': url('Public address of this service, for notifications; absent: none are asked for', {}),
  antifraud: oneOf("Payments go through KOIN's antifraud", ['true', 'false'], { fallback: 'false' }),
} satisfies SettingTable;

export const hasAntifraud = (settings: ProcessorSettings): boolean => settings['antifraud'] === 'true';

const HOSTS: Readonly<Record<Environment, { readonly payments: string; readonly tokenize: string }>> = {
  sandbox: { payments: 'https://api-sandbox.koin.com.br', tokenize: 'https://api-sandbox.koin.com.br' },
  production: { payments: 'https://api-payments.koin.com.br', tokenize: 'https://api-secure.koin.com.br' },
};

export type Api = keyof (typeof HOSTS)['sandbox'];

/** The address of a path, which begins with a slash and may hold a query. */
export function addressOf({ settings, tenant }: ProcessorCall, api: Api, path: string): URL {
  const own = api === 'tokenize' ? (settings['tokenize-url'] ?? settings['base-url']) : settings['base-url'];
  const base = own ?? HOSTS[tenant.environment][api];
  return new URL(`${base.replace(/\/+$/, '')}${path}`);
}
