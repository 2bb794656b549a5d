import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { STATUS_CLASSES } from '../../../../../src/accounts/request-log-terms.ts';
import {
  ChoiceFilter,
  FilterForm,
  type FilterFormProps,
  TextFilter,
  useFilterDraft,
} from '../../parts/filter-form.tsx';
import { API_ERRORS, useApiErrorText } from './api-errors.ts';
import { type RequestFilters as Filters, MORE_FILTERS } from './filters.ts';

export interface KeyChoice {
  readonly id: string;
  readonly name: string;
}

type RequestFiltersProps = FilterFormProps<keyof Filters> & {
  readonly keys: readonly KeyChoice[];
  readonly routes: readonly string[];
  /** More fields, which apply immediately. */
  readonly children?: ReactNode;
};

export function RequestFilters({ keys, routes, children, ...filters }: RequestFiltersProps) {
  const { t } = useTranslation('requestLog');
  const errorText = useApiErrorText();
  const draft = useFilterDraft<keyof Filters>(filters, { more: MORE_FILTERS });
  const text = (name: keyof Filters) => ({ draft, name, label: t(`filters.${name}`) });
  const choice = (name: keyof Filters) => ({
    label: t(`filters.${name}`),
    searchable: true,
    value: draft.values[name],
    onChoose: (value: string) => draft.choose({ [name]: value }),
  });
  const paths = [...new Set([...routes, draft.values.route])].filter((each) => each !== '');
  return (
    <FilterForm
      draft={draft}
      filters={filters}
      more={
        <>
          <ChoiceFilter {...choice('route')} data={paths} />
          <TextFilter {...text('address')} placeholder={t('filters.addressHint')} />
          <TextFilter {...text('from')} type="date" />
          <TextFilter {...text('to')} type="date" />
        </>
      }
    >
      {children}
      <ChoiceFilter
        {...choice('status')}
        data={STATUS_CLASSES.map((value) => ({ value, label: t(`statuses.${value}`) }))}
      />
      <ChoiceFilter {...choice('error')} data={API_ERRORS.map((value) => ({ value, label: errorText(value) }))} />
      <ChoiceFilter {...choice('key')} data={toKeyOptions(keys, draft.values.key)} />
      <TextFilter {...text('request_id')} />
    </FilterForm>
  );
}

/** Keys of one name stay apart by their ids; the chosen key is always among them. */
function toKeyOptions(keys: readonly KeyChoice[], chosen: string): { value: string; label: string }[] {
  const names = new Map(keys.map(({ id, name }) => [id, name]));
  if (chosen !== '' && !names.has(chosen)) names.set(chosen, chosen);
  const isShared = (name: string): boolean => [...names.values()].filter((each) => each === name).length > 1;
  return [...names].map(([value, name]) => ({ value, label: isShared(name) ? `${name} (${value})` : name }));
}
