import { Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { listActivationRequests } from '../../../../wire/onboarding.ts';
import { useRead } from '../../api/hooks.ts';
import { Panel } from '../../parts/panel.tsx';
import { RequestCard } from '../operator-requests/request-card.tsx';
import { RequestDialogs, useRequestDialog } from '../operator-requests/request-dialogs.tsx';
import type { Account } from './account.ts';

/** Lists the pending requests of the merchant. */
export function AccountRequests({ account }: { readonly account: Account }) {
  const { t } = useTranslation('operator');
  const { data } = useRead(listActivationRequests, {}, { refetchOnMount: true });
  const dialog = useRequestDialog();
  const waiting = (data?.requests ?? []).filter(
    (each) => each.account === account.id && each.request.status === 'requested',
  );
  if (waiting.length === 0) return null;
  return (
    <Panel title={t('account.requests')}>
      <Stack gap="md">
        {waiting.map((item) => (
          <RequestCard
            key={item.request.id}
            item={item}
            onDecide={(decision) => dialog.open({ decision, item })}
            isOnAccountPage
          />
        ))}
      </Stack>
      <RequestDialogs {...dialog} />
    </Panel>
  );
}
