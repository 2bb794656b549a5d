import { Button, Group, Text } from '@mantine/core';
import { Download } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { AUTHORITY_FILE, useAuthority } from '../session/interface.ts';
import { savePem } from './save-pem.ts';

/** Where the file is to be had that the commands on this page name. Nothing, where the operator brought a certificate. */
export function AuthorityNote() {
  const { t } = useTranslation('parts');
  const authority = useAuthority();
  if (authority === undefined) return null;
  return (
    <Group gap="sm" justify="space-between">
      <Text size="sm" c="dimmed" flex={1} miw={220}>
        {t('authority', { file: AUTHORITY_FILE })}
      </Text>
      <Button
        variant="default"
        size="xs"
        leftSection={<Download size={14} aria-hidden />}
        onClick={() => savePem(authority, AUTHORITY_FILE)}
      >
        {t('downloadFile', { file: AUTHORITY_FILE })}
      </Button>
    </Group>
  );
}
