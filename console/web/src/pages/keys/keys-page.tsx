import { Button, TextInput } from '@mantine/core';
import { KeyRound, Plus } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { listKeys, searchKeys } from '../../../../wire/keys.ts';
import { useRead } from '../../api/hooks.ts';
import { LIST_POLL_MS } from '../../api/pages.ts';
import { EmptyState } from '../../parts/empty-state.tsx';
import { FilterBar } from '../../parts/filter-bar.tsx';
import { NoMatches } from '../../parts/no-records.tsx';
import { PageHeader } from '../../parts/page-header.tsx';
import { SavedViews } from '../../parts/saved-views.tsx';
import { useFilters } from '../../parts/url-filters.ts';
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
  const filters = useFilters([], ['text']);
  const { text } = filters.values;
  const all = useRead(listKeys, { params: { ...params } }, { refetchIntervalMs: LIST_POLL_MS });
  const found = useRead(searchKeys, { params: { ...params }, body: { text } }, { enabled: text !== '' });
  const { data, error, refetch } = text === '' ? all : found;
  const hasKeys = all.data !== undefined && all.data.keys.length > 0;
  const close = (): void => setSearch({});
  const yourAddress = all.data?.your_address ?? '';
  const button = mayWrite && <CreateButton isDisabled={isSuspended} onClick={() => setSearch({ create: '1' })} />;
  return (
    <>
      <PageHeader
        title={t('title')}
        description={t('description')}
        actions={
          hasKeys && (
            <>
              <SavedViews list="keys" values={filters.values} onApply={filters.applyView} />
              {button}
            </>
          )
        }
      />
      {hasKeys && <KeySearch {...filters} />}
      <KeyTable
        version={JSON.stringify([params, text])}
        keys={data?.keys}
        error={error}
        onRetry={refetch}
        empty={
          text !== '' ? (
            <NoMatches
              title={t('empty.filteredTitle')}
              text={t('empty.filteredText')}
              clearLabel={t('search.clear')}
              onClear={filters.clear}
            />
          ) : (
            <EmptyState icon={KeyRound} title={t('empty.title')} action={button}>
              {mayWrite ? t('empty.text') : `${t('empty.text')} ${t('empty.readOnly')}`}
            </EmptyState>
          )
        }
      />
      <CreateKey
        opened={mayWrite && !isSuspended && all.data !== undefined && search.has('create')}
        onClose={close}
        yourAddress={yourAddress}
        isFromChecklist={search.get('create') === 'checklist'}
      />
      <KeyDrawer
        id={search.get('key')}
        keys={all.data?.keys}
        yourAddress={yourAddress}
        onClose={close}
        onReload={all.refetch}
        onShow={(key) => setSearch({ key })}
      />
    </>
  );
}

function KeySearch({ values, apply, clear, isFiltered }: ReturnType<typeof useFilters<never, 'text'>>) {
  const { t } = useTranslation('keys');
  const [text, setText] = useState(values.text);
  useEffect(() => setText(values.text), [values.text]);
  return (
    <FilterBar onApply={() => void apply({ text: text.trim() })} isFiltered={isFiltered} onClear={clear}>
      <TextInput
        label={t('search.label')}
        placeholder={t('search.hint')}
        type="search"
        w={{ base: '100%', xs: 320 }}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        maxLength={LIMITS.searchCharacters}
        autoComplete="off"
        spellCheck={false}
      />
    </FilterBar>
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
