import { useTranslation } from 'react-i18next';
import { LinkDialog } from '../team/link-dialog.tsx';
import type { ExecutionResult } from './execution-result.ts';

interface NewLinkDialogProps {
  readonly result: Extract<ExecutionResult, { kind: 'link' }> | undefined;
  readonly onStored: () => void;
}

/** Shows the link of an approved invitation or sign-in reset. */
export function NewLinkDialog({ result, onStored }: NewLinkDialogProps) {
  const { t } = useTranslation('team');
  if (result === undefined) return <LinkDialog link={undefined} onClose={onStored} />;
  const { isReset, recipient, url, expiresAt } = result;
  const text = isReset ? t('link.resetText', { name: recipient }) : t('link.inviteText', { email: recipient });
  return <LinkDialog link={{ url, expires_at: expiresAt, text }} onClose={onStored} />;
}
