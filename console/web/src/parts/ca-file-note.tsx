import { Button, Group, Text } from '@mantine/core';
import { Download } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { CA_FILE, useCaCertificate } from '../session/api-access.ts';
import { savePem } from './save-pem.ts';

/**
 * Offers the CA file that the commands on this page name. Renders nothing when the operator installed a certificate.
 */
export function CaFileNote() {
  const { t } = useTranslation('parts');
  const certificate = useCaCertificate();
  if (certificate === undefined) return null;
  return (
    <Group gap="sm" justify="space-between">
      <Text size="sm" c="dimmed" flex={1} miw={220}>
        {t('authority', { file: CA_FILE })}
      </Text>
      <Button
        variant="default"
        size="xs"
        leftSection={<Download size={14} aria-hidden />}
        onClick={() => savePem(certificate, CA_FILE)}
      >
        {t('downloadFile', { file: CA_FILE })}
      </Button>
    </Group>
  );
}
