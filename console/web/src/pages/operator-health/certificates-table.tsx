import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Environment } from '../../../../../src/kernel/environment.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { ExpiryBadge } from '../../parts/expiry-badge.tsx';
import { Time } from '../../parts/time.tsx';
import type { Health } from './health.ts';

interface Certificate {
  readonly key: string;
  readonly what: string;
  readonly owner: string;
  readonly environment: Environment | undefined;
  readonly end: string;
}

const OWNERS = ['merchant', 'processor'] as const;
type CertificateOwner = (typeof OWNERS)[number];

const isOwner = (which: string): which is CertificateOwner => (OWNERS as readonly string[]).includes(which);

/** Lists the certificate of the listeners, then those of proxies. */
export function CertificatesTable({ health }: { readonly health: Health }) {
  const { t } = useTranslation('health');
  const { certificate_expires_at: end, proxy_certificates } = health;
  const listener: Certificate[] =
    end === null ? [] : [{ key: 'own', what: t('listeners'), owner: '–', environment: undefined, end }];
  const proxies = proxy_certificates.map(({ account, account_name, environment, which, expires_at }) => ({
    key: `${account}/${environment}/${which}/${expires_at}`,
    what: isOwner(which) ? t(`which.${which}`) : which,
    owner: account_name,
    environment,
    end: expires_at,
  }));
  const columns: readonly Column<Certificate>[] = [
    { name: 'what', header: t('columns.what'), cell: ({ what }) => what },
    { name: 'owner', header: t('columns.owner'), cell: ({ owner }) => owner },
    {
      name: 'environment',
      header: t('columns.environment'),
      visibleFrom: 'sm',
      cell: ({ environment }) => (environment === undefined ? '–' : <EnvironmentBadge environment={environment} />),
    },
    { name: 'expires', header: t('columns.expires'), cell: (each) => <Time value={each.end} isDay /> },
    { name: 'state', header: t('columns.state'), cell: (each) => <ExpiryBadge expiresAt={each.end} /> },
  ];
  return (
    <DataTable
      caption={t('certificates')}
      columns={columns}
      rows={[...listener, ...proxies]}
      rowKey={({ key }) => key}
      empty={
        <Text size="sm" c="dimmed">
          {t('noCertificates')}
        </Text>
      }
    />
  );
}
