import { useRef } from 'react';
import { type CallError, isTransient } from './call.ts';

interface ShownData<Data> {
  readonly data: Data | undefined;
  readonly error: CallError | null;
}

/**
 * Keeps loaded data on the screen while it cannot be reloaded for a transient reason (the shell shows a bar). Drops it
 * as soon as the service says that it does not exist or is not permitted. While a retry is in progress, the previous
 * error stays.
 */
export function useStaleData<Data>(key: string, data: Data | undefined, failure: CallError | null): ShownData<Data> {
  const last = useRef<{ readonly key: string; readonly error: CallError }>(undefined);
  if (failure !== null) last.current = { key, error: failure };
  else if (data !== undefined) last.current = undefined;
  const error = failure ?? (last.current?.key === key ? last.current.error : null);
  if (error === null) return { data, error };
  return isTransient(error) && data !== undefined ? { data, error: null } : { data: undefined, error };
}
