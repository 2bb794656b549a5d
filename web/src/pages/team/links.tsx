import { Modal, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { SecretOnce } from '../../parts/secret-once.tsx';
import { Time } from '../../parts/time.tsx';

/** A link for one person, and whose it is. */
export interface PersonalLink {
  readonly url: string;
  readonly expires_at: string;
  /** What to do with it. */
  readonly text: string;
}

interface LinkDialogProps {
  readonly link: PersonalLink | undefined;
  readonly onClose: () => void;
}

/** Shows a link one time. Only the button closes it, so that a stray key does not lose the link. */
export function LinkDialog({ link, onClose }: LinkDialogProps) {
  const { t } = useTranslation('team');
  return (
    <Modal
      opened={link !== undefined}
      onClose={onClose}
      title={t('link.title')}
      size="lg"
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
    >
      {link !== undefined && (
        <Stack gap="md">
          <Text size="sm">{link.text}</Text>
          <SecretOnce what={t('link.label')} secret={link.url} onStored={onClose}>
            <Text size="sm" c="dimmed">
              {t('link.expires')} <Time value={link.expires_at} isRelative />
            </Text>
          </SecretOnce>
        </Stack>
      )}
    </Modal>
  );
}
