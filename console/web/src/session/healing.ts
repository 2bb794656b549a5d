import { useQueryClient } from '@tanstack/react-query';
import { isFailing, useIsFailing } from '../api/failing.ts';
import { isAnswering, useLookAgain } from '../api/look-again.ts';
import { useVisit } from './session.tsx';

/** Reads anew by itself what could not be read, as soon as the service answers. */
export function Healing(): null {
  const client = useQueryClient();
  const { refresh } = useVisit();
  useLookAgain(useIsFailing(), async () => {
    if (!(await isAnswering())) return;
    // First of all whether the person is still signed in.
    await refresh();
    await client.refetchQueries({ predicate: isFailing });
  });
  return null;
}
