import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Definition } from '../../../src/console/wire/definition.ts';
import { useStepUp } from '../session/step-up.tsx';
import { type Args, CallError, call } from './call.ts';

interface ReadOptions {
  /** Again after so many milliseconds, without keeping the session alive. */
  readonly every?: number;
  readonly enabled?: boolean;
  /** Shows what was read before while other arguments are on their way, as when a filter changes. */
  readonly keep?: boolean;
}

const SECOND = 1000;

/** Data of a page. Its key is the call itself, so pages that show the same share it. */
export function useRead<Body, Query, Data>(
  definition: Definition<Body, Query, Data>,
  args: Args<Body, Query> = {},
  { every, enabled = true, keep = false }: ReadOptions = {},
) {
  const client = useQueryClient();
  const queryKey = [definition.path, args.params ?? {}, args.query ?? {}, args.body ?? {}];
  return useQuery<Data, CallError>({
    queryKey,
    queryFn: () => call(definition, args, every !== undefined && client.getQueryData(queryKey) !== undefined),
    enabled,
    staleTime: 15 * SECOND,
    retry: (count, error) => error.status >= 500 && count < 2,
    ...(every !== undefined && { refetchInterval: every }),
    // Its type asks for data that is no function, which no answer is.
    ...(keep && { placeholderData: keepPreviousData as never }),
  });
}

/**
 * A change. When the service wants the second factor again, the dialog asks for it and the change is sent once more. What
 * pages have read is read anew afterwards.
 */
export function useChange<Body, Data>(definition: Definition<Body, undefined, Data>) {
  const client = useQueryClient();
  const stepUp = useStepUp();
  return useMutation<Data, CallError, Args<Body, undefined>>({
    mutationFn: async (args) => {
      try {
        return await call(definition, args);
      } catch (error) {
        if (!(error instanceof CallError) || error.code !== 'step_up_required') throw error;
        await stepUp();
        return call(definition, args);
      }
    },
    onSuccess: () => void client.invalidateQueries(),
  });
}
