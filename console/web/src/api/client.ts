import { QueryClient } from '@tanstack/react-query';

/** What pages have read. */
export const newClient = (): QueryClient =>
  new QueryClient({
    // Sent and refused at once without a network, so that nothing waits unseen and is done later.
    defaultOptions: { queries: { networkMode: 'always' }, mutations: { networkMode: 'always', retry: false } },
  });
