import type { CaptureDetail, CaptureView } from '../../../src/captures/capture-queries.ts';
import { formatIso8601 } from '../../../src/kernel/clock.ts';
import { Failure } from '../../../src/kernel/failure.ts';
import { deleteCapture, listCaptures, showCapture } from '../../wire/records.ts';
import { type Route, route } from '../route.ts';

export const captureRoutes: readonly Route[] = [
  route(listCaptures, async ({ services: { captureQueries }, tenant, query }) => {
    const { items, cursor } = await captureQueries.list(tenant, query.cursor);
    return { captures: items.map(toCaptureView), next: cursor ?? null };
  }),

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
