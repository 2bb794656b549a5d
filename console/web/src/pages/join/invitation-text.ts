import { useTranslation } from 'react-i18next';
import { useFormatTime } from '../../parts/time.tsx';
import type { InvitationView } from './enrollment.ts';

/** Returns the texts of an invitation. */
export function useInvitationText(invitation: InvitationView) {
  const { t } = useTranslation('join');
  const formatTime = useFormatTime();
  const account = invitation.account_name ?? t('operators');
  const isReset = invitation.kind === 'reset';
  const lines = [
    ...(invitation.email === null ? [] : [t('forEmail', { email: invitation.email })]),
    ...(invitation.role === null || isReset ? [] : [t(`role.${invitation.role}`)]),
  ];
  return {
    account,
    isReset,
    title: isReset ? t('resetTitle') : t('title', { account }),
    recipient: lines.join(', '),
    endsAt: t('endsAt', { time: formatTime(invitation.expires_at) }),
  };
}
