import { NativeSelect, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from 'react-router';
import { LIMITS } from '../../../../../src/kernel/limits.ts';
import { TOKEN_SEARCHES } from '../../../../wire/records.ts';
import { FilterBar } from '../../parts/filter-bar.tsx';
import { findFault, type Search, type SearchFault, type SearchKind, toSearch } from './search.ts';
import classes from './tokens.module.css';

interface TokenSearchProps {
  readonly search: Search | undefined;
  readonly onSearch: (search: Search | undefined) => void;
  /** Error of the service about the value. */
  readonly serviceError: string | undefined;
}

/** Keeps the kind of search in the address. The value stays out of it, because it may be a card number by mistake. */
function useKind(search: Search | undefined): [SearchKind, (by: SearchKind) => void] {
  const [address, setAddress] = useSearchParams();
  const named = TOKEN_SEARCHES.find((each) => each === address.get('by'));
  // The address changes after the state, which decides whether a card number may be sent.
  const [by, setBy] = useState<SearchKind>(named ?? search?.by ?? 'token');
  const choose = (chosen: SearchKind): void => {
    setBy(chosen);
    setAddress(
      (before) => {
        before.set('by', chosen);
        return before;
      },
      { replace: true },
    );
  };
  return [by, choose];
}

/** Search form. Errors are shown before anything is sent. */
export function TokenSearch({ search, onSearch, serviceError }: TokenSearchProps) {
  const { t } = useTranslation('tokens');
  const [by, setBy] = useKind(search);
  const [typed, setTyped] = useState(search?.value ?? '');
  const [fault, setFault] = useState<SearchFault>();
  const apply = (): void => {
    const next = toSearch(by, typed);
    const found = findFault(next);
    setFault(found);
    if (found === undefined) onSearch(next);
  };
  const message = fault === undefined ? serviceError : t(`search.fault.${fault}`, { max: LIMITS.tagCharacters });
  return (
    <>
      <FilterBar
        onApply={apply}
        isFiltered={search !== undefined}
        onClear={() => {
          setTyped('');
          setFault(undefined);
          onSearch(undefined);
        }}
      >
        <NativeSelect
          label={t('search.kind')}
          data={TOKEN_SEARCHES.map((value) => ({ value, label: t(`search.${value}`) }))}
          value={by}
          onChange={(event) => {
            setBy(event.currentTarget.value as SearchKind);
            setFault(undefined);
          }}
        />
        <ValueField by={by} value={typed} onChange={setTyped} hasFault={message !== undefined} />
      </FilterBar>
      {message !== undefined && <Fault message={message} />}
    </>
  );
}

/** Names the fault for screen readers. */
const FAULT_ID = 'search-fault';

interface ValueFieldProps {
  readonly by: SearchKind;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hasFault: boolean;
}

function ValueField({ by, value, onChange, hasFault }: ValueFieldProps) {
  const { t } = useTranslation('tokens');
  return (
    <TextInput
      className={classes['value'] ?? ''}
      label={t('search.value')}
      placeholder={t(`search.hint.${by}`)}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={hasFault}
      {...(hasFault && { 'aria-describedby': FAULT_ID })}
      inputMode={by === 'last_four' || by === 'bin' ? 'numeric' : 'text'}
      type="search"
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
    />
  );
}

const Fault = ({ message }: { readonly message: string }) => (
  <Text id={FAULT_ID} role="alert" size="sm" c="var(--mantine-color-error)" className={classes['fault'] ?? ''}>
    {message}
  </Text>
);
