import { notifyManager, type Query, type QueryClient, type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { showSession } from '../../../wire/session.ts';
import { CallError, isTransient } from './call.ts';

/** Is what could not be read the last time, so that nobody asks for it just now: the console itself looks again. */
export function hasFailed(client: QueryClient, queryKey: QueryKey): boolean {
  const state = client.getQueryState(queryKey);
  return state !== undefined && state.errorUpdatedAt > state.dataUpdatedAt;
}

/** What is on the screen, and could not be read the last time for a reason that may pass; also while it is tried again. */
export const isFailing = (query: Query): boolean => {
  const { error, errorUpdatedAt, dataUpdatedAt } = query.state;
  if (!query.isActive() || errorUpdatedAt <= dataUpdatedAt) return false;
  return error === null || (error instanceof CallError && isTransient(error));
};

const listFailing = (client: QueryClient): Query[] => client.getQueryCache().findAll({ predicate: isFailing });

function useQueryCache<Value extends boolean | number>(read: (client: QueryClient) => Value): Value {
  const client = useQueryClient();
  const subscribe = useCallback(
    (onChange: () => void) => client.getQueryCache().subscribe(notifyManager.batchCalls(onChange)),
    [client],
  );
  return useSyncExternalStore(subscribe, () => read(client));
}

/** Is anything on the screen that has to be read anew? */
export const useIsFailing = (): boolean => useQueryCache((client) => listFailing(client).length > 0);

/** When the oldest was read of what is on the screen and cannot be read anew; 0 when there is none. */
export const useOldestDataTime = (): number =>
  useQueryCache((client) => {
    const stale = listFailing(client).filter(({ state }) => state.data !== undefined);
    // Who is signed in is asked more often than what the page shows.
    const pageData = stale.filter(({ queryKey }) => queryKey[0] !== showSession.path);
    const times = (pageData.length === 0 ? stale : pageData).map(({ state }) => state.dataUpdatedAt);
    return times.length === 0 ? 0 : Math.min(...times);
  });

/** Does nobody answer at all? */
export const useIsOffline = (): boolean =>
  useQueryCache((client) =>
    listFailing(client).some(({ state }) => (state.error as CallError | null)?.code === 'offline'),
  );
