import type { KeyObject } from 'node:crypto';
import { FINGERPRINT_VERSION, fingerprint } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { type Place, placeOf, type Seal, UnsealError } from '../crypto/seal.ts';
import type { Tenant } from '../kernel/environment.ts';
import { blob, type Database, integer, type Row, text, type Value, type Write } from '../storage/database.ts';
import { formName, type Scheme, type TokenFormat } from './scheme.ts';
import { slotOf, tokenOf } from './slot.ts';
import { recordOf, type Token, tokenFromRecord } from './token.ts';

const COLUMNS = 'slot, scheme, record, revision, created_at';
const LIVE = 'record is not null';
const BY_SLOT = `select ${COLUMNS} from tokens where account = ? and environment = ? and slot = ? and ${LIVE}`;
const BY_FINGERPRINT = `select ${COLUMNS} from tokens
  where account = ? and environment = ? and fingerprint = ? and form = ? and ${LIVE}`;
const EXISTS = `select 1 as found from tokens where account = ? and environment = ? and slot = ? and ${LIVE}`;
const IS_TAKEN = 'select 1 as taken from tokens where account = ? and environment = ? and slot = ?';
const TAKEN_FROM =
  'select slot from tokens where account = ? and environment = ? and slot >= ? and slot < ? order by slot limit ?';

const FILED =
  'account, environment, slot, scheme, fingerprint, fingerprint_version, form, record, revision, created_at';
const INSERT = `insert into tokens (${FILED}) values (?, ?, ?, ?, ?, ?, ?, ?, 1, ?) on conflict do nothing`;
/** Card numbers whose tokens do not hold first six and last four in their slots, and those of captures. */
const PAN_ELSEWHERE = `select 1 as found where exists (select 1 from tokens
    where account = ? and environment = ? and fingerprint = ? and scheme = 7)
  or exists (select 1 from captures where account = ? and environment = ? and fingerprint = ?)`;
const FINGERPRINTS_AFTER = `select slot, fingerprint from tokens
  where account = ? and environment = ? and slot > ? and slot < ? and ${LIVE} order by slot limit ?`;
const UPDATE = `update tokens set record = ?, revision = revision + 1
  where account = ? and environment = ? and slot = ? and revision = ? and ${LIVE}`;
const DELETE = `update tokens set record = null, fingerprint = null, form = null, deleted_at = ?
  where account = ? and environment = ? and slot = ? and ${LIVE}`;
const FORGETTABLE = 'select account, environment, slot from tokens where deleted_at <= ? limit ?';
const FORGET = 'delete from tokens where account = ? and environment = ? and slot = ? and deleted_at <= ?';

/** A token with the revision it was read at. */
export interface Stored {
  readonly token: Token;
  readonly revision: number;
}

const placeOfRecord = ({ environment, account }: Tenant, token: string): Place =>
  placeOf(environment, account, 'tokens', token, 'record');

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** The tokens of one tenant. */
export class TokenStore {
  readonly tenant: Tenant;
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #fingerprintKey: KeyObject;

  private constructor(database: Database, keyring: Keyring, tenant: Tenant, fingerprintKey: KeyObject) {
    this.#database = database;
    this.#keyring = keyring;
    this.tenant = tenant;
    this.#fingerprintKey = fingerprintKey;
  }

  static async of(database: Database, keyring: Keyring, tenant: Tenant): Promise<TokenStore> {
    const fingerprintKey = await keyring.digestKey({ ...tenant, purpose: 'fingerprints' });
    return new TokenStore(database, keyring, tenant, fingerprintKey);
  }

  async find(token: string): Promise<Stored | undefined> {
    const slot = slotOf(token);
    return slot === undefined ? undefined : this.#stored(await this.#database.read(BY_SLOT, ...this.#scope(), slot));
  }

  async findPersistent(pan: string, format: TokenFormat): Promise<Stored | undefined> {
    const rows = await this.#database.read(BY_FINGERPRINT, ...this.#scope(), this.#fingerprint(pan), formName(format));
    const stored = await this.#stored(rows);
    // Fingerprints are not sealed: whoever changes them in the database must not pass one card off as another.
    if (stored !== undefined && stored.token.card.pan !== pan) throw new UnsealError();
    return stored;
  }

  async exists(token: string): Promise<boolean> {
    return (await this.#database.read(EXISTS, ...this.#scope(), slotOf(token) ?? '')).length > 0;
  }

  /** In use, or reserved after a deletion. */
  async isTaken(token: string): Promise<boolean> {
    return (await this.#database.read(IS_TAKEN, ...this.#scope(), slotOf(token) ?? '')).length > 0;
  }

  /** Is this the card number of a token without BIN, or of a capture? */
  async isPanElsewhere(number: string): Promise<boolean> {
    const wanted = [...this.#scope(), this.#fingerprint(number)];
    return (await this.#database.read(PAN_ELSEWHERE, ...wanted, ...wanted)).length > 0;
  }

  /** Slots after one and before another with the fingerprints of their cards, in order, `limit` at most. */
  async fingerprintsAfter(after: string, to: string, limit: number): Promise<{ slot: string; fingerprint: string }[]> {
    const rows = await this.#database.read(FINGERPRINTS_AFTER, ...this.#scope(), after, to, limit);
    return rows.map((row) => ({ slot: text(row, 'slot'), fingerprint: hexOf(blob(row, 'fingerprint')) }));
  }

  /** As `fingerprintsAfter` has them, hexadecimal. */
  fingerprintOf(number: string): string {
    return hexOf(this.#fingerprint(number));
  }

  /** Slots in use from one to another, in order, `limit` at most; those of deleted tokens too. */
  async slotsInUse(from: string, to: string, limit: number): Promise<string[]> {
    return (await this.#database.read(TAKEN_FROM, ...this.#scope(), from, to, limit)).map((row) => text(row, 'slot'));
  }

  /** Conflicts when the token is taken, or the card has a persistent token already. */
  insert(tokens: readonly Token[], seal: Seal, form: TokenFormat | undefined): Write {
    return { sql: INSERT, rows: tokens.map((token) => this.#row(token, seal, form)), touches: 1 };
  }

  /** Conflicts when somebody changed a token since it was read. */
  update(changes: readonly Stored[], seal: Seal): Write {
    const rows = changes.map(({ token, revision }) => {
      const record = seal(placeOfRecord(this.tenant, token.token), recordOf(token));
      return [record, ...this.#scope(), slotOf(token.token) ?? '', revision];
    });
    return { sql: UPDATE, rows, touches: 1 };
  }

  delete(tokens: readonly string[], at: number): Write {
    return { sql: DELETE, rows: tokens.map((token) => [at, ...this.#scope(), slotOf(token) ?? '']), touches: 1 };
  }

  #row(token: Token, seal: Seal, form: TokenFormat | undefined): Value[] {
    const record = seal(placeOfRecord(this.tenant, token.token), recordOf(token));
    const card = [this.#fingerprint(token.card.pan), FINGERPRINT_VERSION, form === undefined ? null : formName(form)];
    return [...this.#scope(), slotOf(token.token) ?? '', token.scheme, ...card, record, token.createdAt];
  }

  async #stored([row]: Row[]): Promise<Stored | undefined> {
    if (row === undefined) return undefined;
    const token = tokenOf(text(row, 'slot'));
    const record = await this.#keyring.open(
      this.tenant,
      'tokens',
      placeOfRecord(this.tenant, token),
      blob(row, 'record'),
    );
    const filed = { token, scheme: integer(row, 'scheme') as Scheme, createdAt: integer(row, 'created_at') };
    return { token: tokenFromRecord(record.toString('utf8'), filed), revision: integer(row, 'revision') };
  }

  #scope(): [string, string] {
    return [this.tenant.account, this.tenant.environment];
  }

  #fingerprint(number: string): Uint8Array {
    return new Uint8Array(fingerprint(this.#fingerprintKey, number));
  }
}

/** Frees the slots of tokens deleted before `before`; returns how many. */
export async function forgetDeletedTokens(database: Database, before: number, limit: number): Promise<number> {
  const rows = await database.read(FORGETTABLE, before, limit);
  if (rows.length === 0) return 0;
  const slots = rows.map((row) => [text(row, 'account'), text(row, 'environment'), text(row, 'slot'), before]);
  await database.commit({ writes: [{ sql: FORGET, rows: slots }] });
  return rows.length;
}
