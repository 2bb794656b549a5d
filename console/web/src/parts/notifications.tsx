import { Anchor, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';

/** Shows a short notification of success. */
export const notifySuccess = (message: string): void => {
  // Elements below the notification stay usable.
  notifications.show({ message, color: 'teal', withCloseButton: false, style: { pointerEvents: 'none' } });
};

/** Notifies that a change needs the approval, or, when that is null, of its success; without a message of nothing. */
export function useNotifyResult(): (approval: string | null, message?: string) => void {
  const { account } = useParams();
  const { t } = useTranslation('parts');
  return (approval, message) => {
    if (approval === null) {
      if (message !== undefined) notifySuccess(message);
      return;
    }
    notifications.show({
      id: approval,
      color: 'yellow',
      autoClose: false,
      closeButtonProps: { 'aria-label': t('close') },
      message: <ApprovalNotice account={account ?? ''} />,
    });
  };
}

function ApprovalNotice({ account }: { readonly account: string }) {
  const { t } = useTranslation('parts');
  return (
    <>
      <Text size="sm" fw={600}>
        {t('approvalTitle')}
      </Text>
      <Text size="sm">{t('approvalWhy')}</Text>
      <Anchor component={Link} to={`/a/${account}/approvals`} size="sm">
        {t('approvalLink')}
      </Anchor>
    </>
  );
}
