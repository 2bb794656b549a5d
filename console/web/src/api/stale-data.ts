import { useRef } from 'react';
import { type CallError, isTransient } from './call.ts';

interface ShownData<Data> {
  readonly data: Data | undefined;
  readonly error: CallError | null;
}

/**
 * What a page shows of what it reads. What was read stays when it cannot be read anew for a while, which the shell says;
 * it goes at once when the service says that it is not there, or not for this person. While it is tried again, the
 * failure before is still shown.
 */
export function useStaleData<Data>(key: string, data: Data | undefined, failure: CallError | null): ShownData<Data> {
  const last = useRef<{ readonly key: string; readonly error: CallError }>(undefined);
  if (failure !== null) last.current = { key, error: failure };
  else if (data !== undefined) last.current = undefined;
  const error = failure ?? (last.current?.key === key ? last.current.error : null);
  if (error === null) return { data, error };
  return isTransient(error) && data !== undefined ? { data, error: null } : { data: undefined, error };
}
