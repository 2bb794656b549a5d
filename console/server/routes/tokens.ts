import { toSummaryLines } from '../../../src/accounts/change-control.ts';
import type { ValueOf } from '../../../src/http/fields.ts';
import { formatIso8601 } from '../../../src/kernel/clock.ts';
import { formatLongExpiry } from '../../../src/kernel/expiry.ts';
import { Failure, invalidField } from '../../../src/kernel/failure.ts';
import { truncatePans } from '../../../src/kernel/pan.ts';
import type { Page } from '../../../src/storage/pagination.ts';
import type { TokenSearch, TokenView } from '../../../src/vault/token-queries.ts';
import { exportTokens } from '../../wire/exports.ts';
import { deleteToken, listTokens, showToken, type TOKEN_SEARCHES } from '../../wire/records.ts';
import { translateErrors } from '../error-translation.ts';
import { exportList, toExportedPage } from '../list-export.ts';
import { type AnyCall, executed, type Route, route, streamRoute } from '../route.ts';

const SEARCHES: Readonly<Record<(typeof TOKEN_SEARCHES)[number], TokenSearch['by']>> = {
  token: 'token',
  tag: 'tag',
  last_four: 'last-four',
  bin: 'bin',
};

const FIELD_NAMES = { text: 'value' };

export const tokenRoutes: readonly Route[] = [
  route(listTokens, async (call) => {
    const { services, tenant, body } = call;
    const page = await readPage(call, body, body.cursor);
    const count = async () => (body.by === undefined ? services.tokenQueries.countListed(tenant) : undefined);
    return {
      tokens: page.items.map(toTokenView),
      next: page.cursor ?? null,
      count: await services.listCounts.ofPage(listTokens, call, page, count),
    };
  }),

  streamRoute(exportTokens, (call) =>
    exportList(call, {
      name: 'tokens',
      access: exportTokens.access,
      columns: TOKEN_COLUMNS,
      codeFilters: ['by', 'order'],
      page: async (cursor) => toExportedPage(await readPage(call, call.body.filter, cursor), toTokenView),
    }),
  ),

  route(showToken, async (call) => toTokenView(await getTokenOfPath(call))),

  route(
    deleteToken,
    async (call) => {
      const { services, transaction, tenant, params } = call;
      const [deletion] = await services.vault.delete(transaction, tenant, [params['token'] ?? '']);
      if (deletion?.deleted !== true) throw new Failure('unknown_record');
      return executed({ done: true });
    },
    async (call) => {
      const { token, details } = await getTokenOfPath(call);
      return toSummaryLines(Object.entries({ token, card: details?.truncated }));
    },
  ),
];

const TOKEN_COLUMNS = [
  'token',
  'created_at',
  'card',
  'scheme',
  'is_persistent',
  'name',
  'expiration',
  'tags',
  'created_by',
  'is_altered',
] as const;

function readPage(
  { services: { tokenQueries }, tenant }: Pick<AnyCall, 'services' | 'tenant'>,
  filter: Search,
  cursor: string | undefined,
): Promise<Page<TokenView>> {
  const search = parseSearch(filter);
  return translateErrors(FIELD_NAMES, () =>
    search === undefined
      ? tokenQueries.list(tenant, cursor, filter.order)
      : tokenQueries.search(tenant, search, cursor),
  );
}

/** Returns the token of the path. Throws `unknown_record`. */
async function getTokenOfPath({
  services: { tokenQueries },
  tenant,
  params,
}: Pick<AnyCall, 'services' | 'tenant' | 'params'>): Promise<TokenView> {
  const { items } = await tokenQueries.search(tenant, { by: 'token', text: params['token'] ?? '' });
  const [found] = items;
  if (found === undefined) throw new Failure('unknown_record');
  return found;
}

type Search = ValueOf<NonNullable<typeof listTokens.body>>;

/** Undefined for all. Throws `invalid_field`. */
function parseSearch({ by, value }: Search): TokenSearch | undefined {
  if (by === undefined && value === undefined) return undefined;
  if (by === undefined) throw invalidField('by', 'required');
  if (value === undefined) throw invalidField('value', 'required');
  return { by: SEARCHES[by], text: value };
}

const toTokenView = ({ token, scheme, isPersistent, createdAt, details }: TokenView) => ({
  token,
  card: details?.truncated ?? '',
  scheme,
  is_persistent: isPersistent,
  name: details?.name === undefined ? null : truncatePans(details.name),
  expiration: details?.expiry === undefined ? null : formatLongExpiry(details.expiry),
  tags: (details?.tags ?? []).map(truncatePans),
  created_by: details?.createdBy.name ?? '',
  created_at: formatIso8601(createdAt),
  is_altered: details === undefined,
});
