import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import type { Definition } from '../../../wire/definition.ts';
import { type Args, type CallError, call, mayPass } from './call.ts';
import { hasFailed } from './failing.ts';
import { useShown } from './shown.ts';

interface Going {
  /** Where the next page begins; null at the end. */
  readonly next: string | null;
}

/**
 * A list that is read on, page after page; `cursor` goes where the call has its other words. Change the arguments and it
 * begins anew.
 */
export function useReadPages<Body, Query, Data extends Going>(
  definition: Definition<Body, Query, Data>,
  args: Args<Body, Query>,
) {
  const { params, query, body } = args;
  const client = useQueryClient();
  const queryKey = [definition.path, 'pages', params ?? {}, query ?? {}, body ?? {}];
  const reading = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam: cursor }) =>
      call(definition, cursor === undefined ? args : from(definition, args, cursor), hasFailed(client, queryKey)),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: Data) => next ?? undefined,
    staleTime: 15_000,
    retry: (count, error) => (error as CallError).status >= 500 && count < 2,
    refetchOnWindowFocus: false,
  });
  const failure = reading.error as CallError | null;
  const { data, error } = useShown(JSON.stringify(queryKey), reading.data, failure);
  return {
    pages: data?.pages,
    // Who asked for more is told where they asked.
    error: failure !== null && mayPass(failure) && reading.isFetchNextPageError ? failure : error,
    retry: () => void (reading.isFetchNextPageError ? reading.fetchNextPage() : reading.refetch()),
    /** For DataTable. */
    next: reading.hasNextPage
      ? { onClick: () => void reading.fetchNextPage(), isLoading: reading.isFetchingNextPage }
      : undefined,
  };
}

const from = <Body, Query>({ method }: { method: string }, args: Args<Body, Query>, cursor: string) =>
  method === 'GET'
    ? { ...args, query: { ...args.query, cursor } as Query }
    : { ...args, body: { ...args.body, cursor } as Body };
