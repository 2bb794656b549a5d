import { useQueryClient } from '@tanstack/react-query';
import { isFailing, useIsFailing } from '../api/failed-queries.ts';
import { isServiceAvailable, useRetryWhileOffline } from '../api/use-retry.ts';
import { useSessionControls } from './session.tsx';

/** Reloads failed data automatically when the service responds again. */
export function AutoRefetch(): null {
  const client = useQueryClient();
  const { refresh } = useSessionControls();
  useRetryWhileOffline(useIsFailing(), async () => {
    if (!(await isServiceAvailable())) return;
    // The session is checked first.
    await refresh();
    await client.refetchQueries({ predicate: isFailing });
  });
  return null;
}
