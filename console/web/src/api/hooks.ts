import {
  keepPreviousData,
  type UseMutationOptions,
  type UseMutationResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useCallback, useEffect, useRef } from 'react';
import type { Definition } from '../../../wire/definition.ts';
import { useStepUp } from '../session/step-up.tsx';
import { type CallArgs, CallError, call } from './call.ts';
import { hasFailed } from './failed-queries.ts';
import { useStaleData } from './stale-data.ts';

interface ReadOptions {
  /** Again after so many milliseconds, without keeping the session alive. */
  readonly refetchIntervalMs?: number;
  readonly enabled?: boolean;
  /** Shows what was read before while other arguments are on their way, as when a filter changes. */
  readonly keepPrevious?: boolean;
  /** Also when it was read a moment ago, as by the counts beside the links: a page shows what is there when it is opened. */
  readonly refetchOnMount?: boolean;
}

const SECOND_MS = 1000;

/** Data of a page. Its key is the call itself, so pages that show the same share it. */
export function useRead<Body, Query, Data>(
  definition: Definition<Body, Query, Data>,
  args: CallArgs<Body, Query> = {},
  { refetchIntervalMs, enabled = true, keepPrevious = false, refetchOnMount = false }: ReadOptions = {},
) {
  const client = useQueryClient();
  const queryKey = [definition.path, args.params ?? {}, args.query ?? {}, args.body ?? {}];
  const query = useQuery<Data, CallError>({
    queryKey,
    queryFn: () => {
      const isRefetch = refetchIntervalMs !== undefined && client.getQueryData(queryKey) !== undefined;
      return call(definition, args, isRefetch || hasFailed(client, queryKey));
    },
    enabled,
    staleTime: 15 * SECOND_MS,
    retry: (count, error) => error.status >= 500 && count < 2,
    ...(refetchIntervalMs !== undefined && { refetchInterval: refetchIntervalMs }),
    ...(refetchOnMount && { refetchOnMount: 'always' }),
    // Its type asks for data that is no function, which no answer is.
    ...(keepPrevious && { placeholderData: keepPreviousData as never }),
  });
  const { data, error, isPending, refetch } = query;
  return { ...useStaleData(JSON.stringify(queryKey), data, error), isPending, refetch };
}

/**
 * Something that is done once, however often the button is pressed: while it is under way, another call of it does nothing,
 * and the outcome of the first stays. What a page shows is too late for that, because a second click can come before it.
 */
export function useOnce<Data, Variables = void>(
  options: UseMutationOptions<Data, CallError, Variables>,
): UseMutationResult<Data, CallError, Variables> {
  const mutation = useMutation<Data, CallError, Variables>(options);
  const isInProgress = useRef(false);
  const { mutate, mutateAsync, isPending, submittedAt } = mutation;
  // Only when the end of it is shown; until then the button that began it is still there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each one, also when it was over before it was shown
  useEffect(() => {
    if (!isPending) isInProgress.current = false;
  }, [isPending, submittedAt]);
  const start = useCallback((): boolean => {
    const isFirst = !isInProgress.current;
    isInProgress.current = true;
    return isFirst;
  }, []);
  const mutateOnce = useCallback<typeof mutate>((...args) => start() && mutate(...args), [start, mutate]);
  const mutateOnceAsync = useCallback<typeof mutateAsync>(
    // Whoever waits for another one waits for good: there is no outcome to go on with.
    (...args) => (start() ? mutateAsync(...args) : new Promise<never>(() => undefined)),
    [start, mutateAsync],
  );
  return { ...mutation, mutate: mutateOnce, mutateAsync: mutateOnceAsync };
}

/**
 * A change, made once. When the service wants the second factor again, the dialog asks for it and the change is sent once
 * more. What pages have read is read anew afterwards.
 */
export function useChange<Body, Data>(definition: Definition<Body, undefined, Data>) {
  const client = useQueryClient();
  const stepUp = useStepUp();
  return useOnce<Data, CallArgs<Body, undefined>>({
    mutationFn: async (args) => {
      try {
        return await call(definition, args);
      } catch (error) {
        if (!(error instanceof CallError) || error.code !== 'step_up_required') throw error;
        await stepUp(definition.dualControl);
        return call(definition, args);
      }
    },
    onSuccess: () => void client.invalidateQueries(),
  });
}
