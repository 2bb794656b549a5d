import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import type { Definition } from '../../../wire/definition.ts';
import { type CallArgs, type CallError, call, isTransient } from './call.ts';
import { hasFailed } from './failed-queries.ts';
import { useStaleData } from './stale-data.ts';

interface PagedData {
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
}

/** Reads a list page by page. The cursor goes into the query or the body. New arguments start at the first page. */
export function useReadPages<Body, Query, Data extends PagedData>(
  definition: Definition<Body, Query, Data>,
  args: CallArgs<Body, Query>,
) {
  const { params, query, body } = args;
  const client = useQueryClient();
  const queryKey = [definition.path, 'pages', params ?? {}, query ?? {}, body ?? {}];
  const infinite = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam: cursor }) =>
      call(definition, cursor === undefined ? args : withCursor(definition, args, cursor), hasFailed(client, queryKey)),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: Data) => next ?? undefined,
    staleTime: 15_000,
    retry: (count, error) => (error as CallError).status >= 500 && count < 2,
    refetchOnWindowFocus: false,
  });
  const failure = infinite.error as CallError | null;
  const { data, error } = useStaleData(JSON.stringify(queryKey), infinite.data, failure);
  return {
    pages: data?.pages,
    // An error of "show more" is shown below the list.
    error: failure !== null && isTransient(failure) && infinite.isFetchNextPageError ? failure : error,
    retry: () => void (infinite.isFetchNextPageError ? infinite.fetchNextPage() : infinite.refetch()),
    /** Property `next` of DataTable. */
    next: infinite.hasNextPage
      ? { onClick: () => void infinite.fetchNextPage(), isLoading: infinite.isFetchingNextPage }
      : undefined,
  };
}

const withCursor = <Body, Query>({ method }: { method: string }, args: CallArgs<Body, Query>, cursor: string) =>
  method === 'GET'
    ? { ...args, query: { ...args.query, cursor } as Query }
    : { ...args, body: { ...args.body, cursor } as Body };
