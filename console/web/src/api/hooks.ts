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
import { type Args, CallError, call } from './call.ts';
import { hasFailed } from './failing.ts';
import { useShown } from './shown.ts';

interface ReadOptions {
  /** Again after so many milliseconds, without keeping the session alive. */
  readonly every?: number;
  readonly enabled?: boolean;
  /** Shows what was read before while other arguments are on their way, as when a filter changes. */
  readonly keep?: boolean;
  /** Also when it was read a moment ago, as by the counts beside the links: a page shows what is there when it is opened. */
  readonly anew?: boolean;
}

const SECOND = 1000;

/** Data of a page. Its key is the call itself, so pages that show the same share it. */
export function useRead<Body, Query, Data>(
  definition: Definition<Body, Query, Data>,
  args: Args<Body, Query> = {},
  { every, enabled = true, keep = false, anew = false }: ReadOptions = {},
) {
  const client = useQueryClient();
  const queryKey = [definition.path, args.params ?? {}, args.query ?? {}, args.body ?? {}];
  const reading = useQuery<Data, CallError>({
    queryKey,
    queryFn: () => {
      const isAgain = every !== undefined && client.getQueryData(queryKey) !== undefined;
      return call(definition, args, isAgain || hasFailed(client, queryKey));
    },
    enabled,
    staleTime: 15 * SECOND,
    retry: (count, error) => error.status >= 500 && count < 2,
    ...(every !== undefined && { refetchInterval: every }),
    ...(anew && { refetchOnMount: 'always' }),
    // Its type asks for data that is no function, which no answer is.
    ...(keep && { placeholderData: keepPreviousData as never }),
  });
  const { data, error, isPending, refetch } = reading;
  return { ...useShown(JSON.stringify(queryKey), data, error), isPending, refetch };
}

/**
 * Something that is done once, however often the button is pressed: while it is under way, another call of it does nothing,
 * and the outcome of the first stays. What a page shows is too late for that, because a second click can come before it.
 */
export function useOnce<Data, Given = void>(
  options: UseMutationOptions<Data, CallError, Given>,
): UseMutationResult<Data, CallError, Given> {
  const mutation = useMutation<Data, CallError, Given>(options);
  const isUnderWay = useRef(false);
  const { mutate, mutateAsync, isPending, submittedAt } = mutation;
  // Only when the end of it is shown; until then the button that began it is still there.
  // biome-ignore lint/correctness/useExhaustiveDependencies: after each one, also when it was over before it was shown
  useEffect(() => {
    if (!isPending) isUnderWay.current = false;
  }, [isPending, submittedAt]);
  const begins = useCallback((): boolean => {
    const isFirst = !isUnderWay.current;
    isUnderWay.current = true;
    return isFirst;
  }, []);
  const mutateOnce = useCallback<typeof mutate>((...args) => begins() && mutate(...args), [begins, mutate]);
  const mutateOnceAsync = useCallback<typeof mutateAsync>(
    // Whoever waits for another one waits for good: there is no outcome to go on with.
    (...args) => (begins() ? mutateAsync(...args) : new Promise<never>(() => undefined)),
    [begins, mutateAsync],
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
  return useOnce<Data, Args<Body, undefined>>({
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
