import { focusManager, QueryClient } from '@tanstack/react-query';
import { watchUse } from './in-use.ts';

/** Creates the cache of the data that pages have loaded. */
export function newClient(): QueryClient {
  // Periodic reads pause, and stale data is read again, by this state instead of by visibility alone.
  focusManager.setEventListener(watchUse);
  return new QueryClient({
    // Results of changes, such as a new key, leave the memory with their page.
    // Calls fail immediately without a network, so that none is queued and sent later.
    defaultOptions: {
      queries: { networkMode: 'always' },
      mutations: { networkMode: 'always', retry: false, gcTime: 0 },
    },
  });
}
