import { Anchor, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';

/** Short words at the edge of the screen that something was done. */
export const notifySuccess = (message: string): void => {
  // What is below it can be used meanwhile.
  notifications.show({ message, color: 'teal', withCloseButton: false, style: { pointerEvents: 'none' } });
};

/** Says that nothing was changed yet, because a second person has to approve it. */
export function useNotifyApproval(): (approval: string) => void {
  const { account } = useParams();
  const { t } = useTranslation('parts');
  return (approval) => {
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
