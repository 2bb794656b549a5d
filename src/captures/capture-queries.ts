import type { Keyring } from '../crypto/keyring.ts';
import type { SadKeys } from '../crypto/sad-keys.ts';
import { UnsealError } from '../crypto/seal.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Expiry } from '../kernel/expiry.ts';
import { isUuid } from '../kernel/ids.ts';
import { truncatePan, truncatePans } from '../kernel/pan.ts';
import { truncatePansInJson } from '../kernel/pan-json.ts';
import { type Database, integer, type Row, text } from '../storage/database.ts';
import { decodeCursor, encodeCursor, type Page, scanPage } from '../storage/pagination.ts';
import { sanitizeTime } from '../storage/sanitize-columns.ts';
import type { AdditionalInfo } from './capture.ts';
import { findCapture, listActiveCaptures, type StoredCapture, unsealCapture } from './capture-store.ts';

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

  /** Lists captures whose ttl has not ended, newest first. Throws `invalid_field` for an invalid cursor. */
  async list(tenant: Tenant, cursor?: string): Promise<Page<CaptureView>> {
    const now = this.#clock();
    const [createdAt, id] = cursor === undefined ? FIRST_POSITION : decodeCursor(cursor, ...FIRST_POSITION);
    const { items, last, isEnd } = await scanPage<Row, CaptureView>({
      read: (after, limit) => {
        const position = after === undefined ? { createdAt, id } : toListPosition(after);
        return listActiveCaptures(this.#database, tenant, now, position, limit);
      },
      accept: (row) => this.#toView(tenant, row),
    });
    if (isEnd || last === undefined) return { items, cursor: undefined };
    const position = toListPosition(last);
    return { items, cursor: encodeCursor(position.createdAt, position.id) };
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
      if (!(error instanceof UnsealError)) throw error;
      return {
        id: text(row, 'id'),
        amount: integer(row, 'amount'),
        currency: text(row, 'currency'),
        createdAt: sanitizeTime(integer(row, 'created_at')),
        expiresAt: sanitizeTime(integer(row, 'expires_at')),
        hasSad: row['sad'] !== null,
        card: undefined,
      };
    }
  }
}

const FIRST_POSITION: readonly [number, string] = [Number.MAX_SAFE_INTEGER, '~'];

const toListPosition = (row: Row): { createdAt: number; id: string } => ({
  createdAt: integer(row, 'created_at'),
  id: text(row, 'id'),
});
