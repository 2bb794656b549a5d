import { type AllowedNetwork, parseCidr } from '../../../src/accounts/allow-list.ts';
import { type ApiKey, keyStateAt, type StoredKey, type TamperedKey } from '../../../src/accounts/api-key.ts';
import { type SummaryLine, toSummaryLines } from '../../../src/accounts/change-control.ts';
import { assertDisplayableAttributes, type KeyAttributes } from '../../../src/accounts/issue-key.ts';
import { PERMISSIONS } from '../../../src/accounts/permission.ts';
import type { ValueOf } from '../../../src/http/fields.ts';
import { formatIso8601, formatIso8601OrNull } from '../../../src/kernel/clock.ts';
import { Failure, invalidField, notPossible } from '../../../src/kernel/failure.ts';
import { LIMITS } from '../../../src/kernel/limits.ts';
import { createKey, editKey, listKeys, revokeKey, rotateKey, searchKeys, showKey } from '../../wire/keys.ts';
import { type AnyCall, executed, type Route, route } from '../route.ts';
import { parseTimeInput } from '../user-input.ts';

type AttributesBody = ValueOf<NonNullable<typeof createKey.body>>;

export const keyRoutes: readonly Route[] = [
  route(listKeys, (call) => list(call)),

  route(searchKeys, (call) => list(call, call.body.text)),

  route(showKey, async (call) => ({ key: toKeyView(await getKey(call), call.now) })),

  route(
    createKey,
    async ({ services, transaction, account, tenant, body, now }) => {
      const attributes = parseAttributes(body, now);
      const { accounts } = services;
      const { key, secret } = await accounts.createKey(transaction, account, tenant.environment, attributes);
      return executed({ key: toKeyView(key, now), secret });
    },
    async ({ body, now }) => summarizeAttributes(parseAttributes(body, now)),
  ),

  route(
    editKey,
    async (call) => {
      const { services, transaction, body, now } = call;
      const key = await getAuthenticKey(call);
      const changes = changedAttributes(key, parseAttributes(body, now, key.expiresAt));
      if (Object.keys(changes).length === 0 && key.revision === body.revision)
        return executed({ key: toKeyView(key, now) });
      const edited = await services.accounts.editKey(transaction, key.id, changes, {
        account: key.account,
        expectedRevision: body.revision,
      });
      return executed({ key: toKeyView(edited, now) });
    },
    async (call) => {
      const key = await getAuthenticKey(call);
      if (key.revision !== call.body.revision) throw new Failure('changed_meanwhile');
      const changes = changedAttributes(key, parseAttributes(call.body, call.now, key.expiresAt));
      return [...summarizeKey(key), ...summarizeAttributes(changes)];
    },
  ),

  route(
    rotateKey,
    async (call) => {
      const { services, transaction, body, now } = call;
      const old = await getAuthenticKey(call);
      const { accounts } = services;
      const { key, secret } = await accounts.rotateKey(transaction, old.id, body.overlap_minutes, old.account);
      return executed({ key: toKeyView(key, now), secret });
    },
    async (call) => [
      ...summarizeKey(await getAuthenticKey(call)),
      { name: 'overlap_minutes', value: String(call.body.overlap_minutes) },
    ],
  ),

  route(revokeKey, async (call) => {
    const { services, transaction, account, now } = call;
    const { id } = await getKey(call);
    return { key: toKeyView(await services.accounts.revokeKey(transaction, id, account), now) };
  }),
];

/** `containing`: only keys that this text occurs in. */
async function list({ services, tenant, now, client }: AnyCall, containing?: string) {
  const keys = await services.accounts.listKeyViews(tenant, containing);
  return {
    keys: keys.map((key) => ({ ...toListedKeyView(key, now), networks: key.networks })),
    your_address: client.address,
  };
}

/** The key of the path. A key of another account or environment does not exist for the caller. Throws `unknown_record`. */
async function getKey({ services, tenant, params }: AnyCall): Promise<StoredKey> {
  const key = await services.accounts.findKey(tenant, params['id'] ?? '');
  if (key === undefined) throw new Failure('unknown_record');
  return key;
}

/** Returns the key of the path, to be changed. Throws `unknown_record`, and `not_possible` when its row was altered. */
async function getAuthenticKey(call: AnyCall): Promise<ApiKey> {
  const key = await getKey(call);
  if (key.isTampered) throw notPossible('keyAltered');
  return key;
}

/** Throws `invalid_field`. `present`: an expiry that may stay although it has passed. */
function parseAttributes(body: AttributesBody, now: number, present?: number): KeyAttributes {
  const expiresAt = parseTimeInput(body.expires_at, 'expires_at');
  if (expiresAt !== undefined && expiresAt <= now && expiresAt !== present) throw invalidField('expires_at', 'future');
  return {
    name: body.name,
    description: body.description ?? '',
    permissions: PERMISSIONS.filter((permission) => body.permissions.includes(permission)),
    allowList: body.allow_list.map(({ cidr, note }, index) => parseNetwork(cidr, note, index)),
    expiresAt,
  };
}

function parseNetwork(text: string, note: string | undefined, index: number): AllowedNetwork {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw invalidField(`allow_list[${index}].cidr`, 'address');
  return { cidr, note: note ?? '' };
}

/** Returns the changed attributes, which the audit log names. */
const changedAttributes = (key: ApiKey, attributes: KeyAttributes): Partial<KeyAttributes> =>
  Object.fromEntries(
    Object.entries(attributes).filter(
      ([name, value]) =>
        JSON.stringify(toComparable(name, value)) !==
        JSON.stringify(toComparable(name, key[name as keyof KeyAttributes])),
    ),
  );

/** Permissions are a set. */
const toComparable = (name: string, value: unknown): unknown =>
  name === 'permissions' ? [...(value as readonly string[])].sort() : value;

const summarizeKey = ({ name, prefix }: ApiKey): SummaryLine[] =>
  toSummaryLines([
    ['key', name],
    ['prefix', prefix],
  ]);

/** Throws what creating or changing the key would throw. */
const summarizeAttributes = (attributes: Partial<KeyAttributes>): SummaryLine[] => {
  assertDisplayableAttributes(attributes);
  const { name, description, permissions, allowList } = attributes;
  const hasEnd = Object.hasOwn(attributes, 'expiresAt');
  return toSummaryLines([
    ['name', name],
    ['description', description],
    ['permissions', permissions?.join(', ')],
    ...(allowList === undefined ? [] : summarizeNetworks(allowList)),
    ['expires_at', hasEnd ? (formatIso8601OrNull(attributes.expiresAt) ?? 'never') : undefined],
  ]);
};

/** Lines for networks with their notes; longer notes are left out. All networks fit without their notes. */
const NETWORK_LINES = 92;

/** Returns lines with every network, because an approver has to see all of them. */
function summarizeNetworks(networks: readonly AllowedNetwork[]): [string, string][] {
  const withNotes = packLines(networks.map(({ cidr, note }) => (note === '' ? cidr : `${cidr} (${note})`)));
  const lines = withNotes.length <= NETWORK_LINES ? withNotes : packLines(networks.map(({ cidr }) => cidr));
  return lines.map((line, index) => [index === 0 ? 'allow_list' : `allow_list ${index + 1}`, line]);
}

/** Joins texts into lines of limited length. */
function packLines(texts: readonly string[]): string[] {
  const lines: string[] = [];
  for (const text of texts) {
    const line = lines.length === 0 ? text : `${lines.at(-1)}, ${text}`;
    if (lines.length === 0 || line.length > LIMITS.summaryCharacters) lines.push(text);
    else lines[lines.length - 1] = line;
  }
  return lines.length === 0 ? [''] : lines;
}

const toKeyView = (key: StoredKey, now: number) => ({ ...toListedKeyView(key, now), allow_list: key.allowList });

function toListedKeyView(key: Omit<ApiKey, 'allowList'> | Omit<TamperedKey, 'allowList'>, now: number) {
  const state = keyStateAt(key, now);
  return {
    id: key.id,
    name: key.name,
    description: key.description,
    prefix: key.prefix,
    permissions: key.permissions,
    state: state === 'active' && key.successor !== undefined ? ('ending' as const) : state,
    successor: key.successor ?? null,
    created_at: formatIso8601(key.createdAt),
    expires_at: formatIso8601OrNull(key.expiresAt),
    revoked_at: formatIso8601OrNull(key.revokedAt),
    last_used_at: formatIso8601OrNull(key.lastUsedAt),
    revision: key.revision,
  };
}
