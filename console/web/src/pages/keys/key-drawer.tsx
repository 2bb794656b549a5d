import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { Ban, Pencil, RefreshCw } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { showKey } from '../../../../wire/keys.ts';
import type { CallError } from '../../api/call.ts';
import { useRead } from '../../api/hooks.ts';
import { Drawer } from '../../parts/dialogs.tsx';
import { EnvironmentBadge } from '../../parts/environment-badge.tsx';
import { ErrorAlert } from '../../parts/error-alert.tsx';
import { useFocusFallback } from '../../parts/focus-fallback.ts';
import { useCan, useMembership, useTenant } from '../../session/tenant.ts';
import { EditKey } from './edit-key.tsx';
import { KeyDetails } from './key-details.tsx';
import type { Key, ListedKey } from './key-values.ts';
import classes from './keys.module.css';
import { RevokeKey } from './revoke-key.tsx';
import { RotateKey } from './rotate-key.tsx';

interface KeyDrawerProps {
  /** Id of the open key. */
  readonly id: string | null;
  readonly keys: readonly ListedKey[] | undefined;
  readonly yourAddress: string;
  readonly onClose: () => void;
  readonly onReload: () => void;
  /** Opens another key. */
  readonly onShow: (id: string) => void;
}

type Action = 'edit' | 'rotate' | 'revoke';

/** Shows a key with its actions. */
export function KeyDrawer({ id, keys, yourAddress, onClose, onReload, onShow }: KeyDrawerProps) {
  const { t } = useTranslation('parts');
  const tenant = useTenant();
  const [action, setAction] = useState<Action>();
  const query = useRead(showKey, { params: { ...tenant, id: useLastId(id) } }, { enabled: id !== null });
  const key = query.data?.key;
  const content = useFocusFallback(`${action} ${key?.state} ${key?.successor}`);
  return (
    <>
      <Drawer
        opened={id !== null && keys !== undefined}
        onClose={onClose}
        position="right"
        // A page may have one banner only.
        attributes={{ header: { role: 'presentation' } }}
        size="lg"
        title={<DrawerTitle name={key?.name} />}
        closeButtonProps={{ 'aria-label': t('close') }}
      >
        {key === undefined ? (
          <KeyPlaceholder error={query.error} onRetry={() => void query.refetch()} />
        ) : (
          <Stack gap="lg" ref={content} tabIndex={-1}>
            <Actions apiKey={key} onAct={setAction} />
            <StateNotice state={key.state} />
            <KeyDetails apiKey={key} keys={keys ?? []} />
          </Stack>
        )}
      </Drawer>
      {key !== undefined && (
        <ActionDialogs
          {...{ action, yourAddress, onShow }}
          apiKey={key}
          onClose={() => setAction(undefined)}
          onReload={() => {
            onReload();
            void query.refetch();
          }}
        />
      )}
    </>
  );
}

/** Returns the id, or the last one after it: the key stays visible while the drawer closes. */
function useLastId(id: string | null): string {
  const [lastId, setLastId] = useState(id);
  useEffect(() => {
    if (id !== null) setLastId(id);
  }, [id]);
  return id ?? lastId ?? '';
}

interface ActionDialogsProps extends Pick<KeyDrawerProps, 'yourAddress' | 'onClose' | 'onReload' | 'onShow'> {
  readonly action: Action | undefined;
  readonly apiKey: Key;
}

function ActionDialogs({ action, apiKey, yourAddress, onClose, onReload, onShow }: ActionDialogsProps) {
  return (
    <>
      <EditKey opened={action === 'edit'} {...{ apiKey, onClose, yourAddress, onReload }} />
      <RotateKey opened={action === 'rotate'} {...{ apiKey, onClose }} onRotated={onShow} />
      <RevokeKey opened={action === 'revoke'} {...{ apiKey, onClose }} />
    </>
  );
}

function StateNotice({ state }: Pick<Key, 'state'>) {
  const { t } = useTranslation('keys');
  if (state === 'altered') return <Alert color="red">{t('detail.altered')}</Alert>;
  return state === 'ending' ? <Text size="sm">{t('detail.ending')}</Text> : null;
}

function DrawerTitle({ name }: { readonly name: string | undefined }) {
  const { t } = useTranslation('keys');
  const { environment } = useTenant();
  return (
    <Group gap="xs">
      <EnvironmentBadge environment={environment} />
      <Text span fw={600} className={classes['words'] ?? ''}>
        {name ?? t('detail.title')}
      </Text>
    </Group>
  );
}

interface KeyPlaceholderProps {
  readonly error: CallError | null;
  readonly onRetry: () => void;
}

function KeyPlaceholder({ error, onRetry }: KeyPlaceholderProps) {
  const { t } = useTranslation('keys');
  if (error === null) return <Skeleton height={240} />;
  if (error.code === 'unknown_record') return <Alert color="gray">{t('detail.gone')}</Alert>;
  return <ErrorAlert error={error} onRetry={onRetry} />;
}

function Actions({ apiKey, onAct }: { readonly apiKey: Key; readonly onAct: (action: Action) => void }) {
  const { t } = useTranslation('keys');
  const mayWrite = useCan()('keys:write');
  const isSuspended = useMembership().status === 'suspended';
  const isInactive = apiKey.state === 'revoked' || apiKey.state === 'expired';
  if (!mayWrite || isInactive) return null;
  const isAltered = apiKey.state === 'altered';
  return (
    <Group gap="xs">
      {!isAltered && (
        <Button
          variant="default"
          leftSection={<Pencil size={14} aria-hidden />}
          disabled={isSuspended}
          onClick={() => onAct('edit')}
        >
          {t('detail.edit')}
        </Button>
      )}
      {!isAltered && apiKey.successor === null && (
        <Button
          variant="default"
          leftSection={<RefreshCw size={14} aria-hidden />}
          disabled={isSuspended}
          onClick={() => onAct('rotate')}
        >
          {t('detail.rotate')}
        </Button>
      )}
      <Button variant="light" color="red" leftSection={<Ban size={14} aria-hidden />} onClick={() => onAct('revoke')}>
        {t('detail.revoke')}
      </Button>
    </Group>
  );
}
