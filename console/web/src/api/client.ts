import { QueryClient } from '@tanstack/react-query';

/** Creates the cache of the data that pages have loaded. */
export const newClient = (): QueryClient =>
  new QueryClient({
    // Results of changes, such as a new key, leave the memory with their page.
    // Calls fail immediately without a network, so that none is queued and sent later.
    defaultOptions: {
      queries: { networkMode: 'always' },
      mutations: { networkMode: 'always', retry: false, gcTime: 0 },
    },
  });
