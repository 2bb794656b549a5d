import type { Keyring } from '../crypto/keyring.ts';
import type { SadKeys } from '../crypto/sad-keys.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Expiry } from '../kernel/expiry.ts';
import { invalidField } from '../kernel/failure.ts';
import { isUuid } from '../kernel/ids.ts';
import { truncatePan, truncatePans } from '../kernel/pan.ts';
import { truncatePansInJson } from '../kernel/pan-json.ts';
import { type Database, isAlteration, type Row, text } from '../storage/database.ts';
import { decodeCursor, encodeCursor, type Page, type RecordCount, scanPage } from '../storage/pagination.ts';
import { sanitizeInteger, sanitizeText, sanitizeTime } from '../storage/sanitize-columns.ts';
import type { AdditionalInfo } from './capture.ts';
import {
  countListedCaptures,
  findCapture,
  findCaptureRow,
  type ListPosition,
  listActiveCaptures,
  type SortedPeriod,
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

/** Says whether sensitive authentication data is stored; `altered`: the record cannot be unsealed. */
export type CaptureStatus = 'with-sad' | 'without-sad' | 'altered';

export interface CaptureFilter extends SortedPeriod {
  readonly currency?: string | undefined;
  readonly lastFour?: string | undefined;
  readonly status?: CaptureStatus | undefined;
}

export interface CapturePage extends Page<CaptureView> {
  /** All captures before this time in the order were searched; undefined when there are none beyond the page. */
  readonly searchedUntil: number | undefined;
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
   * Lists matching captures whose ttl has not ended in the order of the filter, and last those with a time that no
   * capture has, because they were altered in the database. Throws `invalid_field`.
   */
  async list(tenant: Tenant, filter: CaptureFilter, cursor?: string): Promise<CapturePage> {
    assertFilter(filter);
    const now = this.#clock();
    const start = cursor === undefined ? firstPosition(filter) : parsePosition(cursor);
    const { items, last, isEnd } = await scanPage<Row, CaptureView>({
      read: (after, limit) => {
        const position = after === undefined ? start : toListPosition(after);
        return listActiveCaptures(this.#database, tenant, now, filter, position, limit);
      },
      accept: async (row) => {
        const view = await this.#toView(tenant, row);
        return matches(filter, view) ? view : undefined;
      },
    });
    if (isEnd || last === undefined) return { items, cursor: undefined, searchedUntil: undefined };
    const { createdAt, id } = toListPosition(last);
    return { items, cursor: encodeCursor(createdAt ?? NO_TIME, id), searchedUntil: createdAt };
  }

  /** Counts matching captures; undefined when rows would have to be unsealed, or more of them read than a count may. */
  async countMatching(tenant: Tenant, filter: CaptureFilter): Promise<RecordCount | undefined> {
    assertFilter(filter);
    if (filter.status !== undefined || filter.lastFour !== undefined) return undefined;
    return countListedCaptures(this.#database, tenant, this.#clock(), filter, filter.currency);
  }

  /** Finds one by its id for the list; undefined when it does not exist or its ttl has ended. */
  async find(tenant: Tenant, id: string): Promise<CaptureView | undefined> {
    if (!isUuid(id)) return undefined;
    const row = await findCaptureRow(this.#database, tenant, id, this.#clock());
    return row && this.#toView(tenant, row);
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

const BEHIND_ALL_IDS = '~';

function firstPosition({ from, to, order }: SortedPeriod): ListPosition {
  if (order === 'oldest') return { createdAt: from ?? 0, id: '' };
  return { createdAt: to === undefined ? Number.MAX_SAFE_INTEGER : to - 1, id: BEHIND_ALL_IDS };
}

/** Throws `invalid_field`. */
function assertFilter({ from, to, lastFour }: CaptureFilter): void {
  if (lastFour !== undefined && !/^[0-9]{4}$/.test(lastFour)) throw invalidField('last_four', 'fourDigits');
  if (from !== undefined && to !== undefined && to < from) throw invalidField('to', 'order');
}

function matches({ currency, lastFour, status }: CaptureFilter, capture: CaptureView): boolean {
  if (currency !== undefined && currency !== capture.currency) return false;
  if (lastFour !== undefined && capture.card?.truncated?.endsWith(lastFour) !== true) return false;
  return status === undefined || status === statusOf(capture);
}

function statusOf({ card, hasSad }: CaptureView): CaptureStatus {
  if (card === undefined) return 'altered';
  return hasSad ? 'with-sad' : 'without-sad';
}

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
