import type { CaptureDetail, CaptureFilter, CapturePage, CaptureView } from '../../../src/captures/capture-queries.ts';
import type { ValueOf } from '../../../src/http/fields.ts';
import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import { exportCaptures } from '../../wire/exports.ts';
import { deleteCapture, listCaptures, showCapture } from '../../wire/records.ts';
import { exportList, toExportedPage } from '../list-export.ts';
import { type AnyCall, type Route, route, streamRoute } from '../route.ts';
import { parseTimeInput } from '../user-input.ts';

export const captureRoutes: readonly Route[] = [
  route(listCaptures, async (call) => {
    const { services, tenant, body } = call;
    const { captureQueries, listCounts } = services;
    const page = await readPage(call, body, body.cursor);
    const count = () => captureQueries.countMatching(tenant, parseFilter(body));
    return {
      captures: page.items.map(toCaptureView),
      next: page.cursor ?? null,
      count: await listCounts.ofPage(listCaptures, call, page, count),
      searched_back_to: formatIso8601OrNull(page.searchedUntil),
    };
  }),

  streamRoute(exportCaptures, (call) =>
    exportList(call, {
      name: 'captures',
      access: exportCaptures.access,
      columns: ['id', 'created_at', 'expires_at', 'card', 'has_sad', 'amount', 'currency', 'is_altered'],
      codeFilters: ['status', 'currency', 'from', 'to', 'order'],
      page: async (cursor) => toExportedPage(await readPage(call, call.body.filter, cursor), toCaptureView),
    }),
  ),

  route(showCapture, async ({ services: { captureQueries }, tenant, params }) => {
    const found = await captureQueries.findDetail(tenant, params['id'] ?? '');
    if (found === undefined) throw new Failure('unknown_record');
    return { ...toCaptureView(found), additional_info: formatAdditionalInfo(found) };
  }),

  route(deleteCapture, async (call) => {
    const { services, transaction, tenant, params } = call;
    await services.captures.delete(transaction, tenant, params['id'] ?? '');
    return { done: true };
  }),
];

type Search = ValueOf<NonNullable<typeof listCaptures.body>>;

async function readPage(
  { services: { captureQueries }, tenant }: Pick<AnyCall, 'services' | 'tenant'>,
  filter: Search,
  cursor: string | undefined,
): Promise<CapturePage> {
  if (filter.id === undefined) return captureQueries.list(tenant, parseFilter(filter), cursor);
  const found = await captureQueries.find(tenant, filter.id);
  return { items: found === undefined ? [] : [found], cursor: undefined, searchedUntil: undefined };
}

/** Throws `invalid_field`. Clients write the currency in capitals. */
const parseFilter = (body: Search): CaptureFilter => ({
  status: body.status,
  currency: body.currency?.toUpperCase(),
  lastFour: body.last_four,
  from: parseTimeInput(body.from, 'from'),
  to: parseTimeInput(body.to, 'to'),
  order: body.order,
});

const toCaptureView = ({ id, card, hasSad, amount, currency, createdAt, expiresAt }: CaptureView) => ({
  id,
  card: card?.truncated ?? null,
  has_sad: hasSad,
  amount,
  currency,
  created_at: formatIso8601(createdAt),
  expires_at: formatIso8601(expiresAt),
  is_altered: card === undefined,
});

const INDENT = 2;

/** Numbers in it are formatted as they were written. */
const formatAdditionalInfo = ({ additionalInfo }: CaptureDetail): string | null =>
  Object.keys(additionalInfo).length === 0 ? null : JSON.stringify(additionalInfo, undefined, INDENT);
