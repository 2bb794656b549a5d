import { Skeleton, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { showProfile } from '../../../../wire/profile.ts';
import { useRead } from '../../api/hooks.ts';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { FactorsPanel } from './factors-panel.tsx';
import { PasswordPanel } from './password-panel.tsx';
import { PersonPanel } from './person-panel.tsx';
import { RecoveryPanel } from './recovery-panel.tsx';
import { SessionsPanel } from './sessions-panel.tsx';

export function ProfilePage() {
  const { t } = useTranslation('profile');
  const { data, error, refetch } = useRead(showProfile);
  return (
    <>
      <PageHeader title={t('title')} description={t('description')} />
      <Stack gap="lg" maw={820}>
        <PersonPanel />
        <PasswordPanel />
        {error && data === undefined && <ErrorAlert error={error} onRetry={() => void refetch()} />}
        {data === undefined && !error && [220, 130, 230].map((height) => <Skeleton key={height} height={height} />)}
        {data !== undefined && (
          <>
            <FactorsPanel factors={data.factors} />
            <RecoveryPanel left={data.recovery_codes_left} />
            <SessionsPanel sessions={data.sessions} />
          </>
        )}
      </Stack>
    </>
  );
}
