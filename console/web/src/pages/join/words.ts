import { useTranslation } from 'react-i18next';
import { timeText } from '../../parts/time.tsx';
import type { Invited } from './join-page.tsx';

/** What an invitation says, in words. */
export function useInvitedWords(invited: Invited) {
  const { t, i18n } = useTranslation('join');
  const account = invited.account_name ?? t('operators');
  const isReset = invited.kind === 'reset';
  const lines = [
    ...(invited.email === null ? [] : [t('forEmail', { email: invited.email })]),
    ...(invited.role === null || isReset ? [] : [t(`role.${invited.role}`)]),
  ];
  return {
    account,
    isReset,
    title: isReset ? t('resetTitle') : t('title', { account }),
    whom: lines.join(', '),
    endsAt: t('endsAt', { time: timeText(invited.expires_at, i18n.language) }),
  };
}
