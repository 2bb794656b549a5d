import { useTranslation } from 'react-i18next';
import { LinkDialog } from '../team/links.tsx';
import type { Made } from './made.ts';

interface NewLinkDialogProps {
  readonly made: Extract<Made, { kind: 'link' }> | undefined;
  readonly onStored: () => void;
}

/** The link of an invitation or of a new way in that was approved. */
export function NewLinkDialog({ made, onStored }: NewLinkDialogProps) {
  const { t } = useTranslation('team');
  if (made === undefined) return <LinkDialog link={undefined} onClose={onStored} />;
  const { isReset, whose, url, ends } = made;
  const text = isReset ? t('link.resetText', { name: whose }) : t('link.inviteText', { email: whose });
  return <LinkDialog link={{ url, expires_at: ends, text }} onClose={onStored} />;
}
