import { Button, Select, type SelectProps, TextInput, type TextInputProps } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { LIMITS } from '../../../../src/kernel/limits.ts';
import { FilterBar } from './filter-bar.tsx';
import { trimFilters } from './url-filters.ts';

/** Two fields fit beside each other on a telephone. */
const WIDTH = { base: 'calc(50% - 6px)', xs: 164 };

type Values<Name extends string> = { readonly [Each in Name]: string };
type Faults<Name extends string, Fault> = { readonly [Each in Name]?: Fault };

/** The filters of a list, as `useFilters` returns them. */
export interface FilterFormProps<Name extends string> {
  readonly values: Values<Name>;
  readonly apply: (values: Values<Name>) => boolean;
  readonly clear: () => void;
  readonly isFiltered: boolean;
  /** Searches again with the same filters. */
  readonly onRepeat: () => void;
}

interface DraftOptions<Name extends string, Fault> {
  /** Filters that are shown on request. */
  readonly more?: readonly Name[];
  readonly normalize?: (values: Values<Name>) => Values<Name>;
  /** Returns what the service would reject. */
  readonly findFaults?: (values: Values<Name>) => Faults<Name, Fault>;
}

/** Filters as they are typed. */
export interface FilterDraft<Name extends string, Fault = never> {
  readonly values: Values<Name>;
  /** Empty before the user has searched with them. */
  readonly faults: Faults<Name, Fault>;
  readonly change: (name: Name, value: string) => void;
  /** Applies immediately, with the other fields. */
  readonly choose: (chosen: Partial<Values<Name>>) => void;
  readonly submit: () => void;
  readonly showsMore: boolean;
  readonly toggleMore: () => void;
}

/** Keeps what the user types until it is searched for. Fields follow the applied filters, for example of a saved view. */
export function useFilterDraft<Name extends string, Fault = never>(
  { values, apply, onRepeat }: FilterFormProps<Name>,
  { more = [], normalize = trimFilters, findFaults = () => ({}) }: DraftOptions<Name, Fault> = {},
): FilterDraft<Name, Fault> {
  const hasMore = more.some((name) => values[name] !== '');
  const applied = JSON.stringify(values);
  const [shown, setShown] = useState(applied);
  const [draft, setDraft] = useState(values);
  const [isRejected, setRejected] = useState(false);
  const [showsMore, setShowsMore] = useState(hasMore);
  if (shown !== applied) {
    setShown(applied);
    setDraft(values);
    setRejected(false);
    if (hasMore) setShowsMore(true);
  }
  const submit = (typed: Values<Name>): void => {
    const next = normalize(typed);
    setDraft(next);
    const isValid = Object.keys(findFaults(next)).length === 0;
    setRejected(!isValid);
    if (isValid && !apply(next)) onRepeat();
  };
  return {
    values: draft,
    faults: isRejected ? findFaults(draft) : {},
    change: (name, value) => setDraft((before) => ({ ...before, [name]: value })),
    choose: (chosen) => submit({ ...draft, ...chosen }),
    submit: () => submit(draft),
    showsMore,
    toggleMore: () => setShowsMore(!showsMore),
  };
}

interface FormProps {
  readonly draft: Pick<FilterDraft<string>, 'submit' | 'showsMore' | 'toggleMore'>;
  readonly filters: { readonly isFiltered: boolean; readonly clear: () => void };
  readonly children: ReactNode;
  /** Fields that are shown on request. */
  readonly more?: ReactNode;
}

/** The filters of a list: labeled fields, those on request, and the buttons. */
export function FilterForm({ draft: { submit, showsMore, toggleMore }, filters, children, more }: FormProps) {
  const { t } = useTranslation('lists');
  return (
    <FilterBar onApply={submit} isFiltered={filters.isFiltered} onClear={filters.clear}>
      {children}
      {showsMore && more}
      {more !== undefined && (
        <Button variant="subtle" onClick={toggleMore} aria-expanded={showsMore}>
          {showsMore ? t('filters.fewer') : t('filters.more')}
        </Button>
      )}
    </FilterBar>
  );
}

interface FieldProps<Name extends string> {
  readonly draft: Pick<FilterDraft<Name>, 'values' | 'change'>;
  readonly name: Name;
  readonly label: string;
}

type TextFieldProps<Name extends string> = FieldProps<Name> &
  Pick<TextInputProps, 'type' | 'inputMode' | 'placeholder' | 'maxLength' | 'error'>;

/** A filter that is searched for with Enter or the button. */
export const TextFilter = <Name extends string>({ draft, name, ...attributes }: TextFieldProps<Name>) => (
  <TextInput
    w={WIDTH}
    maxLength={LIMITS.searchCharacters}
    {...attributes}
    value={draft.values[name]}
    onChange={(event) => draft.change(name, event.currentTarget.value)}
    autoComplete="off"
    spellCheck={false}
  />
);

type ChoiceProps = Pick<SelectProps, 'label' | 'placeholder' | 'data' | 'searchable' | 'w'> & {
  /** Empty: none. */
  readonly value: string;
  readonly onChoose: (value: string) => void;
};

/** A filter with a set of values, which applies immediately. */
export function ChoiceFilter({ value, onChoose, ...attributes }: ChoiceProps) {
  const { t } = useTranslation('lists');
  return (
    <Select
      placeholder={t('filters.any')}
      w={WIDTH}
      {...attributes}
      clearable
      value={value || null}
      onChange={(chosen) => onChoose(chosen ?? '')}
    />
  );
}
