import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ENVIRONMENTS } from '../../../../../src/kernel/environment.ts';
import {
  ChoiceFilter,
  type FilterDraft,
  FilterForm,
  type FilterFormProps,
  TextFilter,
  useFilterDraft,
} from '../../parts/filter-form.tsx';
import { trimFilters } from '../../parts/url-filters.ts';
import type { AuditFilters as Filters } from './filters.ts';
import { OUTCOMES } from './outcome.tsx';

/** Filters that are shown on request. */
const MORE_FILTERS = ['target', 'outcome', 'environment'] as const;

type AuditFiltersProps = FilterFormProps<keyof Filters> & {
  /** More fields, which apply immediately. */
  readonly children?: ReactNode;
};

const normalize = (filters: Filters): Filters => trimFilters({ ...filters, actor: filters.actor.replace(/\s+/g, ' ') });

export function AuditFilters({ children, ...filters }: AuditFiltersProps) {
  const { t } = useTranslation('audit');
  const draft = useFilterDraft<keyof Filters>(filters, { more: MORE_FILTERS, normalize });
  const field = (name: keyof Filters) => ({ draft, name, label: t(`filters.${name}`) });
  return (
    <FilterForm
      draft={draft}
      filters={filters}
      more={
        <>
          <TextFilter {...field('target')} placeholder={t('filters.targetHint')} />
          <Choices {...draft} />
        </>
      }
    >
      {children}
      <TextFilter {...field('action')} placeholder={t('filters.actionHint')} />
      <TextFilter {...field('actor')} placeholder={t('filters.actorHint')} />
      <TextFilter {...field('from')} type="date" />
      <TextFilter {...field('to')} type="date" />
    </FilterForm>
  );
}

function Choices({ values, choose }: FilterDraft<keyof Filters>) {
  const { t } = useTranslation('audit');
  const { t: partsText } = useTranslation('parts');
  const environments = ENVIRONMENTS.map((value) => ({ value, label: partsText(value) }));
  return (
    <>
      <ChoiceFilter
        label={t('filters.outcome')}
        searchable
        data={OUTCOMES.map((value) => ({ value, label: t(`outcomes.${value}`) }))}
        value={values.outcome}
        onChoose={(outcome) => choose({ outcome })}
      />
      <ChoiceFilter
        label={t('filters.environment')}
        data={[...environments, { value: 'none', label: t('filters.noEnvironment') }]}
        value={values.environment}
        onChoose={(environment) => choose({ environment })}
      />
    </>
  );
}
