import type { KeyObject } from 'node:crypto';
import { FINGERPRINT_VERSION, fingerprint } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { type EncryptionContext, encryptionContext, type Sealer, UnsealError } from '../crypto/seal.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Pan } from '../kernel/pan.ts';
import { blob, type Database, integer, type Row, text, type Value, type Write } from '../storage/database.ts';
import type { Table } from '../storage/table.ts';
import { BlindIndexStore } from './blind-index-store.ts';
import { IssuableHalf } from './issuable-half.ts';
import { persistentFormat, type Scheme, type TokenFormat } from './scheme.ts';
import { fromSlot, toSlot } from './slot.ts';
import { fromTokenRecord, type Token, toTokenRecord } from './token.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'tokens',
    key: ['account', 'environment', 'created_at', 'slot'],
    columns: {
      account: 'text',
      environment: 'text',
      slot: 'text',
      scheme: 'integer',
      fingerprint: 'blob',
      fingerprint_version: 'integer',
      format: 'text',
      record: 'blob',
      revision: 'integer',
      created_at: 'integer',
      deleted_at: 'integer',
    },
  },
];

const COLUMNS = 'slot, scheme, record, revision, created_at';
const LIVE = 'record is not null';
const FIND_BY_SLOT = `select ${COLUMNS} from tokens where account = ? and environment = ? and slot = ? and ${LIVE}`;
const FIND_BY_FINGERPRINT = `select ${COLUMNS} from tokens
  where account = ? and environment = ? and fingerprint = ? and format = ? and ${LIVE}`;
const IS_TAKEN = 'select 1 as taken from tokens where account = ? and environment = ? and slot = ?';
const LIST_TAKEN =
  'select slot from tokens where account = ? and environment = ? and slot >= ? and slot < ? order by slot limit ?';

const INSERT_COLUMNS =
  'account, environment, slot, scheme, fingerprint, fingerprint_version, format, record, revision, created_at';
const INSERT = `insert into tokens (${INSERT_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, 1, ?) on conflict do nothing`;
/** Card numbers whose tokens do not hold first six and last four in their slots, and those of captures. */
const PAN_ELSEWHERE = `select 1 as found where exists (select 1 from tokens
    where account = ? and environment = ? and fingerprint = ? and scheme = 7)
  or exists (select 1 from captures where account = ? and environment = ? and fingerprint = ?)`;
const LIST_FINGERPRINTS = `select slot, fingerprint from tokens
  where account = ? and environment = ? and slot > ? and slot < ? and ${LIVE} order by slot limit ?`;
const UPDATE = `update tokens set record = ?, revision = revision + 1
  where account = ? and environment = ? and slot = ? and revision = ? and ${LIVE}`;
const DELETE = `update tokens set record = null, fingerprint = null, format = null, deleted_at = ?
  where account = ? and environment = ? and slot = ? and revision = ? and ${LIVE}`;
const LIST_PURGEABLE = 'select account, environment, slot from tokens where deleted_at <= ? limit ?';
const HAS_PURGEABLE = 'select 1 as due from tokens where deleted_at <= ? limit 1';
const PURGE = 'delete from tokens where account = ? and environment = ? and slot = ? and deleted_at <= ?';

/** A token with the revision it was read at. */
export interface StoredToken {
  readonly token: Token;
  readonly revision: number;
}

/** A persistent token that is there already. */
export interface ExistingToken extends StoredToken {}

export interface DeletableToken {
  readonly value: string;
  readonly revision: number;
  /** Undefined when it was damaged. */
  readonly token: Token | undefined;
}

const recordContext = ({ environment, account }: Tenant, token: string): EncryptionContext =>
  encryptionContext(environment, account, 'tokens', token, 'record');

const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** The tokens of one tenant. */
export class TokenStore {
  readonly tenant: Tenant;
  /** The values of scheme 8 that this tenant may issue. */
  readonly half: IssuableHalf;
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #fingerprintKey: KeyObject;
  readonly #marks: BlindIndexStore;

  private constructor(
    database: Database,
    keyring: Keyring,
    tenant: Tenant,
    { fingerprintKey, half, marks }: { fingerprintKey: KeyObject; half: IssuableHalf; marks: BlindIndexStore },
  ) {
    this.#database = database;
    this.#keyring = keyring;
    this.tenant = tenant;
    this.#fingerprintKey = fingerprintKey;
    this.half = half;
    this.#marks = marks;
  }

  static async load(database: Database, keyring: Keyring, tenant: Tenant): Promise<TokenStore> {
    const fingerprintKey = await keyring.digestKey({ ...tenant, purpose: 'fingerprints' });
    // Made with the first token of whatever scheme: a backup that has tokens has the key of the half.
    const half = new IssuableHalf(await keyring.digestKey({ ...tenant, purpose: 'token-halves' }));
    return new TokenStore(database, keyring, tenant, {
      fingerprintKey,
      half,
      marks: await BlindIndexStore.load(keyring, tenant),
    });
  }

  async find(token: string): Promise<ExistingToken | undefined> {
    const slot = toSlot(token);
    return slot === undefined
      ? undefined
      : this.#toExistingToken(await this.#database.read(FIND_BY_SLOT, ...this.#scope(), slot));
  }

  async findPersistent(pan: Pan, format: TokenFormat): Promise<ExistingToken | undefined> {
    const rows = await this.#database.read(
      FIND_BY_FINGERPRINT,
      ...this.#scope(),
      this.#fingerprint(pan),
      persistentFormat(pan, format),
    );
    const stored = await this.#toExistingToken(rows);
    // Fingerprints are not sealed: whoever changes them in the database must not pass one card off as another.
    if (stored !== undefined && stored.token.card.pan !== pan) throw new UnsealError();
    return stored;
  }

  /** What it takes to delete a token, also one that was damaged. */
  async findDeletable(token: string): Promise<DeletableToken | undefined> {
    const [row] = await this.#database.read(FIND_BY_SLOT, ...this.#scope(), toSlot(token) ?? '');
    if (row === undefined) return undefined;
    const unsealed = await unsealIfAuthentic(this.#keyring, this.tenant, row);
    return { value: token, revision: integer(row, 'revision'), token: unsealed };
  }

  /** In use, or reserved after a deletion. */
  async isTaken(token: string): Promise<boolean> {
    return (await this.#database.read(IS_TAKEN, ...this.#scope(), toSlot(token) ?? '')).length > 0;
  }

  /** Is this the card number of a token without BIN, or of a capture? */
  async isPanElsewhere(number: string): Promise<boolean> {
    const parameters = [...this.#scope(), this.#fingerprint(number)];
    return (await this.#database.read(PAN_ELSEWHERE, ...parameters, ...parameters)).length > 0;
  }

  /** Slots after one and before another with the fingerprints of their cards, in order, `limit` at most. */
  async listFingerprints(after: string, to: string, limit: number): Promise<{ slot: string; fingerprint: string }[]> {
    const rows = await this.#database.read(LIST_FINGERPRINTS, ...this.#scope(), after, to, limit);
    return rows.map((row) => ({ slot: text(row, 'slot'), fingerprint: toHex(blob(row, 'fingerprint')) }));
  }

  /** As `fingerprintsAfter` has them, hexadecimal. */
  fingerprintOf(number: string): string {
    return toHex(this.#fingerprint(number));
  }

  /** Slots in use from one to another, in order, `limit` at most; those of deleted tokens too. */
  async listSlotsInUse(from: string, to: string, limit: number): Promise<string[]> {
    return (await this.#database.read(LIST_TAKEN, ...this.#scope(), from, to, limit)).map((row) => text(row, 'slot'));
  }

  /** Conflicts when the token is taken, or the card has a persistent token already. */
  insert(tokens: readonly Token[], seal: Sealer, format: TokenFormat | undefined): Write {
    return { sql: INSERT, rows: tokens.map((token) => this.#row(token, seal, format)), expectedRows: 1 };
  }

  /** Conflicts when somebody changed a token since it was read. */
  update(changes: readonly StoredToken[], seal: Sealer): Write {
    const rows = changes.map(({ token, revision }) => {
      const record = seal(recordContext(this.tenant, token.token), toTokenRecord(token));
      return [record, ...this.#scope(), toSlot(token.token) ?? '', revision];
    });
    return { sql: UPDATE, rows, expectedRows: 1 };
  }

  /** Behind the writes of the tokens themselves, in the same unit: whoever has the row of a token may write its marks. */
  indexWrites(
    made: readonly Token[],
    changed: readonly { readonly token: Token; readonly before: ExistingToken }[],
  ): Write[] {
    return this.#marks.insert([
      ...made.map((token) => ({ token })),
      ...changed.map(({ token, before }) => ({ token, before: before.token })),
    ]);
  }

  /** Conflicts when somebody changed or deleted a token since it was read: it may have marks of which nothing is known. */
  delete(tokens: readonly DeletableToken[], at: number): Write[] {
    const rows = tokens.map(({ value, revision }) => [at, ...this.#scope(), toSlot(value) ?? '', revision]);
    return [{ sql: DELETE, rows, expectedRows: 1 }, ...this.#marks.remove(tokens.flatMap(({ token }) => token ?? []))];
  }

  #row(token: Token, seal: Sealer, format: TokenFormat | undefined): Value[] {
    const record = seal(recordContext(this.tenant, token.token), toTokenRecord(token));
    const card = [
      this.#fingerprint(token.card.pan),
      FINGERPRINT_VERSION,
      format === undefined ? null : persistentFormat(token.card.pan, format),
    ];
    return [...this.#scope(), toSlot(token.token) ?? '', token.scheme, ...card, record, token.createdAt];
  }

  async #toExistingToken([row]: Row[]): Promise<ExistingToken | undefined> {
    if (row === undefined) return undefined;
    const revision = integer(row, 'revision');
    const token = await unsealToken(this.#keyring, this.tenant, row);
    return { token, revision };
  }

  #scope(): [string, string] {
    return [this.tenant.account, this.tenant.environment];
  }

  #fingerprint(number: string): Uint8Array {
    return new Uint8Array(fingerprint(this.#fingerprintKey, number));
  }
}

/** Of a row with slot, scheme, record and created_at. Throws `UnsealError`. */
async function unsealToken(keyring: Keyring, tenant: Tenant, row: Row): Promise<Token> {
  const token = fromSlot(text(row, 'slot'));
  const record = await keyring.unseal(tenant, 'tokens', recordContext(tenant, token), blob(row, 'record'));
  const filed = { token, scheme: integer(row, 'scheme') as Scheme, createdAt: integer(row, 'created_at') };
  return fromTokenRecord(record.toString('utf8'), filed);
}

/** Undefined when somebody changed the row in the database. */
export const unsealIfAuthentic = (keyring: Keyring, tenant: Tenant, row: Row): Promise<Token | undefined> =>
  unsealToken(keyring, tenant, row).catch((error: unknown) => {
    if (error instanceof UnsealError) return undefined;
    throw error;
  });

export const hasPurgeableTokens = async (database: Database, before: number): Promise<boolean> =>
  (await database.read(HAS_PURGEABLE, before)).length > 0;

/** Frees the slots of tokens deleted before `before`; returns how many. */
export async function purgeDeletedTokens(database: Database, before: number, limit: number): Promise<number> {
  const rows = await database.read(LIST_PURGEABLE, before, limit);
  if (rows.length === 0) return 0;
  const slots = rows.map((row) => [text(row, 'account'), text(row, 'environment'), text(row, 'slot'), before]);
  await database.commit({ writes: [{ sql: PURGE, rows: slots }] });
  return rows.length;
}
