import { useSearchParams } from 'react-router';
import type { SortOrder } from '../../../../src/storage/sort-order.ts';

/** Parameter of the address of a list. */
export const ORDER_PARAMETER = 'order';

/** Returns the order of a list, which the address holds, and changes it. */
export function useSortOrder(): { readonly order: SortOrder; readonly toggle: () => void } {
  const [search, setSearch] = useSearchParams();
  const order = search.get(ORDER_PARAMETER) === 'oldest' ? 'oldest' : 'newest';
  const toggle = (): void =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      if (order === 'oldest') after.delete(ORDER_PARAMETER);
      else after.set(ORDER_PARAMETER, 'oldest');
      return after;
    });
  return { order, toggle };
}

/** Returns the field of a call. The service sorts the newest first without it. */
export const toOrderField = (order: SortOrder): { readonly order?: SortOrder } => (order === 'oldest' ? { order } : {});
