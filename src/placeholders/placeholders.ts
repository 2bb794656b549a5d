import type { Permission } from '../accounts/permission.ts';
import type { Captures } from '../captures/captures.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Expiry } from '../kernel/expiry.ts';
import { Failure } from '../kernel/failure.ts';
import { explain, type Reason } from '../kernel/reasons.ts';
import type { Vault } from '../vault/vault.ts';
import type { DateFormat, ExtractPart, Placeholder } from './grammar.ts';
import { type LocatedPlaceholder, placeholderFailure, type Substitution } from './located-placeholder.ts';

/** The caller that requests card data, and its purpose. */
export interface CardDataContext {
  readonly tenant: Tenant;
  readonly permissions: readonly Permission[];
  /** The purpose as one word in the audit log: `jose`. */
  readonly usage: string;
}

/** Values of a token or capture that placeholders can extract. */
interface RecordValues {
  readonly card: string | undefined;
  readonly expiry: Expiry | undefined;
  readonly name: string | undefined;
  readonly token: string;
  readonly cvv: string | undefined;
}

const REQUIRED_PERMISSION: Readonly<Record<Placeholder['source'], Permission>> = {
  detokenize: 'tokens:detokenize',
  transaction: 'captures:retrieve',
};

/** Resolves placeholders: checks permissions, reads each record once, records each read. */
export class Placeholders {
  readonly #vault: Vault;
  readonly #captures: Captures;

  constructor(options: { vault: Vault; captures: Captures }) {
    this.#vault = options.vault;
    this.#captures = options.captures;
  }

  /**
   * Returns each placeholder with its value, in order; all reads are recorded in the transaction. Throws `access_denied`,
   * `unknown_token`, `unknown_capture`, `invalid_placeholder`.
   */
  async resolve(
    transaction: Transaction,
    context: CardDataContext,
    located: readonly LocatedPlaceholder[],
  ): Promise<Substitution[]> {
    assertPermitted(transaction, context, located);
    const tokens = await this.#findTokens(transaction, context, located);
    const captures = await this.#findCaptures(transaction, context, located);
    return located.map((each) => {
      const { source, token } = each.placeholder;
      const values = source === 'detokenize' ? tokens.get(token) : captures.get(token);
      if (values === undefined) throw unknownRecord(each);
      return { located: each, value: extractPart(each, values) };
    });
  }

  async #findTokens(
    transaction: Transaction,
    { tenant, usage }: CardDataContext,
    located: readonly LocatedPlaceholder[],
  ): Promise<Map<string, RecordValues>> {
    const ids = new Set(listIds(located, 'detokenize'));
    const records = await this.#vault.detokenize(transaction, tenant, [...ids], usage);
    const values = [...records].map(([name, { card, token }]): [string, RecordValues] => [
      name,
      { card: card.pan, expiry: card.expiry, name: card.name, token, cvv: undefined },
    ]);
    return new Map(values);
  }

  async #findCaptures(
    transaction: Transaction,
    { tenant, usage }: CardDataContext,
    located: readonly LocatedPlaceholder[],
  ): Promise<Map<string, RecordValues>> {
    const ids = new Set(listIds(located, 'transaction'));
    const withCvvPart = located.filter(({ placeholder }) => placeholder.part === 'cvv');
    const withCvv = new Set(listIds(withCvvPart, 'transaction'));
    const selectors = [...ids].map((id) => ({ id, sad: withCvv.has(id) }));
    const records = await this.#captures.retrieveForUse(transaction, tenant, selectors, usage);
    const values = [...records].map(([id, { pan, expiry, name, sad }]): [string, RecordValues] => [
      id,
      { card: pan, expiry, name, token: id, cvv: sad.cvv },
    ]);
    return new Map(values);
  }
}

/** Throws `access_denied`, with the missing permissions in the audit log. */
function assertPermitted(
  transaction: Transaction,
  { tenant, permissions, usage }: CardDataContext,
  located: readonly LocatedPlaceholder[],
): void {
  const required = new Set(located.map(({ placeholder }) => REQUIRED_PERMISSION[placeholder.source]));
  const missing = [...required].filter((permission) => !permissions.includes(permission));
  if (missing.length === 0) return;
  const detail = { permissions: missing, use: usage };
  transaction.recordAlways({ action: 'access.denied', outcome: 'permission_missing', ...tenant, detail });
  throw new Failure('access_denied');
}

const listIds = (located: readonly LocatedPlaceholder[], source: Placeholder['source']): string[] =>
  located.filter(({ placeholder }) => placeholder.source === source).map(({ placeholder }) => placeholder.token);

const unknownRecord = (mark: LocatedPlaceholder): Failure =>
  mark.placeholder.source === 'detokenize'
    ? placeholderFailure(mark, explain('tokenUnknown'), 'unknown_token')
    : placeholderFailure(mark, explain('captureUnknown'), 'unknown_capture');

function extractPart(mark: LocatedPlaceholder, values: RecordValues): string {
  const { part, date } = mark.placeholder;
  const value = part === 'expiration' ? values.expiry && formatExpiryAs(values.expiry, date) : values[part];
  if (value === undefined) throw placeholderFailure(mark, explain(MISSING_PART[part]));
  return value;
}

const MISSING_PART = {
  card: 'noCardNumber',
  expiration: 'noExpiry',
  name: 'noName',
  token: 'tokenUnknown',
  cvv: 'noCvv',
} as const satisfies Record<ExtractPart, Reason>;

const FORMATTERS: Readonly<Record<DateFormat, (month: string, year: string) => string>> = {
  MM: (month) => month,
  YY: (_, year) => year,
  YYYY: (_, year) => `20${year}`,
  'MM/YY': (month, year) => `${month}/${year}`,
  'MM/YYYY': (month, year) => `${month}/20${year}`,
  'YYYY/MM': (month, year) => `20${year}/${month}`,
  'YYYY-MM': (month, year) => `20${year}-${month}`,
};

/** Formats an expiry; the default is `MM/YY`, as in requests. */
export const formatExpiryAs = ({ month, year }: Expiry, format: DateFormat = 'MM/YY'): string =>
  FORMATTERS[format](month, year);
