import { formatIso8601 } from '../../../src/kernel/clock.ts';
import type { HistoryEntry, Operation, Requester } from '../../../src/payments/payment.ts';
import type { PaymentDetail } from '../../../src/payments/payment-queries.ts';
import type { AnyCall } from '../route.ts';

/** Views of the history of a payment's operations, with the names of keys and users as they are now. */

/** Returns the name of a requester; undefined when it has none, or when its key or user no longer exists. */
export type NameOf = (requester: Requester) => string | undefined;

/** Loads the names of all keys and users in the history of a payment. */
export async function loadNames(
  { services, tenant }: Pick<AnyCall, 'services' | 'tenant'>,
  { operations }: PaymentDetail,
): Promise<NameOf> {
  const requesters = operations.flatMap(({ requestedBy, history }) => [requestedBy, ...history.map(({ by }) => by)]);
  const names = new Map<string, string | undefined>();
  for (const { type, id } of requesters.filter((requester) => requester !== undefined)) {
    if (id === undefined || names.has(id)) continue;
    if (type === 'key') names.set(id, (await services.accounts.findKey(tenant, id))?.name);
    if (type === 'person') names.set(id, (await services.people.people.findProfile(id))?.name);
  }
  return ({ id, name }) => name ?? (id === undefined ? undefined : names.get(id));
}

export const toRequesterView = (requester: Requester | undefined, nameOf: NameOf) =>
  requester === undefined ? null : { type: requester.type, id: requester.id ?? null, name: nameOf(requester) ?? null };

const toEntryView = (entry: HistoryEntry, nameOf: NameOf) => ({
  type: entry.type,
  at: formatIso8601(entry.at),
  problem: entry.problem ?? null,
  inquiries: entry.inquiries ?? null,
  status: entry.status ?? null,
  outcome: entry.outcome ?? null,
  by: toRequesterView(entry.by, nameOf),
  reason: entry.reason ?? null,
});

export const toHistoryView = ({ history }: Operation, nameOf: NameOf) =>
  history.map((entry) => toEntryView(entry, nameOf));
