import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTenant } from '../../session/tenant.ts';
import type { Search } from './search.ts';

/**
 * What is looked for, also after a look at one of the tokens. It stands in no address, because it may be a card number
 * by mistake, and is gone with what the session has read.
 */
export function useSearch(): [Search | undefined, (search: Search | undefined) => void] {
  const client = useQueryClient();
  const { account, environment } = useTenant();
  const key = ['search for tokens', account, environment];
  const [, redraw] = useState(0);
  return [
    client.getQueryData<Search | null>(key) ?? undefined,
    (search) => {
      // Nothing observes it, which must not make it old.
      client.setQueryDefaults(key, { gcTime: Number.POSITIVE_INFINITY });
      client.setQueryData<Search | null>(key, search ?? null);
      redraw((count) => count + 1);
    },
  ];
}
