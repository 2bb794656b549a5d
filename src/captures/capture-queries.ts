import type { Keyring } from '../crypto/keyring.ts';
import type { SadKeys } from '../crypto/sad-keys.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Expiry } from '../kernel/expiry.ts';
import { isUuid } from '../kernel/ids.ts';
import { truncatePan, truncatePans } from '../kernel/pan.ts';
import { truncatePansInJson } from '../kernel/pan-json.ts';
import { type Database, isAlteration, type Row, text } from '../storage/database.ts';
import { decodeCursor, encodeCursor, type Page, scanPage } from '../storage/pagination.ts';
import { sanitizeInteger, sanitizeText, sanitizeTime } from '../storage/sanitize-columns.ts';
import type { AdditionalInfo } from './capture.ts';
import {
  findCapture,
  type ListPosition,
  listActiveCaptures,
  type StoredCapture,
  unsealCapture,
} from './capture-store.ts';

/** A capture without card number and sensitive authentication data. */
export interface CaptureView {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** True when cvv, track 2 or both are stored and can be unsealed; which of them is known only after unsealing. */
  readonly hasSad: boolean;
  /** First six and last four, when there is a card number. Undefined when the record cannot be unsealed. */
  readonly card: { readonly truncated: string | undefined } | undefined;
}

export interface CaptureDetail extends CaptureView {
  readonly name: string | undefined;
  readonly expiry: Expiry | undefined;
  /** Card numbers in it are truncated. */
  readonly additionalInfo: AdditionalInfo;
}

/** Lists captures for the console. Their sensitive authentication data stays sealed. */
export class CaptureQueries {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #sadKeys: SadKeys;
  readonly #clock: Clock;

  constructor(options: { database: Database; keyring: Keyring; sadKeys: SadKeys; clock: Clock }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#sadKeys = options.sadKeys;
    this.#clock = options.clock;
  }

  /**
   * Lists captures whose ttl has not ended: the newest first, and last those with a time that no capture has, because they
   * were altered in the database. Throws `invalid_field` for an invalid cursor.
   */
  async list(tenant: Tenant, cursor?: string): Promise<Page<CaptureView>> {
    const now = this.#clock();
    const start = cursor === undefined ? FIRST_POSITION : parsePosition(cursor);
    const { items, last, isEnd } = await scanPage<Row, CaptureView>({
      read: (after, limit) => {
        const position = after === undefined ? start : toListPosition(after);
        return listActiveCaptures(this.#database, tenant, now, position, limit);
      },
      accept: (row) => this.#toView(tenant, row),
    });
    if (isEnd || last === undefined) return { items, cursor: undefined };
    const { createdAt = NO_TIME, id } = toListPosition(last);
    return { items, cursor: encodeCursor(createdAt, id) };
  }

  /** Returns undefined when the capture does not exist or its ttl has ended. Throws `UnsealError`. */
  async findDetail(tenant: Tenant, id: string): Promise<CaptureDetail | undefined> {
    if (!isUuid(id)) return undefined;
    const stored = await findCapture(this.#database, this.#keyring, tenant, id, this.#clock());
    if (stored === undefined) return undefined;
    const { name, expiry, additionalInfo } = stored.capture;
    const masked = truncatePansInJson({ ...additionalInfo }) as AdditionalInfo;
    return {
      ...(await this.#summarize(stored)),
      name: name && truncatePans(name),
      expiry,
      additionalInfo: masked,
    };
  }

  async #summarize({ capture, sealedSad }: StoredCapture): Promise<CaptureView> {
    const { id, amount, currency, createdAt, expiresAt, pan } = capture;
    const card = { truncated: pan && truncatePan(pan) };
    const hasSad = sealedSad !== undefined && (await this.#sadKeys.canUnseal(sealedSad));
    return { id, amount, currency, createdAt, expiresAt, hasSad, card };
  }

  async #toView(tenant: Tenant, row: Row): Promise<CaptureView> {
    try {
      return await this.#summarize(await unsealCapture(this.#keyring, tenant, row));
    } catch (error) {
      if (!isAlteration(error)) throw error;
      return {
        id: text(row, 'id'),
        amount: sanitizeInteger(row['amount']),
        currency: sanitizeText(row['currency']),
        createdAt: sanitizeTime(row['created_at']),
        expiresAt: sanitizeTime(row['expires_at']),
        hasSad: row['sad'] !== null,
        card: undefined,
      };
    }
  }
}

const FIRST_POSITION: ListPosition = { createdAt: Number.MAX_SAFE_INTEGER, id: '~' };
/** Stands in a cursor for a time that no capture has. */
const NO_TIME = -1;

function toListPosition(row: Row): ListPosition {
  const createdAt = sanitizeInteger(row['created_at']);
  return { createdAt: createdAt === row['created_at'] && createdAt >= 0 ? createdAt : undefined, id: text(row, 'id') };
}

function parsePosition(cursor: string): ListPosition {
  const [createdAt, id] = decodeCursor(cursor, 0, '');
  return { createdAt: createdAt < 0 ? undefined : createdAt, id };
}
