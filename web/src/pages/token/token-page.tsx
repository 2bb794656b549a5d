import { Alert, Button, Skeleton, Stack } from '@mantine/core';
import { CircleAlert, SearchX, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { showToken } from '../../../../src/console/wire/records.ts';
import { useRead } from '../../api/hooks.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { Panel } from '../../parts/panel.tsx';
import { useCan, useTenant } from '../../session/tenant.ts';
import { DeleteToken } from './delete-token.tsx';
import { TokenFacts } from './token-facts.tsx';

export function TokenPage() {
  const { t } = useTranslation('tokens');
  const { account, environment } = useTenant();
  const { token = '' } = useParams();
  const mayDelete = useCan()('tokens:delete');
  const [isDeleting, setDeleting] = useState(false);
  const reading = useRead(showToken, { params: { account, environment, token } });
  const { data, error } = reading;
  const isUnknown = error?.status === 404;
  const list = `/a/${account}/${environment}/tokens`;
  return (
    <>
      <PageHeader
        title={t('detail.title')}
        back={{ to: list, label: t('detail.back') }}
        actions={
          mayDelete &&
          data !== undefined && (
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
          <EmptyState icon={SearchX} title={t('empty.noneFound')}>
            {t('empty.noneFoundText')}
          </EmptyState>
        )}
        {error && !isUnknown && <ErrorAlert error={error} onRetry={() => void reading.refetch()} />}
        {data?.is_damaged && (
          <Alert color="red" icon={<CircleAlert size={18} aria-hidden />}>
            {t('detail.damaged')}
          </Alert>
        )}
        {!error && (
          <Panel title={t('detail.facts')}>{data ? <TokenFacts row={data} /> : <Skeleton height={320} />}</Panel>
        )}
      </Stack>
      <DeleteToken opened={isDeleting} token={token} onClose={() => setDeleting(false)} list={list} />
    </>
  );
}
