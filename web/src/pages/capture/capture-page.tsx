import { Alert, Button, Skeleton, Stack } from '@mantine/core';
import { CircleAlert, Timer, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { showCapture } from '../../../../src/console/wire/records.ts';
import { useRead } from '../../api/hooks.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { CaptureFacts } from './capture-facts.tsx';
import { DeleteCapture } from './delete-capture.tsx';

export function CapturePage() {
  const { t } = useTranslation('captures');
  const { account, environment } = useTenant();
  const { id = '' } = useParams();
  const mayDelete = useCan()('captures:delete');
  const [isDeleting, setDeleting] = useState(false);
  const reading = useRead(showCapture, { params: { account, environment, id } });
  const { data, error } = reading;
  const isUnknown = error?.status === 404;
  const list = `/a/${account}/${environment}/captures`;
  return (
    <>
      <PageHeader
        title={t('detail.title')}
        back={{ to: list, label: t('detail.back') }}
        actions={
          mayDelete &&
          data !== undefined &&
          !isUnknown && (
            <Button
              variant="light"
              color="red"
              leftSection={<Trash2 size={16} aria-hidden />}
              onClick={() => setDeleting(true)}
            >
              {t('remove.action')}
            </Button>
          )
        }
      />
      <Stack gap="md">
        {isUnknown && (
          <EmptyState icon={Timer} title={t('detail.endedTitle')}>
            {t('detail.endedText')}
          </EmptyState>
        )}
        {error && !isUnknown && <ErrorAlert error={error} onRetry={() => void reading.refetch()} />}
        {data?.is_damaged && (
          <Alert color="red" icon={<CircleAlert size={18} aria-hidden />}>
            {t('detail.damaged')}
          </Alert>
        )}
        {!error && (data === undefined ? <Skeleton height={320} /> : <CaptureFacts capture={data} />)}
      </Stack>
      <DeleteCapture opened={isDeleting} id={id} onClose={() => setDeleting(false)} list={list} />
    </>
  );
}
