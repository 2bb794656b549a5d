import { Button } from '@mantine/core';
import { KeyRound, Plus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { listKeys } from '../../../../wire/keys.ts';
import { useRead } from '../../api/hooks.ts';
import { LIST_POLL_MS } from '../../api/pages.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { useCan, useMembership, useTenant } from '../../session/tenant.ts';
import { CreateKey } from './create-key.tsx';
import { KeyDrawer } from './key-drawer.tsx';
import { KeyTable } from './key-table.tsx';

/** The address holds what is open: `?key=<id>`, `?create=1`, or `?create=checklist` for a user who came from there. */
export function KeysPage() {
  const { t } = useTranslation('keys');
  const params = useTenant();
  const mayWrite = useCan()('keys:write');
  // The shell shows the suspension above every page.
  const isSuspended = useMembership().status === 'suspended';
  const [search, setSearch] = useSearchParams();
  const { data, error, refetch } = useRead(listKeys, { params: { ...params } }, { refetchIntervalMs: LIST_POLL_MS });
  const close = (): void => setSearch({});
  const yourAddress = data?.your_address ?? '';
  const button = mayWrite && <CreateButton isDisabled={isSuspended} onClick={() => setSearch({ create: '1' })} />;
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t('description')}
        actions={data !== undefined && data.keys.length > 0 ? button : undefined}
      />
      <KeyTable
        version={JSON.stringify(params)}
        keys={data?.keys}
        error={error}
        onRetry={refetch}
        empty={
          <EmptyState icon={KeyRound} title={t('empty.title')} action={button}>
            {mayWrite ? t('empty.text') : `${t('empty.text')} ${t('empty.readOnly')}`}
          </EmptyState>
        }
      />
      <CreateKey
        opened={mayWrite && !isSuspended && data !== undefined && search.has('create')}
        onClose={close}
        yourAddress={yourAddress}
        isFromChecklist={search.get('create') === 'checklist'}
      />
      <KeyDrawer
        id={search.get('key')}
        keys={data?.keys}
        yourAddress={yourAddress}
        onClose={close}
        onReload={refetch}
        onShow={(key) => setSearch({ key })}
      />
    </>
  );
}

function CreateButton({ isDisabled, onClick }: { readonly isDisabled: boolean; readonly onClick: () => void }) {
  const { t } = useTranslation('keys');
  return (
    <Button leftSection={<Plus size={16} aria-hidden />} disabled={isDisabled} onClick={onClick}>
      {t('create')}
    </Button>
  );
}
