import { Button, Select, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ENVIRONMENTS } from '../../../../../src/kernel/environment.ts';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { trimmed } from '../../parts/address-filters.ts';
import { FilterBar } from '../../parts/filter-bar.tsx';
import type { AuditFilters as Filters, useAuditFilters } from './filters.ts';
import { OUTCOMES } from './outcome.tsx';

/** Two beside each other on a phone. */
const WIDTH = { base: 'calc(50% - 6px)', xs: 170 };
/** Shown on demand. */
const RARE = ['target', 'outcome', 'environment'] as const;

type AuditFiltersProps = ReturnType<typeof useAuditFilters> & {
  /** More fields, that hold at once. */
  readonly children?: ReactNode;
};

export function AuditFilters({ values, apply, clear, isFiltered, children }: AuditFiltersProps) {
  const { t } = useTranslation('audit');
  const { t: words } = useTranslation('parts');
  const [typed, setTyped] = useState(values);
  const [showsMore, setShowsMore] = useState(RARE.some((name) => values[name] !== ''));
  const address = JSON.stringify(values);
  useEffect(() => setTyped(JSON.parse(address) as Filters), [address]);
  const applied = (wanted: Filters): void => {
    const next = trimmed({ ...wanted, actor: wanted.actor.replace(/\s+/g, ' ') });
    setTyped(next);
    apply(next);
  };
  const text = (name: keyof Filters, label: string, traits: { type?: 'date'; placeholder?: string } = {}) => (
    <TextInput
      {...traits}
      label={label}
      w={WIDTH}
      value={typed[name]}
      onChange={({ currentTarget: { value } }) => setTyped((before) => ({ ...before, [name]: value }))}
      maxLength={LIMITS.auditFilterCharacters}
      autoComplete="off"
      spellCheck={false}
    />
  );
  return (
    <FilterBar onApply={() => applied(typed)} isFiltered={isFiltered} onClear={clear}>
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
            value={typed.outcome || null}
            onChange={(outcome) => applied({ ...typed, outcome: outcome ?? '' })}
          />
          <Select
            label={t('filters.environment')}
            placeholder={t('filters.any')}
            w={WIDTH}
            clearable
            data={[
              ...ENVIRONMENTS.map((value) => ({ value, label: words(value) })),
              { value: 'none', label: t('filters.noEnvironment') },
            ]}
            value={typed.environment || null}
            onChange={(environment) => applied({ ...typed, environment: environment ?? '' })}
          />
        </>
      )}
      <Button variant="subtle" onClick={() => setShowsMore(!showsMore)} aria-expanded={showsMore}>
        {showsMore ? t('filters.fewer') : t('filters.more')}
      </Button>
    </FilterBar>
  );
}
