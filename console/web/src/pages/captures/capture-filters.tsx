import { Select, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { CAPTURE_STATUSES } from '../../../../wire/records.ts';
import { FilterBar } from '../../parts/filter-bar.tsx';
import { trimFilters } from '../../parts/url-filters.ts';
import { type Filters, isLastFour, type useCaptureFilters } from './filters.ts';

/** Two fields fit beside each other on a telephone. */
const WIDTH = { base: 'calc(50% - 6px)', xs: 158 };

type CaptureFiltersProps = ReturnType<typeof useCaptureFilters> & {
  /** Searches again with the same filters. */
  readonly onRepeat: () => void;
};

export function CaptureFilters({ values, apply, clear, isFiltered, onRepeat }: CaptureFiltersProps) {
  const { t } = useTranslation('captures');
  const [draft, setDraft] = useState<Filters>(values);
  const [isSubmitted, setSubmitted] = useState(false);
  const address = JSON.stringify(values);
  useEffect(() => setDraft(JSON.parse(address) as Filters), [address]);
  const applyValid = (filters: Filters): void => {
    const next = trimFilters(filters);
    setDraft(next);
    setSubmitted(!isLastFour(next.last_four));
    if (isLastFour(next.last_four) && !apply(next)) onRepeat();
  };
  const field = (name: keyof Filters) => ({
    label: t(`filters.${name}`),
    value: draft[name],
    onChange: (event: { readonly currentTarget: { readonly value: string } }) =>
      setDraft({ ...draft, [name]: event.currentTarget.value }),
    w: WIDTH,
    maxLength: LIMITS.searchCharacters,
    autoComplete: 'off',
    spellCheck: false,
  });
  return (
    <FilterBar onApply={() => applyValid(draft)} isFiltered={isFiltered} onClear={clear}>
      <TextInput {...field('id')} />
      <Select
        label={t('filters.status')}
        placeholder={t('filters.any')}
        w={WIDTH}
        clearable
        data={CAPTURE_STATUSES.map((status) => ({ value: status, label: t(`statuses.${status}`) }))}
        value={draft.status || null}
        onChange={(status) => applyValid({ ...draft, status: status ?? '' })}
      />
      <TextInput {...field('from')} type="date" />
      <TextInput {...field('to')} type="date" />
      <TextInput {...field('currency')} maxLength={3} placeholder={t('filters.currencyHint')} />
      <TextInput
        {...field('last_four')}
        inputMode="numeric"
        error={isSubmitted && !isLastFour(draft.last_four) && t('filters.fourDigits')}
      />
    </FilterBar>
  );
}
