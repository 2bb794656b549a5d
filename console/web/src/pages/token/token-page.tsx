import { SearchX } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { deleteToken, showToken } from '../../../../wire/records.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { Panel } from '../../parts/panel.tsx';
import { RecordPage } from '../../parts/record-page.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { TokenDetails } from './token-details.tsx';

export function TokenPage() {
  const { t } = useTranslation('tokens');
  const { account, environment } = useTenant();
  const { token = '' } = useParams();
  const params = { account, environment, token };
  const mayDelete = useCan()('tokens:delete');
  const change = useChange(deleteToken);
  // Deleting the token deletes the card permanently.
  const confirmText = environment === 'production' ? token.slice(-4) : undefined;
  return (
    <RecordPage
      title={t('detail.title')}
      list={{ to: `/a/${account}/${environment}/tokens`, label: t('detail.back') }}
      query={useRead(showToken, { params })}
      gone={{ icon: SearchX, title: t('gone.title'), text: t('gone.text') }}
      alteredNotice={t('detail.altered')}
      removal={
        mayDelete
          ? {
              id: token,
              change,
              send: (done) => change.mutate({ params }, { onSuccess: ({ approval }) => done(approval) }),
              texts: t('remove', { returnObjects: true }),
              confirmText,
            }
          : undefined
      }
    >
      {(row) => (
        <Panel title={t('detail.facts')}>
          <TokenDetails row={row} />
        </Panel>
      )}
    </RecordPage>
  );
}
