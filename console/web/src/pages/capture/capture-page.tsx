import { Timer } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { deleteCapture, showCapture } from '../../../../wire/records.ts';
import { useChange, useRead } from '../../api/hooks.ts';
import { RecordPage } from '../../parts/record-page.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { CaptureDetails } from './capture-details.tsx';

export function CapturePage() {
  const { t } = useTranslation('captures');
  const { account, environment } = useTenant();
  const { id = '' } = useParams();
  const params = { account, environment, id };
  const mayDelete = useCan()('captures:delete');
  const change = useChange(deleteCapture);
  return (
    <RecordPage
      title={t('detail.title')}
      list={{ to: `/a/${account}/${environment}/captures`, label: t('detail.back') }}
      query={useRead(showCapture, { params })}
      gone={{ icon: Timer, title: t('detail.endedTitle'), text: t('detail.endedText') }}
      alteredNotice={t('detail.altered')}
      removal={
        mayDelete
          ? {
              id,
              change,
              send: (done) => change.mutate({ params }, { onSuccess: () => done(null) }),
              texts: t('remove', { returnObjects: true }),
            }
          : undefined
      }
    >
      {(capture) => <CaptureDetails capture={capture} />}
    </RecordPage>
  );
}
