import { toSummaryLines } from '../../../src/accounts/change-control.ts';
import { formatIso8601 } from '../../../src/kernel/clock.ts';
import { formatLongExpiry } from '../../../src/kernel/expiry.ts';
import { Failure, invalidField } from '../../../src/kernel/failure.ts';
import { truncatePans } from '../../../src/kernel/pan.ts';
import type { TokenSearch, TokenView } from '../../../src/vault/token-queries.ts';
import { deleteToken, listTokens, showToken, type TOKEN_SEARCHES } from '../../wire/records.ts';
import { translateErrors } from '../error-translation.ts';
import { type AnyCall, executed, type Route, route } from '../route.ts';

const SEARCHES: Readonly<Record<(typeof TOKEN_SEARCHES)[number], TokenSearch['by']>> = {
  token: 'token',
  tag: 'tag',
  last_four: 'last-four',
  bin: 'bin',
};

const FIELD_NAMES = { text: 'value' };

export const tokenRoutes: readonly Route[] = [
  route(listTokens, async ({ services: { tokenQueries }, tenant, body }) => {
    const search = parseSearch(body);
    const { items, cursor } = await translateErrors(FIELD_NAMES, () =>
      search === undefined ? tokenQueries.list(tenant, body.cursor) : tokenQueries.search(tenant, search, body.cursor),
    );
    return { tokens: items.map(toTokenView), next: cursor ?? null };
  }),

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

/** Undefined for all. Throws `invalid_field`. */
function parseSearch({
  by,
  value,
}: {
  readonly by?: keyof typeof SEARCHES | undefined;
  readonly value?: string | undefined;
}): TokenSearch | undefined {
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
