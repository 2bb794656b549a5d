import { Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { listActivationRequests } from '../../../../wire/onboarding.ts';
import { useRead } from '../../api/hooks.ts';
import { Panel } from '../../parts/panel.tsx';
import { RequestCard } from '../operator-requests/request-card.tsx';
import { RequestDialogs, useRequestDialog } from '../operator-requests/request-dialogs.tsx';
import type { Account } from './operator-account-page.tsx';

/** What the merchant asks for. */
export function AccountRequests({ account }: { readonly account: Account }) {
  const { t } = useTranslation('operator');
  const { data } = useRead(listActivationRequests, {}, { anew: true });
  const dialog = useRequestDialog();
  const waiting = (data?.requests ?? []).filter(
    (each) => each.account === account.id && each.request.status === 'requested',
  );
  if (waiting.length === 0) return null;
  return (
    <Panel title={t('account.requests')}>
      <Stack gap="md">
        {waiting.map((asked) => (
          <RequestCard
            key={asked.request.id}
            asked={asked}
            onDecide={(decision) => dialog.open({ decision, asked })}
            isShort
          />
        ))}
      </Stack>
      <RequestDialogs {...dialog} />
    </Panel>
  );
}
