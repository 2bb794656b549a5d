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
  /** Searches again with the same filters. */
  readonly onRepeat: () => void;
  /** More fields, which apply immediately. */
  readonly children?: ReactNode;
};

export function AuditFilters({ values, apply, clear, isFiltered, onRepeat, children }: AuditFiltersProps) {
  const { t } = useTranslation('audit');
  const [draft, setDraft] = useState(values);
  const [showsMore, setShowsMore] = useState(MORE_FILTERS.some((name) => values[name] !== ''));
  const address = JSON.stringify(values);
  useEffect(() => setDraft(JSON.parse(address) as Filters), [address]);
  const applyTrimmed = (filters: Filters): void => {
    const next = trimFilters({ ...filters, actor: filters.actor.replace(/\s+/g, ' ') });
    setDraft(next);
    if (!apply(next)) onRepeat();
  };
  const field = (name: keyof Filters) => ({
    label: t(`filters.${name}`),
    value: draft[name],
    onChange: (value: string) => setDraft((before) => ({ ...before, [name]: value })),
  });
  return (
    <FilterBar onApply={() => applyTrimmed(draft)} isFiltered={isFiltered} onClear={clear}>
      {children}
      <TextFilter {...field('action')} placeholder={t('filters.actionHint')} />
      <TextFilter {...field('actor')} placeholder={t('filters.actorHint')} />
      <TextFilter {...field('from')} type="date" />
      <TextFilter {...field('to')} type="date" />
      {showsMore && (
        <>
          <TextFilter {...field('target')} placeholder={t('filters.targetHint')} />
          <Choices draft={draft} onChoose={(chosen) => applyTrimmed({ ...draft, ...chosen })} />
        </>
      )}
      <Button variant="subtle" onClick={() => setShowsMore(!showsMore)} aria-expanded={showsMore}>
        {showsMore ? t('filters.fewer') : t('filters.more')}
      </Button>
    </FilterBar>
  );
}

interface TextFilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: 'date';
  readonly placeholder?: string;
}

const TextFilter = ({ onChange, ...attributes }: TextFilterProps) => (
  <TextInput
    {...attributes}
    w={WIDTH}
    onChange={(event) => onChange(event.currentTarget.value)}
    maxLength={LIMITS.auditFilterCharacters}
    autoComplete="off"
    spellCheck={false}
  />
);

interface ChoicesProps {
  readonly draft: Filters;
  readonly onChoose: (chosen: Partial<Filters>) => void;
}

/** Filters of a fixed set of values, which apply immediately. */
function Choices({ draft, onChoose }: ChoicesProps) {
  const { t } = useTranslation('audit');
  const { t: partsText } = useTranslation('parts');
  const environments = ENVIRONMENTS.map((value) => ({ value, label: partsText(value) }));
  return (
    <>
      <Select
        label={t('filters.outcome')}
        placeholder={t('filters.any')}
        w={WIDTH}
        clearable
        searchable
        data={OUTCOMES.map((value) => ({ value, label: t(`outcomes.${value}`) }))}
        value={draft.outcome || null}
        onChange={(outcome) => onChoose({ outcome: outcome ?? '' })}
      />
      <Select
        label={t('filters.environment')}
        placeholder={t('filters.any')}
        w={WIDTH}
        clearable
        data={[...environments, { value: 'none', label: t('filters.noEnvironment') }]}
        value={draft.environment || null}
        onChange={(environment) => onChoose({ environment: environment ?? '' })}
      />
    </>
  );
}
