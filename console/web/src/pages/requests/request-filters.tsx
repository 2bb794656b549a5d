import { Button, Select, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { STATUS_CLASSES } from '../../../../../src/accounts/request-log-terms.ts';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { FilterBar } from '../../parts/filter-bar.tsx';
import { trimFilters } from '../../parts/url-filters.ts';
import { API_ERRORS, useApiErrorText } from './api-errors.ts';
import { type RequestFilters as Filters, MORE_FILTERS, type useRequestFilters } from './filters.ts';

/** Two fields fit beside each other on a telephone. */
const WIDTH = { base: 'calc(50% - 6px)', xs: 170 };

export interface KeyChoice {
  readonly id: string;
  readonly name: string;
}

type RequestFiltersProps = ReturnType<typeof useRequestFilters> & {
  readonly keys: readonly KeyChoice[];
  readonly routes: readonly string[];
  /** Searches again with the same filters. */
  readonly onRepeat: () => void;
  /** More fields, which apply immediately. */
  readonly children?: ReactNode;
};

export function RequestFilters({ values, apply, onRepeat, ...props }: RequestFiltersProps) {
  const { clear, isFiltered, keys, routes, children } = props;
  const { t } = useTranslation('requestLog');
  const errorText = useApiErrorText();
  const [draft, setDraft] = useState(values);
  const [showsMore, setShowsMore] = useState(MORE_FILTERS.some((name) => values[name] !== ''));
  const address = JSON.stringify(values);
  useEffect(() => setDraft(JSON.parse(address) as Filters), [address]);
  const applyTrimmed = (filters: Filters): void => {
    const next = trimFilters(filters);
    setDraft(next);
    if (!apply(next)) onRepeat();
  };
  const choice = (name: keyof Filters) => ({
    label: t(`filters.${name}`),
    value: draft[name],
    onChange: (value: string) => applyTrimmed({ ...draft, [name]: value }),
  });
  const text = (name: keyof Filters) => ({
    label: t(`filters.${name}`),
    value: draft[name],
    onChange: (value: string) => setDraft((before) => ({ ...before, [name]: value })),
  });
  return (
    <FilterBar onApply={() => applyTrimmed(draft)} isFiltered={isFiltered} onClear={clear}>
      {children}
      <Choice {...choice('status')} data={STATUS_CLASSES.map((value) => ({ value, label: t(`statuses.${value}`) }))} />
      <Choice {...choice('error')} data={API_ERRORS.map((value) => ({ value, label: errorText(value) }))} />
      <Choice {...choice('key')} data={toKeyOptions(keys, draft.key)} />
      <TextFilter {...text('request_id')} />
      {showsMore && (
        <>
          <Choice {...choice('route')} data={[...new Set([...routes, draft.route])].filter((each) => each !== '')} />
          <TextFilter {...text('address')} placeholder={t('filters.addressHint')} />
          <TextFilter {...text('from')} type="date" />
          <TextFilter {...text('to')} type="date" />
        </>
      )}
      <Button variant="subtle" onClick={() => setShowsMore(!showsMore)} aria-expanded={showsMore}>
        {showsMore ? t('filters.fewer') : t('filters.more')}
      </Button>
    </FilterBar>
  );
}

/** Keys of one name stay apart by their ids; the chosen key is always among them. */
function toKeyOptions(keys: readonly KeyChoice[], chosen: string): { value: string; label: string }[] {
  const names = new Map(keys.map(({ id, name }) => [id, name]));
  if (chosen !== '' && !names.has(chosen)) names.set(chosen, chosen);
  const isShared = (name: string): boolean => [...names.values()].filter((each) => each === name).length > 1;
  return [...names].map(([value, name]) => ({ value, label: isShared(name) ? `${name} (${value})` : name }));
}

interface FilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function Choice({
  value,
  onChange,
  ...attributes
}: FilterProps & { readonly data: readonly (string | { readonly value: string; readonly label: string })[] }) {
  const { t } = useTranslation('requestLog');
  return (
    <Select
      {...attributes}
      placeholder={t('filters.any')}
      w={WIDTH}
      clearable
      searchable
      value={value || null}
      onChange={(chosen) => onChange(chosen ?? '')}
    />
  );
}

function TextFilter({
  onChange,
  ...attributes
}: FilterProps & { readonly type?: 'date'; readonly placeholder?: string }) {
  return (
    <TextInput
      {...attributes}
      w={WIDTH}
      onChange={(event) => onChange(event.currentTarget.value)}
      maxLength={LIMITS.searchCharacters}
      autoComplete="off"
      spellCheck={false}
    />
  );
}
