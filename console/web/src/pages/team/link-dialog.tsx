import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { SecretDialog, SecretOnce } from '../../parts/secret-once.tsx';
import { Time, useNow } from '../../parts/time.tsx';

/** Invitation link of one user. */
export interface PersonalLink {
  readonly url: string;
  readonly expires_at: string;
  /** Instruction for the link. */
  readonly text: string;
}

const MINUTE = 60_000;
const HOUR = 3_600_000;

interface LinkDialogProps {
  readonly link: PersonalLink | undefined;
  readonly onClose: () => void;
}

/** Shows a link once. */
export function LinkDialog({ link, onClose }: LinkDialogProps) {
  const { t } = useTranslation('team');
  return (
    <SecretDialog opened={link !== undefined} title={t('link.title')} size="lg">
      {link !== undefined && <LinkContent link={link} onStored={onClose} />}
    </SecretDialog>
  );
}

function LinkContent({ link, onStored }: { readonly link: PersonalLink; readonly onStored: () => void }) {
  const { t } = useTranslation('team');
  const remaining = Date.parse(link.expires_at) - useNow(MINUTE);
  const count = Math.max(1, Math.round(remaining / HOUR));
  return (
    <SecretOnce
      label={t('link.label')}
      secret={link.url}
      notice={`${link.text} ${t('link.good', { count })}`}
      confirmation={t('link.sent')}
      onStored={onStored}
    >
      <Text size="sm" c="dimmed">
        {t('link.expires')} <Time value={link.expires_at} />
      </Text>
    </SecretOnce>
  );
}
