import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listAlerts } from '../../../../wire/alerts.ts';

export type ListedAlert = ValueOf<typeof listAlerts.data>['alerts'][number];

/** Returns the page where the cause is dealt with. */
export function toAddress({ account, environment, kind, subject }: ListedAlert): string {
  const base = account === '' ? '/operator' : `/a/${account}`;
  const inEnvironment = `${base}/${environment ?? 'production'}`;
  switch (kind) {
    case 'unknown-outcomes':
      return account === '' ? `${base}/processors` : `${inEnvironment}/payments?in_doubt=yes`;
    case 'key-expires':
      return `${inEnvironment}/keys?key=${encodeURIComponent(subject)}`;
    case 'keys-changed':
      return `${inEnvironment}/keys`;
    case 'requests-refused':
      return `${inEnvironment}/requests?status=errors`;
    case 'certificate-expires':
    case 'processor-key-expires':
      return `${inEnvironment}/proxy`;
    case 'approvals-wait':
      return `${base}/approvals`;
    case 'settings-changed':
      return `${base}/audit?action=${subject}`;
    case 'tokens-end':
      return `${base}/audit?action=retention.announced`;
    case 'activations-wait':
      return `${base}/requests`;
    case 'tls-certificate-expires':
    case 'rows-altered':
    case 'audit-log-not-shipped':
      return `${base}/health`;
    case 'sign-ins-refused':
      return `${base}/audit?action=person.sign-in-refused`;
    case 'data-exported':
      return `${base}/audit?action=${subject}`;
    case 'rotation-due':
      return `${base}/keyring`;
    default:
      return `${base}/audit`;
  }
}
