import { Alert, Stack, Text } from '@mantine/core';
import { TriangleAlert } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { revokeKey } from '../../../../wire/keys.ts';
import { useChange } from '../../api/hooks.ts';
import { ConfirmDialog } from '../../parts/confirm-dialog.tsx';
import { notifySuccess } from '../../parts/notifications.tsx';
import { Time, useNow } from '../../parts/time.tsx';
import { useTenant } from '../../session/tenant.ts';
import { KeyName } from './key-name.tsx';
import type { Key } from './key-values.ts';

const DAY = 86_400_000;
const MINUTE = 60_000;

interface RevokeKeyProps {
  readonly opened: boolean;
  readonly apiKey: Key;
  readonly onClose: () => void;
}

/** Shows the last use, because revoking a key in use stops servers. */
export function RevokeKey({ opened, apiKey, onClose }: RevokeKeyProps) {
  const { t } = useTranslation('keys');
  const params = useTenant();
  const revoke = useChange(revokeKey);
  const close = (): void => {
    revoke.reset();
    onClose();
  };
  const onSuccess = (): void => {
    notifySuccess(t('revoke.done'));
    close();
  };
  return (
    <ConfirmDialog
      opened={opened}
      onClose={close}
      title={t('revoke.title')}
      confirmLabel={t('revoke.confirm')}
      isDangerous
      environment={params.environment}
      isBusy={revoke.isPending}
      error={revoke.error}
      onConfirm={() => revoke.mutate({ params: { ...params, id: apiKey.id } }, { onSuccess })}
    >
      <Stack gap="sm">
        <KeyName apiKey={apiKey} />
        <Text size="sm">{t('revoke.text')}</Text>
        <LastUse at={apiKey.last_used_at} />
      </Stack>
    </ConfirmDialog>
  );
}

function LastUse({ at }: { readonly at: string | null }) {
  const { t } = useTranslation('keys');
  const now = useNow(MINUTE);
  if (at === null) return <Text size="sm">{t('revoke.notUsed')}</Text>;
  return (
    <>
      <Text size="sm">
        {t('revoke.used')}: <Time value={at} isRelative />
      </Text>
      {now - Date.parse(at) < DAY && (
        <Alert color="yellow" icon={<TriangleAlert size={18} aria-hidden />}>
          {t('revoke.busy')}
        </Alert>
      )}
    </>
  );
}
