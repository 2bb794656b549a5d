import { useTranslation } from 'react-i18next';
import { STATUSES } from '../../../../../src/payments/transitions.ts';
import { showOnboarding } from '../../../../wire/onboarding.ts';
import { useRead } from '../../api/hooks.ts';
import {
  ChoiceFilter,
  type FilterDraft,
  FilterForm,
  type FilterFormProps,
  TextFilter,
  useFilterDraft,
} from '../../parts/filter-form.tsx';
import { useTenant } from '../../session/tenant.ts';
import { type Fault, type Filters, findFaults, MORE_FILTERS } from './filters.ts';

/** Listed with the statuses, where users search for it. */
const IN_DOUBT = 'in-doubt';

type Name = keyof Filters;

export function PaymentFilters(filters: FilterFormProps<Name>) {
  const { t } = useTranslation('payments');
  const { t: statusText } = useTranslation('status');
  const draft = useFilterDraft<Name, Fault>(filters, { more: MORE_FILTERS, findFaults });
  const { values, choose } = draft;
  const field = useField(draft);
  return (
    <FilterForm draft={draft} filters={filters} more={<MoreFilters {...draft} />}>
      <TextFilter {...field('id')} placeholder={t('filters.idHint')} />
      <ChoiceFilter
        label={t('filters.status')}
        data={([...STATUSES, IN_DOUBT] as const).map((status) => ({ value: status, label: statusText(status) }))}
        value={values.in_doubt === 'yes' ? IN_DOUBT : values.status}
        onChoose={(word) =>
          choose(word === IN_DOUBT ? { in_doubt: 'yes', status: '' } : { in_doubt: '', status: word })
        }
      />
      <TextFilter {...field('from')} type="date" />
      <TextFilter {...field('to')} type="date" />
    </FilterForm>
  );
}

/** Returns the properties of a field that every text has. */
function useField(draft: FilterDraft<Name, Fault>) {
  const { t } = useTranslation('payments');
  return (name: Exclude<Name, 'in_doubt'>) => {
    const fault = draft.faults[name];
    return { draft, name, label: t(`filters.${name}`), error: fault && t(`filters.${fault}`) };
  };
}

/** Returns the processors of the service and the selected one. */
function useProcessors(chosen: string): string[] {
  const { account } = useTenant();
  const { data } = useRead(showOnboarding, { params: { account } });
  const names = [...(data?.processors ?? []).map(({ name }) => name), chosen];
  return [...new Set(names)].filter((name) => name !== '');
}

function MoreFilters(draft: FilterDraft<Name, Fault>) {
  const { t } = useTranslation('payments');
  const field = useField(draft);
  const { values, choose } = draft;
  return (
    <>
      <ChoiceFilter
        label={t('filters.type')}
        data={(['authorization', 'payment'] as const).map((type) => ({ value: type, label: t(`type.${type}`) }))}
        value={values.type}
        onChoose={(type) => choose({ type })}
      />
      {(['amount_from', 'amount_to'] as const).map((name) => (
        <TextFilter key={name} {...field(name)} inputMode="decimal" placeholder={t('filters.amountHint')} />
      ))}
      <TextFilter {...field('currency')} placeholder={t('filters.currencyHint')} maxLength={3} />
      <TextFilter {...field('reference_code')} />
      <TextFilter {...field('last_four')} inputMode="numeric" />
      <ChoiceFilter
        label={t('filters.processor')}
        data={useProcessors(values.processor)}
        value={values.processor}
        onChoose={(processor) => choose({ processor })}
      />
    </>
  );
}
