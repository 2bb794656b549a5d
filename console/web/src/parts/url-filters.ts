import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation, useSearchParams } from 'react-router';
import { ORDER_PARAMETER } from './sort-order.ts';

/**
 * Filters of a list. The address holds codes and days, so that it can be shared and browser history works. Free text
 * stays out of it, because it may be a card number by mistake: it is stored with the data of the session and dropped
 * with it.
 */
export function useFilters<Word extends string, Text extends string>(words: readonly Word[], texts: readonly Text[]) {
  const client = useQueryClient();
  const [search, setSearch] = useSearchParams();
  const key = ['filters', useLocation().pathname];
  const [, redraw] = useState(0);
  const textValues = client.getQueryData<Readonly<Record<string, string>>>(key) ?? {};
  const values = Object.fromEntries([
    ...words.map((name) => [name, search.get(name) ?? '']),
    ...texts.map((name) => [name, textValues[name] ?? '']),
  ]) as Record<Word | Text, string>;
  /** Returns false when the filters are the same as before. */
  const apply = (filters: Readonly<Record<Word | Text, string>>): boolean => {
    if ([...words, ...texts].every((name) => filters[name] === values[name])) return false;
    const pickNonEmpty = (names: readonly (Word | Text)[]) =>
      Object.fromEntries(names.map((name) => [name, filters[name]]).filter(([, value]) => value !== ''));
    storeTextFilters(client, key, pickNonEmpty(texts));
    setSearch((before) => {
      const order = before.get(ORDER_PARAMETER);
      return { ...pickNonEmpty(words), ...(order !== null && { [ORDER_PARAMETER]: order }) } as Record<string, string>;
    });
    redraw((count) => count + 1);
    return true;
  };
  const none = Object.fromEntries([...words, ...texts].map((name) => [name, ''])) as Record<Word | Text, string>;
  return {
    values,
    isFiltered: Object.values(values).some((value) => value !== ''),
    apply,
    /** Applies the filters of a saved view alone; names that the list does not have are ignored. */
    applyView: (view: Readonly<Record<string, string>>): void =>
      void apply(
        Object.fromEntries(Object.keys(none).map((name) => [name, view[name] ?? ''])) as Record<Word | Text, string>,
      ),
    clear: (): void => void apply(none),
  };
}

/** Sets the text filters of another page before a link opens it. */
export function useSetTextFilters(pathname: string): (texts: Readonly<Record<string, string>>) => void {
  const client = useQueryClient();
  return (texts) => storeTextFilters(client, ['filters', pathname], texts);
}

function storeTextFilters(client: QueryClient, key: readonly string[], texts: object): void {
  // Unobserved data must not be collected.
  client.setQueryDefaults(key, { gcTime: Number.POSITIVE_INFINITY });
  client.setQueryData(key, texts);
}

/** Trims copied values. */
export const trimFilters = <F extends Readonly<Record<string, string>>>(filters: F): F =>
  Object.fromEntries(Object.entries(filters).map(([name, value]) => [name, value.trim()])) as F;

/** Removes empty filters for a call. */
export const omitEmpty = (filters: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(filters).filter((each): each is [string, string] => Boolean(each[1])));
