import { Button, Select, TextInput } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { STATUSES } from '../../../../../src/payments/transitions.ts';
import { showOnboarding } from '../../../../wire/onboarding.ts';
import { useRead } from '../../api/hooks.ts';
import { FilterBar } from '../../parts/filter-bar.tsx';
import { trimFilters } from '../../parts/url-filters.ts';
import { useTenant } from '../../session/tenant.ts';
import { type Filters, findFaults, MORE_FILTERS, type usePaymentFilters } from './filters.ts';

/** Two fields fit beside each other on a telephone. */
const WIDTH = { base: 'calc(50% - 6px)', xs: 158 };
/** Listed with the statuses, where users search for it. */
const IN_DOUBT = 'in-doubt';

interface Draft {
  readonly values: Filters;
  readonly faults: ReturnType<typeof findFaults>;
  readonly change: (name: keyof Filters, value: string) => void;
  /** Applies immediately, with the other fields. */
  readonly choose: (chosen: Partial<Filters>) => void;
}

type PaymentFiltersProps = ReturnType<typeof usePaymentFilters> & {
  /** Searches again with the same filters. */
  readonly onRepeat: () => void;
};

export function PaymentFilters({ values, apply, clear, isFiltered, onRepeat }: PaymentFiltersProps) {
  const { t } = useTranslation('payments');
  const [draftValues, setDraftValues] = useState(values);
  const [isSubmitted, setSubmitted] = useState(false);
  const [showsMore, setShowsMore] = useState(MORE_FILTERS.some((name) => values[name] !== ''));
  const address = JSON.stringify(values);
  useEffect(() => {
    const applied = JSON.parse(address) as Filters;
    setDraftValues(applied);
    // A saved view may have them.
    if (MORE_FILTERS.some((name) => applied[name] !== '')) setShowsMore(true);
  }, [address]);
  const applyValid = (filters: Filters): void => {
    const next = trimFilters(filters);
    setDraftValues(next);
    const isValid = Object.keys(findFaults(next)).length === 0;
    setSubmitted(!isValid);
    if (isValid && !apply(next)) onRepeat();
  };
  const draft: Draft = {
    values: draftValues,
    faults: isSubmitted ? findFaults(draftValues) : {},
    change: (name, value) => setDraftValues({ ...draftValues, [name]: value }),
    choose: (chosen) => applyValid({ ...draftValues, ...chosen }),
  };
  return (
    <FilterBar onApply={() => applyValid(draftValues)} isFiltered={isFiltered} onClear={clear}>
      <CommonFilters {...draft} />
      {showsMore && <MoreFilters {...draft} />}
      <Button variant="subtle" onClick={() => setShowsMore(!showsMore)} aria-expanded={showsMore}>
        {showsMore ? t('filters.fewer') : t('filters.more')}
      </Button>
    </FilterBar>
  );
}

function TextFilter({
  name,
  label,
  draft,
  ...rest
}: { readonly name: keyof Filters; readonly label: string; readonly draft: Draft } & {
  readonly type?: 'date';
  readonly inputMode?: 'decimal' | 'numeric';
  readonly placeholder?: string;
  readonly maxLength?: number;
}) {
  const { t } = useTranslation('payments');
  const fault = draft.faults[name];
  return (
    <TextInput
      {...rest}
      label={label}
      w={WIDTH}
      value={draft.values[name]}
      onChange={(event) => draft.change(name, event.currentTarget.value)}
      error={fault && t(`filters.${fault}`)}
      autoComplete="off"
      spellCheck={false}
    />
  );
}

function CommonFilters(draft: Draft) {
  const { t } = useTranslation('payments');
  const { t: statusText } = useTranslation('status');
  const { values, choose } = draft;
  return (
    <>
      <TextFilter name="id" label={t('filters.id')} draft={draft} placeholder={t('filters.idHint')} />
      <Select
        label={t('filters.status')}
        placeholder={t('filters.any')}
        w={WIDTH}
        clearable
        data={([...STATUSES, IN_DOUBT] as const).map((status) => ({ value: status, label: statusText(status) }))}
        value={values.in_doubt === 'yes' ? IN_DOUBT : values.status || null}
        onChange={(word) =>
          choose(word === IN_DOUBT ? { in_doubt: 'yes', status: '' } : { in_doubt: '', status: word ?? '' })
        }
      />
      <TextFilter name="from" label={t('filters.from')} draft={draft} type="date" />
      <TextFilter name="to" label={t('filters.to')} draft={draft} type="date" />
    </>
  );
}

/** Returns the processors of the service and the selected one. */
function useProcessors(chosen: string): readonly string[] {
  const { account } = useTenant();
  const { data } = useRead(showOnboarding, { params: { account } });
  const names = [...(data?.processors ?? []).map(({ name }) => name), chosen];
  return [...new Set(names)].filter((name) => name !== '');
}

function MoreFilters(draft: Draft) {
  const { t } = useTranslation('payments');
  const { values, choose } = draft;
  const processors = useProcessors(values.processor);
  return (
    <>
      <Select
        label={t('filters.type')}
        placeholder={t('filters.any')}
        w={WIDTH}
        clearable
        data={(['authorization', 'payment'] as const).map((type) => ({ value: type, label: t(`type.${type}`) }))}
        value={values.type || null}
        onChange={(type) => choose({ type: type ?? '' })}
      />
      {(['amount_from', 'amount_to'] as const).map((name) => (
        <TextFilter
          key={name}
          name={name}
          label={t(`filters.${name}`)}
          draft={draft}
          inputMode="decimal"
          placeholder={t('filters.amountHint')}
        />
      ))}
      <TextFilter
        name="currency"
        label={t('filters.currency')}
        draft={draft}
        placeholder={t('filters.currencyHint')}
        maxLength={3}
      />
      <TextFilter name="reference_code" label={t('filters.reference')} draft={draft} />
      <TextFilter name="last_four" label={t('filters.lastFour')} draft={draft} inputMode="numeric" />
      <Select
        label={t('filters.processor')}
        placeholder={t('filters.any')}
        w={WIDTH}
        clearable
        data={processors}
        value={values.processor || null}
        onChange={(processor) => choose({ processor: processor ?? '' })}
      />
    </>
  );
}
