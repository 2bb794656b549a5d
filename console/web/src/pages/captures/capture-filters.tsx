import { useTranslation } from 'react-i18next';
import { CAPTURE_STATUSES } from '../../../../wire/records.ts';
import {
  ChoiceFilter,
  FilterForm,
  type FilterFormProps,
  TextFilter,
  useFilterDraft,
} from '../../parts/filter-form.tsx';
import { type Filters, findFaults } from './filters.ts';

export function CaptureFilters(filters: FilterFormProps<keyof Filters>) {
  const { t } = useTranslation('captures');
  const draft = useFilterDraft<keyof Filters, 'fourDigits'>(filters, { findFaults });
  const field = (name: keyof Filters) => ({ draft, name, label: t(`filters.${name}`) });
  return (
    <FilterForm draft={draft} filters={filters}>
      <TextFilter {...field('id')} />
      <ChoiceFilter
        label={t('filters.status')}
        data={CAPTURE_STATUSES.map((status) => ({ value: status, label: t(`statuses.${status}`) }))}
        value={draft.values.status}
        onChoose={(status) => draft.choose({ status })}
      />
      <TextFilter {...field('from')} type="date" />
      <TextFilter {...field('to')} type="date" />
      <TextFilter {...field('currency')} maxLength={3} placeholder={t('filters.currencyHint')} />
      <TextFilter
        {...field('last_four')}
        inputMode="numeric"
        error={draft.faults.last_four && t('filters.fourDigits')}
      />
    </FilterForm>
  );
}
