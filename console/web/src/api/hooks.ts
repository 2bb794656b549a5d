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
import { useStepUp } from '../session/step-up-context.ts';
import { type CallArgs, CallError, call } from './call.ts';
import { hasFailed } from './failed-queries.ts';
import { useStaleData } from './stale-data.ts';

interface ReadOptions {
  /** Interval of periodic reads while the page is in use; they do not extend the session. */
  readonly refetchIntervalMs?: number;
  readonly enabled?: boolean;
  /** Keeps the previous data on the screen while new arguments load, for example after a change of a filter. */
  readonly keepPrevious?: boolean;
  /** Reads again when the page opens, even if another component has just read it. */
  readonly refetchOnMount?: boolean;
}

const SECOND_MS = 1000;

/** Reads the data of a page. The key is the call itself, so pages with the same call share the data. */
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
    staleTime: Math.min(15 * SECOND_MS, refetchIntervalMs ?? Number.POSITIVE_INFINITY),
    retry: (count, error) => error.status >= 500 && count < 2,
    ...(refetchIntervalMs !== undefined && { refetchInterval: refetchIntervalMs }),
    ...(refetchOnMount && { refetchOnMount: 'always' }),
    // The type excludes functions as data, and no response is a function.
    ...(keepPrevious && { placeholderData: keepPreviousData as never }),
  });
  const { data, error, isPending, refetch } = query;
  return { ...useStaleData(JSON.stringify(queryKey), data, error), isPending, refetch };
}

/**
 * Runs a mutation once, however often the button is pressed. While it is in progress, another call does nothing. The
 * state that React renders is too late for this, because a second click can come before it.
 */
export function useOnce<Data, Variables = void>(
  options: UseMutationOptions<Data, CallError, Variables>,
): UseMutationResult<Data, CallError, Variables> {
  const mutation = useMutation<Data, CallError, Variables>(options);
  const isInProgress = useRef(false);
  const { mutate, mutateAsync, isPending, submittedAt } = mutation;
  // The flag is cleared when the result is rendered; until then the button is still on the screen.
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
    // A second caller has no result to wait for, so its promise never settles.
    (...args) => (start() ? mutateAsync(...args) : new Promise<never>(() => undefined)),
    [start, mutateAsync],
  );
  return { ...mutation, mutate: mutateOnce, mutateAsync: mutateOnceAsync };
}

/** Runs a call; when the service requires the second factor, the dialog opens and the call is sent again. */
export function useSteppedUp(): <Data>(send: () => Promise<Data>, action?: string) => Promise<Data> {
  const stepUp = useStepUp();
  return useCallback(
    async (send, action) => {
      try {
        return await send();
      } catch (error) {
        if (!(error instanceof CallError) || error.code !== 'step_up_required') throw error;
        await stepUp(action);
        return send();
      }
    },
    [stepUp],
  );
}

/** Runs a change once, with the second factor where it is needed. Afterwards all loaded data is reloaded. */
export function useChange<Body, Data>(definition: Definition<Body, undefined, Data>) {
  const client = useQueryClient();
  const steppedUp = useSteppedUp();
  return useOnce<Data, CallArgs<Body, undefined>>({
    mutationFn: (args) => steppedUp(() => call(definition, args), definition.dualControl),
    onSuccess: () => void client.invalidateQueries(),
  });
}
