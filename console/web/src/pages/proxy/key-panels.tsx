import { Button, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { showProxy } from '../../../../wire/proxy.ts';
import { CopyButton } from '../../parts/copy.tsx';
import { Details } from '../../parts/details.tsx';
import { ExpiryBadge } from '../../parts/expiry-badge.tsx';
import { Fingerprint } from '../../parts/fingerprint.tsx';
import { Panel } from '../../parts/panel.tsx';
import { Badge } from '../../parts/status-badge.tsx';
import { Time } from '../../parts/time.tsx';
import { DownloadButton } from './download-button.tsx';
import type { KeyKind } from './upload-form.tsx';

export type Configuration = ValueOf<typeof showProxy.data>;
type Key = Configuration['processor_public_keys'][number];
type PrivateKey = Configuration['merchant_private_keys'][number];
type Certificate = Configuration['merchant_certificates'][number];

interface KeyPanelsProps {
  readonly configuration: Configuration;
  /** Undefined when the user has no permission. */
  readonly onUpload: ((kind: KeyKind) => void) | undefined;
}

/** Shows active and pending keys. */
export function KeyPanels({ configuration, onUpload }: KeyPanelsProps) {
  const { t } = useTranslation('proxy');
  const { processor_public_keys, merchant_private_keys, merchant_certificates } = configuration;
  const keys = (list: readonly Key[]) => list.map((key) => <KeyView key={key.fingerprint} {...key} />);
  const certificates = merchant_certificates.map((each) => <CertificateView key={each.fingerprint} {...each} />);
  return (
    <Stack gap="md">
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
        <KeyPanel kind="processor" none={t('keys.noneProcessor')} onUpload={onUpload}>
          {keys(processor_public_keys)}
        </KeyPanel>
        <KeyPanel kind="merchant" none={t('keys.noneMerchant')} onUpload={onUpload}>
          {merchant_private_keys.map((key) => (
            <PrivateKeyView key={key.fingerprint} {...key} />
          ))}
        </KeyPanel>
      </SimpleGrid>
      <KeyPanel kind="certificate" none={t('keys.noneCertificate')} onUpload={onUpload}>
        {certificates}
      </KeyPanel>
    </Stack>
  );
}

interface KeyPanelProps {
  readonly kind: KeyKind;
  readonly none: string;
  readonly onUpload: KeyPanelsProps['onUpload'];
  readonly children: readonly ReactNode[];
}

function KeyPanel({ kind, none, onUpload, children }: KeyPanelProps) {
  const { t } = useTranslation('proxy');
  const isEmpty = children.length === 0;
  const verb = isEmpty ? t('keys.upload') : t('keys.replace');
  return (
    <Panel
      title={t(`keys.${kind}`)}
      description={t(`keys.${kind}Text`)}
      actions={
        onUpload && (
          <Button
            variant={isEmpty && kind !== 'certificate' ? 'filled' : 'default'}
            size="xs"
            onClick={() => onUpload(kind)}
            aria-label={`${verb}: ${t(`keys.${kind}`)}`}
          >
            {verb}
          </Button>
        )
      }
    >
      {isEmpty ? (
        <Group gap="xs">
          <Badge tone="quiet">{t('keys.none')}</Badge>
          <Text size="sm" c="dimmed">
            {none}
          </Text>
        </Group>
      ) : (
        <Stack gap="lg">{children}</Stack>
      )}
    </Panel>
  );
}

function VersionState({ from }: { readonly from: string | null }) {
  const { t } = useTranslation('proxy');
  if (from === null) return <Badge tone="good">{t('keys.inUse')}</Badge>;
  return (
    <Group gap={8}>
      <Badge tone="attention">{t('keys.waiting')}</Badge>
      <Text span size="sm">
        <Time value={from} isRelative />
      </Text>
    </Group>
  );
}

/** Shows a private key with its public key, with which receivers verify signatures. */
function PrivateKeyView({ public_key, ...key }: PrivateKey) {
  const { t } = useTranslation('proxy');
  return (
    <KeyView {...key}>
      <Group justify="space-between" gap="xs" mt={4}>
        <Text span size="sm">
          {t('keys.publicHalf')}
        </Text>
        <Group gap="xs">
          <CopyButton value={public_key} label={t('keys.publicHalf')} />
          <DownloadButton
            text={public_key}
            fileName={`${key.fingerprint.slice(0, 12)}-public.pem`}
            label={t('keys.downloadPublic')}
          />
        </Group>
      </Group>
    </KeyView>
  );
}

function KeyView({ fingerprint, bits, from, children }: Key & { readonly children?: ReactNode }) {
  const { t } = useTranslation('proxy');
  return (
    <Stack gap={6}>
      <Group gap="xs">
        <VersionState from={from} />
        <Text span size="sm" c="dimmed">
          RSA, {t('keys.bits', { bits })}
        </Text>
      </Group>
      <Details items={[{ label: t('keys.fingerprint'), value: <Fingerprint value={fingerprint} /> }]} />
      {children}
    </Stack>
  );
}

function CertificateView({ fingerprint, subject, expires_at, pem, from }: Certificate) {
  const { t } = useTranslation('proxy');
  return (
    <Stack gap={6}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          <VersionState from={from} />
          <ExpiryBadge expiresAt={expires_at} />
        </Group>
        <Group gap="xs">
          <CopyButton value={pem} label={t('keys.certificate')} />
          <DownloadButton text={pem} fileName={`${fingerprint.slice(0, 12)}.pem`} label={t('keys.download')} />
        </Group>
      </Group>
      <Details
        items={[
          { label: t('keys.subject'), value: subject },
          { label: t('keys.ends'), value: <Time value={expires_at} isRelative /> },
          { label: t('keys.fingerprint'), value: <Fingerprint value={fingerprint} /> },
        ]}
      />
    </Stack>
  );
}
