import { setImmediate } from 'node:timers/promises';
import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext, extendContext, type Sealer, UnsealError } from '../crypto/seal.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Pan } from '../kernel/pan.ts';
import {
  blob,
  type Database,
  integer,
  isAlteration,
  type Row,
  revision,
  text,
  type Value,
  type Write,
  write,
} from '../storage/database.ts';
import type { DigestColumn, RenewalParts } from '../storage/digest-columns.ts';
import type { SealedColumns } from '../storage/sealed-columns.ts';
import type { Table } from '../storage/table.ts';
import { BlindIndexes } from './blind-index.ts';
import { type FingerprintKeys, loadFingerprintKeys } from './fingerprint-keys.ts';
import { IssuableHalf } from './issuable-half.ts';
import { persistentFormat, type Scheme, type TokenFormat, type TokenSpace } from './scheme.ts';
import { fromSlot, rangeOfSpace, toSlot } from './slot.ts';
import { fromTokenRecord, type Token, toTokenRecord } from './token.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'tokens',
    key: ['account', 'environment', 'created_at', 'slot'],
    columns: {
      account: 'integer',
      environment: 'integer',
      created_at: 'integer',
      slot: 'blob',
      scheme: 'integer',
      format: 'text',
      fingerprint: 'blob',
      next_fingerprint: 'blob',
      fingerprint_version: 'integer',
      search: 'blob',
      record: 'blob',
      revision: 'integer',
      deleted_at: 'integer',
    },
  },
  {
    name: 'token_tags',
    key: ['account', 'environment', 'tag', 'created_at', 'slot'],
    columns: { account: 'integer', environment: 'integer', tag: 'blob', created_at: 'integer', slot: 'blob' },
  },
];

const COLUMNS = 'slot, scheme, record, revision, created_at';
const LIVE = 'record is not null';
const FIND_BY_SLOT = `select ${COLUMNS} from tokens where account = ?account and environment = ?environment and slot = ? and ${LIVE}`;
const FIND_BY_FINGERPRINT = `select ${COLUMNS} from tokens
  where account = ?account and environment = ?environment and fingerprint = ? and format = ? and ${LIVE}`;
/** While the key of fingerprints is replaced. With `or` SQLite would read all tokens of the tenant. */
const FIND_BY_TWO_FINGERPRINTS = `${FIND_BY_FINGERPRINT} union select ${COLUMNS} from tokens
  where account = ?account and environment = ?environment and next_fingerprint = ? and format = ? and ${LIVE}`;
const IS_TAKEN = 'select 1 as taken from tokens where account = ?account and environment = ?environment and slot = ?';
const LIST_TAKEN =
  'select slot from tokens where account = ?account and environment = ?environment and slot >= ? and slot < ? order by slot limit ?';

const INSERT_COLUMNS =
  'account, environment, created_at, slot, scheme, format, fingerprint, next_fingerprint, fingerprint_version, search, record, revision';
const INSERT = `insert into tokens (${INSERT_COLUMNS}) values (?account, ?environment, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1) on conflict do nothing`;
/** Phrased so that SQLite takes the index of `search`: with `=` it would read all tokens of the tenant by their primary key. */
const IS_TOKEN_PAN = `select 1 as found from tokens
  where account = ?account and environment = ?environment and search >= ? and search <= ? and fingerprint = ? limit 1`;
const isCapturePanSql = (fingerprints: number): string => `select 1 as found from captures
  where account = ?account and environment = ?environment and fingerprint in (${Array(fingerprints).fill('?').join(', ')}) limit 1`;
const UPDATE = `update tokens set record = ?, revision = revision + 1
  where account = ?account and environment = ?environment and slot = ? and revision = ? and ${LIVE}`;
const DELETE = `update tokens set format = null, fingerprint = null, next_fingerprint = null, search = null, record = null, deleted_at = ?
  where account = ?account and environment = ?environment and slot = ? and revision = ? and ${LIVE}`;
/** A token that was altered may have any revision. */
const DELETE_ALTERED = `update tokens set format = null, fingerprint = null, next_fingerprint = null, search = null, record = null, deleted_at = ?
  where account = ?account and environment = ?environment and slot = ? and ${LIVE}`;
/** A tag that exists is written again, so that every run touches one row and many runs become one statement. */
const INSERT_TAG = `insert into token_tags (account, environment, tag, created_at, slot) values (?account, ?environment, ?, ?, ?)
  on conflict (account, environment, tag, created_at, slot) do update set slot = excluded.slot`;
const DELETE_TAG = `delete from token_tags
  where account = ?account and environment = ?environment and tag = ? and created_at = ? and slot = ?`;
/** Reads all tags of the tenant, and is only for tokens whose tags and time are unknown, because they were altered. */
const DELETE_TAGS_OF_SLOT =
  'delete from token_tags where account = ?account and environment = ?environment and slot = ?';
const LIST_PURGEABLE = 'select account, environment, slot from tokens where deleted_at <= ? limit ?';
const HAS_PURGEABLE = 'select 1 as due from tokens where deleted_at <= ? limit 1';
const PURGE =
  'delete from tokens where account = ?account and environment = ?environment and slot = ? and deleted_at <= ?';

/** A token with the revision it was read at. */
export interface StoredToken {
  readonly token: Token;
  readonly revision: number;
}

/** A token as it shall be, with what it was. */
export interface TokenUpdate extends StoredToken {
  readonly before: Token;
}

interface DeletableToken {
  readonly value: string;
  /** Undefined when the row was altered. */
  readonly stored: StoredToken | undefined;
}

/** The columns in clear that decide what a token is. */
type ClearColumns = Pick<Token, 'token' | 'scheme' | 'createdAt'>;

/** The part of the context of a record that all tokens of a tenant share. */
const tenantContext = ({ environment, account }: Tenant): EncryptionContext =>
  encryptionContext(environment, account, 'tokens');

/** Binds the ciphertext to the clear columns: a record with a changed scheme or time is not unsealed. */
const recordContext = (start: EncryptionContext, { token, scheme, createdAt }: ClearColumns): EncryptionContext =>
  extendContext(start, token, 'record', String(scheme), String(createdAt));

/**
 * Follows the writes of the tokens in the same unit: a unit that has the row of a token may write its tags.
 */
const insertTags = (rows: readonly Value[][]): Write[] =>
  rows.length === 0 ? [] : [{ sql: INSERT_TAG, rows, expectedRows: 1 }];

/** Rows of new tokens and of their tags. */
interface InsertedRows {
  readonly tokens: Value[][];
  readonly tags: Value[][];
}

const toInserts = ({ tokens, tags }: InsertedRows): Write[] => [
  { sql: INSERT, rows: tokens, expectedRows: 1 },
  ...insertTags(tags),
];

/** Matches no token; used for texts that cannot be one. */
const NO_SLOT = new Uint8Array(0);

const slotOrNone = (token: string): Uint8Array => toSlot(token) ?? NO_SLOT;

/** The keys of a store. */
interface StoreKeys {
  readonly fingerprints: FingerprintKeys;
  /** The key of the fingerprints of captures. */
  readonly panIndexKeys: DigestKeys;
  readonly half: IssuableHalf;
  readonly blindIndexes: BlindIndexes;
  /** When the keys were read. */
  readonly now: number;
}

/** The tokens of one tenant. */
export class TokenStore {
  readonly tenant: Tenant;
  /** The values of scheme 8 that this tenant may issue. */
  readonly half: IssuableHalf;
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #context: EncryptionContext;
  readonly #panIndexKeys: DigestKeys;
  #fingerprints: FingerprintKeys;
  #readAt: number;
  #refreshing: Promise<void> | undefined;
  readonly #blindIndexes: BlindIndexes;

  private constructor(
    database: Database,
    keyring: Keyring,
    tenant: Tenant,
    { fingerprints, panIndexKeys, half, blindIndexes, now }: StoreKeys,
  ) {
    this.#database = database;
    this.#keyring = keyring;
    this.tenant = tenant;
    this.#context = tenantContext(tenant);
    this.#fingerprints = fingerprints;
    this.#panIndexKeys = panIndexKeys;
    this.#readAt = now;
    this.half = half;
    this.#blindIndexes = blindIndexes;
  }

  static async load(database: Database, keyring: Keyring, tenant: Tenant, now = 0): Promise<TokenStore> {
    const fingerprints = await loadFingerprintKeys(database, keyring, tenant);
    const panIndexKeys = await keyring.digests({ ...tenant, purpose: 'pan-indexes' });
    // Created with the first token of any scheme: a backup with tokens has the key of the issuable half.
    const half = new IssuableHalf(await keyring.digestKey({ ...tenant, purpose: 'token-halves' }));
    return new TokenStore(database, keyring, tenant, {
      fingerprints,
      panIndexKeys,
      now,
      half,
      blindIndexes: await loadBlindIndexes(keyring, tenant),
    });
  }

  /** Reads again, after some seconds, how far rotations of keys are. */
  async refresh(now: number): Promise<void> {
    await this.#blindIndexes.refresh();
    if (Math.abs(now - this.#readAt) < LIMITS.keyRefreshMs) return;
    this.#refreshing ??= loadFingerprintKeys(this.#database, this.#keyring, this.tenant)
      .then((fingerprints) => {
        this.#fingerprints = fingerprints;
        this.#readAt = now;
      })
      .finally(() => {
        this.#refreshing = undefined;
      });
    await this.#refreshing;
  }

  async find(token: string): Promise<StoredToken | undefined> {
    const slot = toSlot(token);
    return slot === undefined
      ? undefined
      : this.#toStoredToken(await this.#database.read(FIND_BY_SLOT, ...this.#scope(), slot));
  }

  async findPersistent(pan: Pan, format: TokenFormat): Promise<StoredToken | undefined> {
    const rows = await this.#findByFingerprint(pan, persistentFormat(pan, format));
    const stored = await this.#toStoredToken(rows);
    // Fingerprints are not sealed: an attacker with write access to the database must not be able to exchange cards.
    if (stored !== undefined && stored.token.card.pan !== pan) throw new UnsealError();
    return stored;
  }

  #findByFingerprint(pan: Pan, format: string): Promise<Row[]> {
    const { claims, second } = { claims: this.#fingerprints.claims(pan), second: this.#fingerprints.second(pan) };
    if (second === undefined) return this.#database.read(FIND_BY_FINGERPRINT, ...this.#scope(), claims.first, format);
    const scope = this.#scope();
    return this.#database.read(FIND_BY_TWO_FINGERPRINTS, ...scope, claims.first, format, ...scope, second, format);
  }

  /** The data that deleting a token needs, also of an altered one. */
  async findDeletable(token: string): Promise<DeletableToken | undefined> {
    // A deletion removes the tags of every version.
    await this.#blindIndexes.refresh();
    const [row] = await this.#database.read(FIND_BY_SLOT, ...this.#scope(), slotOrNone(token));
    if (row === undefined) return undefined;
    return { value: token, stored: await ifAuthentic(this.#toStoredToken([row])) };
  }

  /** True for a token in use, or reserved after a deletion. */
  async isTaken(token: string): Promise<boolean> {
    return (await this.#database.read(IS_TAKEN, ...this.#scope(), slotOrNone(token))).length > 0;
  }

  /** True when this is the card number of a token or of a capture. */
  async isStoredPan(number: string): Promise<boolean> {
    for (const pan of this.#fingerprints.firsts(number))
      for (const index of this.#blindIndexes.all) {
        const search = index.search(number, pan);
        const found = await this.#database.read(IS_TOKEN_PAN, ...this.#scope(), search, search, pan);
        if (found.length > 0) return true;
      }
    const ofCaptures = (await this.#panIndexKeys.refresh()).listFingerprints(number);
    return (await this.#database.read(isCapturePanSql(ofCaptures.length), ...this.#scope(), ...ofCaptures)).length > 0;
  }

  /**
   * Returns tokens of a space from `first` on that are in use or reserved, in the order of the space, `limit` at most.
   */
  async listTaken(first: string, { head }: TokenSpace, limit: number): Promise<string[]> {
    const [, to] = rangeOfSpace(first, head.length);
    const rows = await this.#database.read(LIST_TAKEN, ...this.#scope(), slotOrNone(first), to, limit);
    return rows.map((row) => fromSlot(blob(row, 'slot')));
  }

  /** Conflicts when the token exists, or the card has a persistent token. */
  insert(tokens: readonly Token[], seal: Sealer, format: TokenFormat | undefined): Write[] {
    const rows = { tokens: [], tags: [] };
    for (const token of tokens) this.#addRows(rows, token, seal, format);
    return toInserts(rows);
  }

  /** The same for many tokens: other requests are served between some of them and the next. */
  async insertInTurns(tokens: readonly Token[], seal: Sealer, format: TokenFormat | undefined): Promise<Write[]> {
    const rows = { tokens: [], tags: [] };
    for (const [index, token] of tokens.entries()) {
      if (index > 0 && index % LIMITS.cardsPerTurn === 0) await setImmediate();
      this.#addRows(rows, token, seal, format);
    }
    return toInserts(rows);
  }

  #addRows(rows: InsertedRows, token: Token, seal: Sealer, format: TokenFormat | undefined): void {
    const slot = slotOrNone(token.token);
    rows.tokens.push(this.#row(token, slot, seal, format));
    this.#addTags(rows.tags, token, token.tags, slot);
  }

  /** Conflicts when the token was changed since it was read. */
  update(updates: readonly TokenUpdate[], seal: Sealer): Write[] {
    const { account, environment } = this.tenant;
    const rows: Value[][] = [];
    const tags: Value[][] = [];
    for (const { token, before, revision } of updates) {
      const slot = slotOrNone(token.token);
      const record = seal(recordContext(this.#context, token), toTokenRecord(token));
      rows.push([record, account, environment, slot, revision]);
      const added = token.tags.filter((tag) => !before.tags.includes(tag));
      this.#addTags(tags, token, added, slot);
    }
    return [{ sql: UPDATE, rows, expectedRows: 1 }, ...insertTags(tags)];
  }

  /** Conflicts when a token was changed or deleted since it was read: it may have other tags now. */
  delete(tokens: readonly DeletableToken[], at: number): Write[] {
    const authentic = tokens.flatMap(({ stored }) => stored ?? []);
    const tags: Value[][] = [];
    for (const { token } of authentic)
      for (const index of this.#blindIndexes.all)
        this.#addTags(tags, token, token.tags, slotOrNone(token.token), index);
    const keyOf = (token: string): Value[] => [...this.#scope(), slotOrNone(token)];
    const altered = tokens.filter(({ stored }) => stored === undefined).map(({ value }) => keyOf(value));
    const writes: Write[] = [
      {
        sql: DELETE,
        rows: authentic.map(({ token, revision }) => [at, ...keyOf(token.token), revision]),
        expectedRows: 1,
      },
      { sql: DELETE_ALTERED, rows: altered.map((key) => [at, ...key]), expectedRows: 1 },
      { sql: DELETE_TAG, rows: tags },
      { sql: DELETE_TAGS_OF_SLOT, rows: altered },
    ];
    return writes.filter(({ rows }) => rows.length > 0);
  }

  /** Adds the rows of these tags of a token. */
  #addTags(
    rows: Value[][],
    { createdAt }: Token,
    tags: readonly string[],
    slot: Uint8Array,
    index = this.#blindIndexes.current,
  ): void {
    const { account, environment } = this.tenant;
    for (const tag of index.tags(tags)) rows.push([account, environment, tag, createdAt, slot]);
  }

  #row(token: Token, slot: Uint8Array, seal: Sealer, format: TokenFormat | undefined): Value[] {
    const { account, environment } = this.tenant;
    const { createdAt, scheme } = token;
    const { pan } = token.card;
    const record = seal(recordContext(this.#context, token), toTokenRecord(token));
    const { first, second, version } = this.#fingerprints.claims(pan);
    const search = this.#blindIndexes.current.search(pan, first);
    const persistent = format === undefined ? null : persistentFormat(pan, format);
    return [account, environment, createdAt, slot, scheme, persistent, first, second, version, search, record];
  }

  async #toStoredToken([row]: Row[]): Promise<StoredToken | undefined> {
    if (row === undefined) return undefined;
    const token = await unsealToken(this.#keyring, this.tenant, row);
    return { token, revision: revision(row) };
  }

  #scope(): [string, string] {
    return [this.tenant.account, this.tenant.environment];
  }
}

const INDEX_PURPOSE = 'token-tags';

export const loadBlindIndexes = async (keyring: Keyring, tenant: Tenant): Promise<BlindIndexes> =>
  new BlindIndexes(await keyring.digests({ ...tenant, purpose: INDEX_PURPOSE }));

const toClearColumns = (row: Row): ClearColumns => ({
  token: fromSlot(blob(row, 'slot')),
  scheme: integer(row, 'scheme') as Scheme,
  createdAt: integer(row, 'created_at'),
});

const toTenant = (row: Row): Tenant => ({
  account: text(row, 'account'),
  environment: text(row, 'environment') as Environment,
});

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'tokens',
    purpose: 'tokens',
    scope: 'tenant',
    key: ['created_at', 'slot'],
    bound: ['scheme'],
    contexts: { record: (row) => recordContext(tenantContext(toTenant(row)), toClearColumns(row)) },
  },
];

const REPLACE_SEARCH = `update tokens set search = ?
  where account = ?account and environment = ?environment and created_at = ? and slot = ? and fingerprint = ? and search = ?`;

/** The digests are not sealed: those of an authentic record are computed again, whatever they were. */
export const DIGEST_COLUMNS: readonly DigestColumn[] = [
  {
    table: 'tokens',
    purpose: INDEX_PURPOSE,
    scope: 'tenant',
    key: ['created_at', 'slot'],
    column: 'search',
    selects: ['scheme', 'record', 'fingerprint'],
    renew: async ({ keyring, keys }, row) => {
      const tenant = toTenant(row);
      const token = await unsealIfAuthentic(keyring, tenant, row);
      if (token === undefined) return 'altered';
      const found = blob(row, 'fingerprint');
      const search = new BlindIndexes(keys).current.search(token.card.pan, found);
      const place = [tenant.account, tenant.environment, integer(row, 'created_at'), blob(row, 'slot')];
      return [write(REPLACE_SEARCH, [search, ...place, found, blob(row, 'search')], 1)];
    },
  },
  {
    table: 'token_tags',
    purpose: INDEX_PURPOSE,
    scope: 'tenant',
    key: ['tag', 'created_at', 'slot'],
    column: 'tag',
    renew: renewTag,
  },
];

/** A tag of a token that was deleted or altered belongs to nothing. */
async function renewTag({ database, keyring, keys }: RenewalParts, row: Row): Promise<readonly Write[] | 'altered'> {
  const tenant = toTenant(row);
  const [tag, slot, scope] = [blob(row, 'tag'), blob(row, 'slot'), [tenant.account, tenant.environment]];
  const [found] = await database.read(FIND_BY_SLOT, ...scope, slot);
  const token = found && (await unsealIfAuthentic(keyring, tenant, found));
  const indexes = new BlindIndexes(keys);
  const made = indexes.all.find((index) => index.hasMade(tag));
  const text = token?.tags.find((each) => made !== undefined && Buffer.compare(made.tag(each), tag) === 0);
  if (text === undefined) return 'altered';
  const place = [integer(row, 'created_at'), slot];
  return [
    write(DELETE_TAG, [...scope, tag, ...place], 1),
    write(INSERT_TAG, [...scope, indexes.current.tag(text), ...place], 1),
  ];
}

/** Unseals a row with slot, scheme, record and created_at. Throws `UnsealError`. */
async function unsealToken(keyring: Keyring, tenant: Tenant, row: Row): Promise<Token> {
  const columns = toClearColumns(row);
  const context = recordContext(tenantContext(tenant), columns);
  const record = await keyring.unseal(tenant, 'tokens', context, blob(row, 'record'));
  const token = fromTokenRecord(record.toString('utf8'), columns);
  record.fill(0);
  return token;
}

/** Undefined when the row was altered in the database. */
export const unsealIfAuthentic = (keyring: Keyring, tenant: Tenant, row: Row): Promise<Token | undefined> =>
  ifAuthentic(unsealToken(keyring, tenant, row));

const ifAuthentic = <Record>(unsealed: Promise<Record>): Promise<Record | undefined> =>
  unsealed.catch((error: unknown) => {
    if (isAlteration(error)) return undefined;
    throw error;
  });

export const hasPurgeableTokens = async (database: Database, before: number): Promise<boolean> =>
  (await database.read(HAS_PURGEABLE, before)).length > 0;

/** Frees the slots of tokens deleted before `before`; returns how many. */
export async function purgeDeletedTokens(database: Database, before: number, limit: number): Promise<number> {
  const rows = await database.read(LIST_PURGEABLE, before, limit);
  if (rows.length === 0) return 0;
  const slots = rows.map((row) => [text(row, 'account'), text(row, 'environment'), blob(row, 'slot'), before]);
  await database.commit({ writes: [{ sql: PURGE, rows: slots }] });
  return rows.length;
}
