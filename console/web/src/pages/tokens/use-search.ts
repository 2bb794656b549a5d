import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTenant } from '../../session/tenant.ts';
import type { Search } from './search.ts';

/**
 * Keeps the search while the user opens a token. It is not in the address, because it may be a card number by mistake,
 * and is dropped with the data of the session.
 */
export function useSearch(): [Search | undefined, (search: Search | undefined) => void] {
  const client = useQueryClient();
  const { account, environment } = useTenant();
  const key = ['search for tokens', account, environment];
  const [, redraw] = useState(0);
  return [
    client.getQueryData<Search | null>(key) ?? undefined,
    (search) => {
      // Unobserved data must not be collected.
      client.setQueryDefaults(key, { gcTime: Number.POSITIVE_INFINITY });
      client.setQueryData<Search | null>(key, search ?? null);
      redraw((count) => count + 1);
    },
  ];
}
