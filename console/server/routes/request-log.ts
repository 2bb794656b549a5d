import type { LoggedRequest, RequestFilter, RequestScope } from '../../../src/accounts/request-log-query.ts';
import { NO_ROUTE } from '../../../src/accounts/request-log-terms.ts';
import type { ValueOf } from '../../../src/http/fields.ts';
import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import type { Tenant } from '../../../src/kernel/environment.ts';
import { exportAllRequests, exportRequests } from '../../wire/exports.ts';
import { listAllRequests, listRequests } from '../../wire/request-log.ts';
import { exportList, toExportedPage } from '../list-export.ts';
import { type AnyCall, type ConsoleCall, type Route, route, streamRoute } from '../route.ts';
import { parseTimeInput } from '../user-input.ts';
import { resolveScope } from './audit-view.ts';

type Search = ValueOf<NonNullable<typeof listRequests.body>>;

/** The filter for requests of an unknown account. */
const NO_ACCOUNT = 'none';

export const requestLogRoutes: readonly Route[] = [
  route(listRequests, (call) => readLog(call, call.tenant, call.body)),

  streamRoute(exportRequests, (call) =>
    exportList(call, {
      name: 'requests',
      access: exportRequests.access,
      columns: REQUEST_COLUMNS,
      codeFilters: CODE_FILTERS,
      page: (cursor) => readExportedPage(call, call.tenant, cursor),
    }),
  ),

  route(listAllRequests, (call) => {
    const { account: _, environment: __, ...search } = call.body;
    return readLog(call, toScope(call.body), search);
  }),

  streamRoute(exportAllRequests, async (call) => {
    const scope = toScope(call.body.filter);
    return exportList(call, {
      name: 'requests',
      access: exportAllRequests.access,
      scope: await resolveScope(call, scope.account),
      columns: ['account', ...REQUEST_COLUMNS],
      codeFilters: ['account', 'environment', ...CODE_FILTERS],
      page: (cursor) => readExportedPage(call, scope, cursor),
    });
  }),
];

const toScope = ({ account, environment }: ValueOf<NonNullable<typeof listAllRequests.body>>): RequestScope => ({
  account: account === NO_ACCOUNT ? '' : account,
  environment,
});

const CODE_FILTERS = ['key', 'route', 'status', 'error', 'from', 'to', 'order'] as const;

const REQUEST_COLUMNS = [
  'at',
  'environment',
  'method',
  'route',
  'status',
  'duration_us',
  'error',
  'reason',
  'field',
  'request_id',
  'key_id',
  'key_name',
  'address',
  'repeats',
] as const;

async function readExportedPage(
  call: ConsoleCall<{ readonly filter: Search }, undefined>,
  scope: RequestScope,
  cursor: string | undefined,
) {
  const page = await call.services.requestLogQuery.list(scope, parseFilter(call.body.filter), cursor);
  const names = await readKeyNames(call, page.items);
  return toExportedPage(page, (request) => toExportedRequest(request, names));
}

function toExportedRequest(request: LoggedRequest, names: ReadonlyMap<string, string>) {
  const { api_key: key, ...view } = toRequestView(request, names);
  return { ...view, key_id: key?.id ?? null, key_name: key?.name ?? null };
}

/** Returns a page; the reader is recorded first, as one of the audit log is. Throws `invalid_field` and `unknown_record`. */
async function readLog(call: AnyCall, scope: RequestScope, search: Search) {
  const { requestLogQuery, auditReading, serviceInfo, clock } = call.services;
  const seen = await resolveScope(call, scope.account);
  const { cursor: position, order: _, ...filters } = search;
  const reading = { scope: seen, filters, list: scope.environment ?? '' };
  await auditReading.accessRecorder.record(clock, call, reading, 'requests.read');
  const { items, cursor, searchedUntil } = await requestLogQuery.list(scope, parseFilter(search), position);
  const names = await readKeyNames(call, items);
  return {
    requests: items.map((request) => toRequestView(request, names)),
    next: cursor ?? null,
    searched_back_to: formatIso8601OrNull(searchedUntil),
    routes: [...serviceInfo.apiRoutes, NO_ROUTE],
  };
}

/** Throws `invalid_field`. */
const parseFilter = ({
  key,
  route: path,
  status,
  error,
  request_id,
  address,
  from,
  to,
  order,
}: Search): RequestFilter => ({
  key,
  route: path,
  statuses: status,
  failure: error,
  requestId: request_id,
  address,
  from: parseTimeInput(from, 'from'),
  to: parseTimeInput(to, 'to'),
  order,
});

/** Returns names by the id of the key. The log has ids alone, so that a key has one name wherever it is shown. */
async function readKeyNames({ services }: AnyCall, requests: readonly LoggedRequest[]): Promise<Map<string, string>> {
  const names = new Map<string, string>();
  const keys = new Map(requests.map((request) => [request.key ?? '', request]));
  for (const [id, { account, environment }] of keys) {
    if (id === '') continue;
    const key = await services.accounts.findKey({ account, environment } as Tenant, id);
    if (key !== undefined) names.set(id, key.name);
  }
  return names;
}

const toRequestView = (request: LoggedRequest, names: ReadonlyMap<string, string>) => ({
  id: `${request.at}-${request.id}`,
  at: formatIso8601(request.at),
  account: request.account === '' ? null : request.account,
  environment: request.environment,
  method: request.method,
  route: request.route,
  status: request.status,
  duration_us: request.microseconds,
  error: request.failure ?? null,
  reason: request.reason ?? null,
  field: request.field ?? null,
  request_id: request.requestId,
  api_key: request.key === undefined ? null : { id: request.key, name: names.get(request.key) ?? null },
  address: request.address,
  repeats: request.repeats,
});
