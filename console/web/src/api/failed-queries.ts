import { notifyManager, type Query, type QueryClient, type QueryKey, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { showSession } from '../../../wire/session.ts';
import { CallError, isTransient } from './call.ts';

/**
 * Returns true when the last read failed, so that the next one is a retry of the console and not an action of the user.
 */
export function hasFailed(client: QueryClient, queryKey: QueryKey): boolean {
  const state = client.getQueryState(queryKey);
  return state !== undefined && state.errorUpdatedAt > state.dataUpdatedAt;
}

/** Returns true for a query on the screen whose last read failed for a transient reason; also while it is retried. */
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

/** Returns true while data on the screen has to be reloaded. */
export const useIsFailing = (): boolean => useQueryCache((client) => listFailing(client).length > 0);

/** Returns the time of the oldest data on the screen that cannot be reloaded; 0 when there is none. */
export const useOldestDataTime = (): number =>
  useQueryCache((client) => {
    const stale = listFailing(client).filter(({ state }) => state.data !== undefined);
    // The session is read more often than the data of the page.
    const pageData = stale.filter(({ queryKey }) => queryKey[0] !== showSession.path);
    const times = (pageData.length === 0 ? stale : pageData).map(({ state }) => state.dataUpdatedAt);
    return times.length === 0 ? 0 : Math.min(...times);
  });

/** Returns true when the service does not respond at all. */
export const useIsOffline = (): boolean =>
  useQueryCache((client) =>
    listFailing(client).some(({ state }) => (state.error as CallError | null)?.code === 'offline'),
  );
