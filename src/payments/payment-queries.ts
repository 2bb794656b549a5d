import type { Keyring } from '../crypto/keyring.ts';
import type { Tenant } from '../kernel/environment.ts';
import { Failure, invalidField } from '../kernel/failure.ts';
import { minIdAt, parseIdTime } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import { toComparable } from '../kernel/money.ts';
import { truncatePans } from '../kernel/pan.ts';
import { type Database, integer, isAlteration, type Row, text } from '../storage/database.ts';
import {
  decodeCursor,
  encodeCursor,
  type Page,
  type RecordCount,
  ROWS_COUNTED,
  scanPage,
  toRecordCount,
} from '../storage/pagination.ts';
import { sanitizeInteger, sanitizeOptionalTime, sanitizeTime } from '../storage/sanitize-columns.ts';
import type { SortOrder } from '../storage/sort-order.ts';
import { type Operation, operationInDoubt, type Payment, type PaymentType, type Reconciliation } from './payment.ts';
import type { PaymentColumns, PaymentRow } from './payment-record.ts';
import {
  listOperations,
  loadPayment,
  PAYMENT_COLUMNS,
  toPaymentColumns,
  toTenant,
  unsealPayment,
} from './payment-store.ts';
import type { FailureCause, Status } from './transitions.ts';

/** A payment in a list. When it cannot be unsealed, it is listed without the sealed values. */
export interface ListedPayment extends PaymentColumns {
  readonly inDoubtSince: number | undefined;
  readonly payment: Payment | undefined;
  /** Present for some failed payments. */
  readonly failureCause: FailureCause | undefined;
}

/** A payment with an operation whose outcome is unknown. */
export interface InDoubtPayment extends ListedPayment {
  readonly tenant: Tenant;
  /** The operation whose outcome is unknown, as far as the payment can be unsealed. */
  readonly operationId: string;
  readonly attempts: number;
  readonly dueAt: number | undefined;
  readonly lastProblem: string | undefined;
}

/** Filters of payments. Pure. */
export interface PaymentFilter {
  readonly statuses?: readonly Status[] | undefined;
  readonly types?: readonly PaymentType[] | undefined;
  readonly processor?: string | undefined;
  /** Unix times of their start in milliseconds; `to` is exclusive. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly currency?: string | undefined;
  /** Bounds, both included, of the requested amount or the collected one, with or without refunds, in any currency, as `parseComparable` returns them. */
  readonly amountFrom?: bigint | undefined;
  readonly amountTo?: bigint | undefined;
  /** The beginning of the reference, in either case. */
  readonly referencePrefix?: string | undefined;
  readonly lastFour?: string | undefined;
  readonly isInDoubt?: true | undefined;
  /** Absent: the newest first. */
  readonly order?: SortOrder | undefined;
}

export interface PaymentPage extends Page<ListedPayment> {
  /** All payments before this time in the order were searched; undefined when there are none beyond the page. */
  readonly searchedUntil: number | undefined;
}

/** A payment with all its operations, in the order of time, its first operation first. */
export interface PaymentDetail {
  readonly payment: Payment;
  readonly reconciliation: Reconciliation;
  readonly operations: readonly Operation[];
}

const OF_TENANT = 'account = ?account and environment = ?environment';
/** Phrased so that the index of payments in doubt is used, which are few, and not that of all payments of the account. */
const IN_DOUBT_OF_TENANT = 'in_doubt_since is not null and account + 0 = ?account and environment + 0 = ?environment';
const BETWEEN = 'and id >= ? and id < ?';
const listIn = (of: string): Readonly<Record<SortOrder, string>> => {
  const rows = `select ${PAYMENT_COLUMNS} from payments where ${of} ${BETWEEN}`;
  return { newest: `${rows} order by id desc limit ?`, oldest: `${rows} order by id limit ?` };
};
const LIST = listIn(OF_TENANT);
const LIST_IN_DOUBT = listIn(IN_DOUBT_OF_TENANT);
/** Reads one row more than a page, which shows that another page follows. */
const LIST_ALL_IN_DOUBT = `select account, environment, ${PAYMENT_COLUMNS} from payments
  where in_doubt_since is not null and (in_doubt_since, id) > (?, ?)
  order by in_doubt_since, id limit ${LIMITS.inDoubtPaymentsListed + 1}`;
const COUNT = `select count(*) as number from payments where ${OF_TENANT}`;
/** Counts the newest payments for which a condition on these columns is true. */
const countNewest = (columns: string, condition: string): string => `select count(*) as looked,
  count(case when ${condition} then 1 end) as number from (select ${columns} from payments
    where ${OF_TENANT} ${BETWEEN} order by id desc limit ${ROWS_COUNTED}) newest`;
const COUNT_IN_DOUBT = `select count(*) as number from payments where ${IN_DOUBT_OF_TENANT}`;
const COUNT_ALL_IN_DOUBT = 'select count(*) as number from payments where in_doubt_since is not null';
/** Lists and searches of payments for users. */
export class PaymentQueries {
  readonly #database: Database;
  readonly #keyring: Keyring;

  constructor(options: { database: Database; keyring: Keyring }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
  }

  /**
   * Returns matching payments, by default the newest first. One that cannot be unsealed matches when the filter needs no sealed
   * value. Throws `invalid_field`.
   */
  async list(tenant: Tenant, filter: PaymentFilter, cursor?: string): Promise<PaymentPage> {
    assertFilter(filter);
    const start = cursor === undefined ? undefined : decodeCursor(cursor, '')[0];
    const { items, last, isEnd } = await scanPage<Row, ListedPayment>({
      read: (after, limit) => {
        const range = rangeBehind(filter, after === undefined ? start : text(after, 'id'));
        return this.#rows(tenant, filter, range, limit);
      },
      accept: (row) => this.#matching(tenant, filter, row),
    });
    if (isEnd || last === undefined) return { items, cursor: undefined, searchedUntil: undefined };
    const id = text(last, 'id');
    return { items, cursor: encodeCursor(id), searchedUntil: parseIdTime(id) };
  }

  /** Counts matching payments; undefined when rows would have to be unsealed, or more of them read than a count may. */
  async countMatching({ account, environment }: Tenant, filter: PaymentFilter): Promise<RecordCount | undefined> {
    assertFilter(filter);
    if (needsUnsealing(filter)) return undefined;
    const { statuses = [], processor, isInDoubt } = filter;
    const conditions = [
      ...(statuses.length > 0 ? [`status in (${statuses.map(() => '?').join(', ')})`] : []),
      ...(processor === undefined ? [] : ['processor = ?']),
      ...(isInDoubt === true ? ['in_doubt_since is not null'] : []),
    ];
    const sql =
      conditions.length === 0
        ? countNewest('id', '1 = 1')
        : countNewest('id, status, processor, in_doubt_since', conditions.join(' and '));
    const values = [...statuses, ...(processor === undefined ? [] : [processor])];
    const [row = {}] = await this.#database.read(sql, ...values, account, environment, ...idRange(filter));
    return toRecordCount(integer(row, 'looked'), integer(row, 'number'));
  }

  /** Finds a payment by the id of any of its operations, ours or the processor's. Throws `unknown_payment`. */
  async detail(tenant: Tenant, id: string): Promise<PaymentDetail> {
    const found = await loadPayment(this.#database, this.#keyring, tenant, id);
    if (found === undefined) throw new Failure('unknown_payment', { field: 'id' });
    const operations = await listOperations(this.#database, this.#keyring, found);
    return { payment: found.payment, reconciliation: found.reconciliation, operations };
  }

  async #matching(tenant: Tenant, filter: PaymentFilter, row: Row): Promise<ListedPayment | undefined> {
    const columns = { status: text(row, 'status') as Status, processor: text(row, 'processor') };
    if (!mayMatch(filter, { ...columns, inDoubtSince: sanitizeOptionalTime(row['in_doubt_since']) })) return undefined;
    const listed = toListedPayment(row, await tryUnseal(this.#keyring, tenant, row));
    if (listed.payment === undefined) return needsUnsealing(filter) ? undefined : listed;
    return matches(filter, listed.payment) ? listed : undefined;
  }

  /** Returns rows with ids from `from` on and before `to`, the newest first. */
  #rows(
    { account, environment }: Tenant,
    { isInDoubt, order = 'newest' }: PaymentFilter,
    [from, to]: readonly [from: string, to: string],
    limit: number,
  ): Promise<Row[]> {
    const sql = (isInDoubt === true ? LIST_IN_DOUBT : LIST)[order];
    return this.#database.read(sql, account, environment, from, to, limit);
  }
}

/** Lists the payments of all tenants in doubt, the one that is in doubt longest first. Throws `invalid_field` for the cursor. */
export async function listInDoubtPayments(
  database: Database,
  keyring: Keyring,
  cursor?: string,
): Promise<Page<InDoubtPayment>> {
  const start = cursor === undefined ? BEFORE_ALL_IN_DOUBT : decodeCursor(cursor, 0, '');
  const rows = await database.read(LIST_ALL_IN_DOUBT, ...start);
  const listed = rows.slice(0, LIMITS.inDoubtPaymentsListed);
  const last = rows.length > listed.length ? listed.at(-1) : undefined;
  const items = await Promise.all(listed.map((row) => toInDoubtPayment(keyring, row)));
  return { items, cursor: last && encodeCursor(sanitizeInteger(last['in_doubt_since']), text(last, 'id')) };
}

/** Sorts before every time and id. */
const BEFORE_ALL_IN_DOUBT = [Number.MIN_SAFE_INTEGER, ''] as const;

async function toInDoubtPayment(keyring: Keyring, row: Row): Promise<InDoubtPayment> {
  const tenant = toTenant(row);
  const stored = await tryUnseal(keyring, tenant, row);
  const [attempts, dueAt] = [sanitizeInteger(row['attempts']), sanitizeOptionalTime(row['due_at'])];
  const { lastProblem, contradictoryIds = [] } = stored?.reconciliation ?? {};
  const listed = toListedPayment(row, stored);
  const operationId = operationInDoubt(listed, { contradictoryIds });
  return { ...listed, tenant, operationId, attempts, dueAt, lastProblem };
}

/** Counts those of one tenant, or of all. */
export async function countInDoubt(database: Database, only?: Tenant): Promise<number> {
  const found =
    only === undefined
      ? database.read(COUNT_ALL_IN_DOUBT)
      : database.read(COUNT_IN_DOUBT, only.account, only.environment);
  return toCount(await found);
}

export const countPayments = async (database: Database, { account, environment }: Tenant): Promise<number> =>
  toCount(await database.read(COUNT, account, environment));

const toCount = ([row = {}]: readonly Row[]): number => integer(row, 'number');

const toListedPayment = (row: Row, stored: PaymentRow | undefined): ListedPayment => ({
  ...toPaymentColumns({ ...row, created_at: sanitizeTime(row['created_at']) }),
  inDoubtSince: sanitizeOptionalTime(row['in_doubt_since']),
  payment: stored?.payment,
  failureCause: stored?.initial.details.failureCause,
});

/** Undefined when the row was altered in the database. */
const tryUnseal = (keyring: Keyring, tenant: Tenant, row: Row): Promise<PaymentRow | undefined> =>
  unsealPayment(keyring, tenant, row).catch((error: unknown) => {
    if (isAlteration(error)) return undefined;
    throw error;
  });

/** Range of the ids of payments that started in this time: from one, before another. */
const idRange = ({ from, to }: PaymentFilter): readonly [from: string, to: string] => [
  from === undefined ? '' : minIdAt(from),
  to === undefined ? AFTER_ALL_IDS : minIdAt(to),
];

const AFTER_ALL_IDS = '~';

/** Sorts before the letters of ids, so that a bound with it is directly behind an id. */
const BEHIND_ID = '!';

/** Range of the ids behind one of them in the order of the filter; all of its period without one. */
function rangeBehind(filter: PaymentFilter, id: string | undefined): readonly [from: string, to: string] {
  const [from, to] = idRange(filter);
  if (id === undefined) return [from, to];
  return filter.order === 'oldest' ? [`${id}${BEHIND_ID}`, to] : [from, id];
}

/** True when the columns in clear do not exclude the payment. */
const mayMatch = (
  { statuses, processor, isInDoubt }: PaymentFilter,
  payment: Pick<PaymentColumns, 'status' | 'processor'> & { readonly inDoubtSince: number | undefined },
): boolean =>
  (statuses === undefined || statuses.includes(payment.status)) &&
  (processor === undefined || processor === payment.processor) &&
  (isInDoubt === undefined || payment.inDoubtSince !== undefined);

/** True when the columns in clear do not suffice to decide. */
const needsUnsealing = (filter: PaymentFilter): boolean =>
  [filter.types, filter.currency, filter.amountFrom, filter.amountTo, filter.referencePrefix, filter.lastFour].some(
    (wanted) => wanted !== undefined,
  );

/** Decides about an unsealed payment. */
const matches = (
  { types, currency, referencePrefix, lastFour, ...amounts }: PaymentFilter,
  payment: Payment,
): boolean =>
  (types === undefined || types.includes(payment.type)) &&
  (currency === undefined || currency === payment.currency) &&
  amountsOf(payment).some((minor) => isWithin(amounts, payment, minor)) &&
  (referencePrefix === undefined || beginsWith(payment.referenceCode, referencePrefix)) &&
  (lastFour === undefined || payment.card.truncated.endsWith(lastFour));

/** Amounts that users see of a payment, on the list or on the statement of the cardholder. */
const amountsOf = ({ amount, collected, refunded }: Payment): readonly bigint[] =>
  [collected, collected - refunded].filter((minor) => minor > 0n).concat(amount);

function isWithin(
  { amountFrom, amountTo }: Pick<PaymentFilter, 'amountFrom' | 'amountTo'>,
  { currency }: Payment,
  minor: bigint,
): boolean {
  if (amountFrom === undefined && amountTo === undefined) return true;
  const amount = toComparable({ minor, currency });
  return (amountFrom === undefined || amount >= amountFrom) && (amountTo === undefined || amount <= amountTo);
}

/** Compares as the list shows a reference: the search must not reveal the hidden digits of a card number in one. */
const beginsWith = (reference: string | undefined, prefix: string): boolean =>
  reference !== undefined && truncatePans(reference).toLowerCase().startsWith(truncatePans(prefix).toLowerCase());

/** Throws `invalid_field`. */
function assertFilter({ lastFour, from, to, amountFrom, amountTo }: PaymentFilter): void {
  if (lastFour !== undefined && !/^[0-9]{4}$/.test(lastFour)) throw invalidField('last_four', 'fourDigits');
  for (const [field, time] of Object.entries({ from, to }))
    if (time !== undefined && !(Number.isSafeInteger(time) && time >= 0)) throw invalidField(field, 'time');
  if (from !== undefined && to !== undefined && to < from) throw invalidField('to', 'order');
  if (amountFrom !== undefined && amountTo !== undefined && amountTo < amountFrom)
    throw invalidField('amount_to', 'amountOrder');
}

/** Returns how a payment with this status counts: opened and cancelled ones count neither as approved nor as failed. */
export const APPROVAL_BY_STATUS: Readonly<Record<Status, 'approved' | 'not-approved' | 'none'>> = {
  Opened: 'none',
  Authorized: 'approved',
  Collected: 'approved',
  Voided: 'approved',
  Cancelled: 'none',
  Declined: 'not-approved',
  ProcessorError: 'not-approved',
};
