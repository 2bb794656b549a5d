import { Button, Select, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ENVIRONMENTS } from '../../../../../src/kernel/environment.ts';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { FilterBar } from '../../parts/filter-bar.tsx';
import { trimFilters } from '../../parts/url-filters.ts';
import type { AuditFilters as Filters, useAuditFilters } from './filters.ts';
import { OUTCOMES } from './outcome.tsx';

/** Two fields fit beside each other on a telephone. */
const WIDTH = { base: 'calc(50% - 6px)', xs: 170 };
/** Filters that are shown on request. */
const MORE_FILTERS = ['target', 'outcome', 'environment'] as const;

type AuditFiltersProps = ReturnType<typeof useAuditFilters> & {
  /** More fields, which apply immediately. */
  readonly children?: ReactNode;
};

export function AuditFilters({ values, apply, clear, isFiltered, children }: AuditFiltersProps) {
  const { t } = useTranslation('audit');
  const { t: partsText } = useTranslation('parts');
  const [draft, setDraft] = useState(values);
  const [showsMore, setShowsMore] = useState(MORE_FILTERS.some((name) => values[name] !== ''));
  const address = JSON.stringify(values);
  useEffect(() => setDraft(JSON.parse(address) as Filters), [address]);
  const applyTrimmed = (filters: Filters): void => {
    const next = trimFilters({ ...filters, actor: filters.actor.replace(/\s+/g, ' ') });
    setDraft(next);
    apply(next);
  };
  const text = (name: keyof Filters, label: string, attributes: { type?: 'date'; placeholder?: string } = {}) => (
    <TextInput
      {...attributes}
      label={label}
      w={WIDTH}
      value={draft[name]}
      onChange={({ currentTarget: { value } }) => setDraft((before) => ({ ...before, [name]: value }))}
      maxLength={LIMITS.auditFilterCharacters}
      autoComplete="off"
      spellCheck={false}
    />
  );
  return (
    <FilterBar onApply={() => applyTrimmed(draft)} isFiltered={isFiltered} onClear={clear}>
      {children}
      {text('action', t('filters.action'), { placeholder: t('filters.actionHint') })}
      {text('actor', t('filters.actor'), { placeholder: t('filters.actorHint') })}
      {text('from', t('filters.from'), { type: 'date' })}
      {text('to', t('filters.to'), { type: 'date' })}
      {showsMore && (
        <>
          {text('target', t('filters.target'), { placeholder: t('filters.targetHint') })}
          <Select
            label={t('filters.outcome')}
            placeholder={t('filters.any')}
            w={WIDTH}
            clearable
            searchable
            data={OUTCOMES.map((value) => ({ value, label: t(`outcomes.${value}`) }))}
            value={draft.outcome || null}
            onChange={(outcome) => applyTrimmed({ ...draft, outcome: outcome ?? '' })}
          />
          <Select
            label={t('filters.environment')}
            placeholder={t('filters.any')}
            w={WIDTH}
            clearable
            data={[
              ...ENVIRONMENTS.map((value) => ({ value, label: partsText(value) })),
              { value: 'none', label: t('filters.noEnvironment') },
            ]}
            value={draft.environment || null}
            onChange={(environment) => applyTrimmed({ ...draft, environment: environment ?? '' })}
          />
        </>
      )}
      <Button variant="subtle" onClick={() => setShowsMore(!showsMore)} aria-expanded={showsMore}>
        {showsMore ? t('filters.fewer') : t('filters.more')}
      </Button>
    </FilterBar>
  );
}
