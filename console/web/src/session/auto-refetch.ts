import { useQueryClient } from '@tanstack/react-query';
import { isFailing, useIsFailing } from '../api/failed-queries.ts';
import { isServiceAvailable, useRetryWhileOffline } from '../api/use-retry.ts';
import { useSessionControls } from './session.tsx';

/** Reads anew by itself what could not be read, as soon as the service answers. */
export function AutoRefetch(): null {
  const client = useQueryClient();
  const { refresh } = useSessionControls();
  useRetryWhileOffline(useIsFailing(), async () => {
    if (!(await isServiceAvailable())) return;
    // First of all whether the person is still signed in.
    await refresh();
    await client.refetchQueries({ predicate: isFailing });
  });
  return null;
}
