import { type InfiniteData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useRef, useState } from 'react';
import type { Definition } from '../../../wire/definition.ts';
import { type CallArgs, type CallError, call, isTransient } from './call.ts';
import { hasFailed } from './failed-queries.ts';
import { mergeNewest } from './live-rows.ts';
import { useStaleData } from './stale-data.ts';

/** Interval of the reads of a list that is on the screen. */
export const LIST_POLL_MS = 5000;
/** A read that takes long is repeated less often: at most this part of the time is spent on it. */
const POLL_SHARE = 1 / 50;
/** A longer list is not polled. */
const MAX_POLLED_ROWS = 1000;

interface PagedData {
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
}

/** Names of the members that are lists. */
type ListName<Data> = { [Name in keyof Data]: Data[Name] extends readonly unknown[] ? Name : never }[keyof Data];
type RowOf<Data, Name extends keyof Data> = Data[Name] extends readonly (infer Row)[] ? Row : never;

interface ListRows<Data, Name extends keyof Data> {
  /** Member of a page that has its rows. */
  readonly rows: Name;
  readonly key: (row: RowOf<Data, Name>) => string;
}

/** Version and extent of a list that is polled, for `DataTable`. */
export interface LiveList {
  /** Changes with every list that the user requested, which is then shown as it is. */
  readonly version: string;
  /** True when more than the newest page is on the screen. */
  readonly isDeep: boolean;
}

/** A list as it is read. */
export interface ReadList<Data, Row> {
  readonly pages: readonly Data[] | undefined;
  readonly rows: readonly Row[] | undefined;
  readonly live: LiveList;
  readonly error: CallError | null;
  readonly retry: () => void;
  /** Reads the list again from its newest page. */
  readonly refresh: () => Promise<void>;
  /** Property `next` of `DataTable`. */
  readonly next: { readonly onClick: () => void; readonly isLoading: boolean } | undefined;
}

type Pages<Data> = InfiniteData<Data, string | undefined>;

/**
 * Reads a list page by page, and polls its newest page. The cursor goes into the query or the body. New arguments start
 * at the first page.
 */
export function useReadPages<Body, Query, Data extends PagedData, Name extends ListName<Data>>(
  definition: Definition<Body, Query, Data>,
  args: CallArgs<Body, Query>,
  list: ListRows<Data, Name>,
): ReadList<Data, RowOf<Data, Name>> {
  const { params, query, body } = args;
  const client = useQueryClient();
  const [refreshes, setRefreshes] = useState(0);
  const queryKey = [definition.path, 'pages', params ?? {}, query ?? {}, body ?? {}];
  const infinite = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam: cursor }) =>
      call(definition, cursor === undefined ? args : withCursor(definition, args, cursor), hasFailed(client, queryKey)),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: Data) => next ?? undefined,
    retry: (count, error) => (error as CallError).status >= 500 && count < 2,
    refetchOnWindowFocus: false,
  });
  // Equal as long as no page changes, so that a table knows when its rows do.
  const loaded = useMemo(
    () => infinite.data && { pages: infinite.data.pages, rows: infinite.data.pages.flatMap((page) => page[list.rows]) },
    [infinite.data, list.rows],
  ) as { readonly pages: readonly Data[]; readonly rows: readonly RowOf<Data, Name>[] } | undefined;
  const isPolled = loaded !== undefined && loaded.rows.length <= MAX_POLLED_ROWS && !infinite.isError;
  const pollError = useNewestPage(definition, args, { list, queryKey, isEnabled: isPolled });
  const failure = infinite.error as CallError | null;
  const key = JSON.stringify(queryKey);
  const { data, error } = useStaleData(key, loaded, failure ?? pollError);
  return {
    pages: data?.pages,
    rows: data?.rows,
    live: { version: `${key} ${refreshes}`, isDeep: (data?.pages.length ?? 0) > 1 },
    // An error of "show more" is shown below the list.
    error: failure !== null && isTransient(failure) && infinite.isFetchNextPageError ? failure : error,
    retry: () => void (infinite.isFetchNextPageError ? infinite.fetchNextPage() : infinite.refetch()),
    refresh: async () => {
      client.setQueryData<Pages<Data>>(
        queryKey,
        (before) => before && { pages: before.pages.slice(0, 1), pageParams: before.pageParams.slice(0, 1) },
      );
      await infinite.refetch();
      setRefreshes((count) => count + 1);
    },
    next: infinite.hasNextPage
      ? { onClick: () => void infinite.fetchNextPage(), isLoading: infinite.isFetchingNextPage }
      : undefined,
  };
}

interface NewestPage<Data, Name extends keyof Data> {
  readonly list: ListRows<Data, Name>;
  /** Key of the pages, into which the newest one is merged. */
  readonly queryKey: readonly unknown[];
  readonly isEnabled: boolean;
}

/** Polls the newest page of a list that is on the screen; returns the failure of the last poll. */
function useNewestPage<Body, Query, Data extends PagedData, Name extends keyof Data>(
  definition: Definition<Body, Query, Data>,
  args: CallArgs<Body, Query>,
  { list, queryKey, isEnabled }: NewestPage<Data, Name>,
): CallError | null {
  const client = useQueryClient();
  const lastTookMs = useRef(0);
  const { error } = useQuery<number, CallError>({
    queryKey: ['newest', ...queryKey],
    queryFn: async () => {
      const startedAt = performance.now();
      const state = client.getQueryState(queryKey);
      const newest = await call(definition, args, true);
      lastTookMs.current = performance.now() - startedAt;
      const after = client.getQueryState(queryKey);
      // The pages that were read or are being read in the meantime are newer.
      if (after?.fetchStatus === 'idle' && after.dataUpdatedAt === state?.dataUpdatedAt)
        client.setQueryData<Pages<Data>>(queryKey, (before) => before && withNewest(before, newest, list));
      return Date.now();
    },
    // The pages themselves have just been read.
    initialData: Date.now,
    staleTime: LIST_POLL_MS,
    refetchOnMount: false,
    refetchInterval: () => Math.max(LIST_POLL_MS, lastTookMs.current / POLL_SHARE),
    retry: false,
    enabled: isEnabled,
  });
  return error;
}

/** One page is replaced. The rows of several move to the first one, because their ends move with every new row. */
function withNewest<Data extends PagedData, Name extends keyof Data>(
  { pages, pageParams }: Pages<Data>,
  newest: Data,
  list: ListRows<Data, Name>,
): Pages<Data> {
  const before = pages.flatMap((page) => rowsOf(page, list));
  const merged = mergeNewest(rowsOf(newest, list), before, list.key);
  if (pages.length === 1 || merged.length === rowsOf(newest, list).length)
    return { pages: [newest], pageParams: [undefined] };
  return { pages: pages.map((page, index) => ({ ...page, [list.rows]: index === 0 ? merged : [] })), pageParams };
}

const rowsOf = <Data, Name extends keyof Data>(page: Data, { rows }: ListRows<Data, Name>) =>
  page[rows] as readonly RowOf<Data, Name>[];

const withCursor = <Body, Query>({ method }: { method: string }, args: CallArgs<Body, Query>, cursor: string) =>
  method === 'GET'
    ? { ...args, query: { ...args.query, cursor } as Query }
    : { ...args, body: { ...args.body, cursor } as Body };
