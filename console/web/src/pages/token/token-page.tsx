import { SearchX } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { deleteToken, showToken } from '../../../../wire/records.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { Panel } from '../../parts/panel.tsx';
import { RecordPage } from '../../parts/record-page.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { TokenFacts } from './token-facts.tsx';

export function TokenPage() {
  const { t } = useTranslation('tokens');
  const { account, environment } = useTenant();
  const { token = '' } = useParams();
  const params = { account, environment, token };
  const mayDelete = useCan()('tokens:delete');
  const change = useChange(deleteToken);
  // The card behind it is gone for good.
  const typed = environment === 'production' ? token.slice(-4) : undefined;
  return (
    <RecordPage
      title={t('detail.title')}
      list={{ to: `/a/${account}/${environment}/tokens`, label: t('detail.back') }}
      reading={useRead(showToken, { params })}
      gone={{ icon: SearchX, title: t('gone.title'), text: t('gone.text') }}
      damaged={t('detail.damaged')}
      removal={
        mayDelete
          ? {
              id: token,
              change,
              send: (done) => change.mutate({ params }, { onSuccess: ({ approval }) => done(approval) }),
              words: t('remove', { returnObjects: true }),
              typed,
            }
          : undefined
      }
    >
      {(row) => (
        <Panel title={t('detail.facts')}>
          <TokenFacts row={row} />
        </Panel>
      )}
    </RecordPage>
  );
}
