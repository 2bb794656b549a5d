import type { Permission } from '../accounts/permission.ts';
import { buildAuditEntry, type Origin } from '../audit/audit.ts';
import type { Captures } from '../captures/captures.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Expiry } from '../kernel/expiry.ts';
import { Failure } from '../kernel/failure.ts';
import { commitOrThrow, type Database } from '../storage/database.ts';
import type { Vault } from '../vault/vault.ts';
import { formatExpiryAs } from './format-expiry.ts';
import type { ExtractPart, Placeholder } from './grammar.ts';
import { type LocatedPlaceholder, placeholderFailure, type Substitution } from './located-placeholder.ts';

/** Who asks for card data, and what for. */
export interface CardDataContext {
  readonly tenant: Tenant;
  readonly permissions: readonly Permission[];
  readonly origin: Origin;
  /** A word for the audit log: `jose`. */
  readonly usage: string;
}

/** What a token or a capture holds for placeholders. */
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

/** Finds what stands for placeholders: checks permissions, reads each record once, audits each read. */
export class Placeholders {
  readonly #database: Database;
  readonly #vault: Vault;
  readonly #captures: Captures;
  readonly #clock: Clock;

  constructor(options: { database: Database; vault: Vault; captures: Captures; clock: Clock }) {
    this.#database = options.database;
    this.#vault = options.vault;
    this.#captures = options.captures;
    this.#clock = options.clock;
  }

  /**
   * Each mark with its value, in order; the audit records of all reads are on disk. Throws `access_denied`,
   * `unknown_token`, `unknown_capture`, `invalid_placeholder`.
   */
  async resolve(context: CardDataContext, located: readonly LocatedPlaceholder[]): Promise<Substitution[]> {
    await this.#checkPermissions(context, located);
    const tokens = await this.#findTokens(context, located);
    const captures = await this.#findCaptures(context, located);
    return located.map((each) => {
      const { source, token } = each.placeholder;
      const values = source === 'detokenize' ? tokens.get(token) : captures.get(token);
      if (values === undefined) throw unknownRecord(each);
      return { located: each, value: extractPart(each, values) };
    });
  }

  async #checkPermissions(context: CardDataContext, located: readonly LocatedPlaceholder[]): Promise<void> {
    const { tenant, permissions, origin } = context;
    const needed = new Set(located.map(({ placeholder }) => REQUIRED_PERMISSION[placeholder.source]));
    const missing = [...needed].filter((permission) => !permissions.includes(permission));
    if (missing.length === 0) return;
    const event = { action: 'access.denied', outcome: 'permission_missing', ...tenant } as const;
    const entry = buildAuditEntry(this.#clock, origin, {
      ...event,
      detail: { permissions: missing, use: context.usage },
    });
    await commitOrThrow(this.#database, { account: tenant.account, writes: [], journal: [entry] });
    throw new Failure('access_denied');
  }

  async #findTokens(
    { tenant, origin, usage }: CardDataContext,
    located: readonly LocatedPlaceholder[],
  ): Promise<Map<string, RecordValues>> {
    const ids = new Set(listIds(located, 'detokenize'));
    const records = await this.#vault.detokenize(tenant, [...ids], origin, usage);
    const values = [...records].map(([name, { card, token }]): [string, RecordValues] => [
      name,
      { card: card.pan, expiry: card.expiry, name: card.name, token, cvv: undefined },
    ]);
    return new Map(values);
  }

  async #findCaptures(
    { tenant, origin, usage }: CardDataContext,
    located: readonly LocatedPlaceholder[],
  ): Promise<Map<string, RecordValues>> {
    const ids = new Set(listIds(located, 'transaction'));
    const withCvvPart = located.filter(({ placeholder }) => placeholder.part === 'cvv');
    const withCvv = new Set(listIds(withCvvPart, 'transaction'));
    const selectors = [...ids].map((id) => ({ id, sad: withCvv.has(id) }));
    const records = await this.#captures.retrieveForUse(tenant, selectors, origin, usage);
    const values = [...records].map(([id, { pan, expiry, name, sad }]): [string, RecordValues] => [
      id,
      { card: pan, expiry, name, token: id, cvv: sad.cvv },
    ]);
    return new Map(values);
  }
}

const listIds = (located: readonly LocatedPlaceholder[], source: Placeholder['source']): string[] =>
  located.filter(({ placeholder }) => placeholder.source === source).map(({ placeholder }) => placeholder.token);

const unknownRecord = (mark: LocatedPlaceholder): Failure =>
  mark.placeholder.source === 'detokenize'
    ? placeholderFailure(mark, 'no such token', 'unknown_token')
    : placeholderFailure(mark, 'no such capture, or its ttl has ended', 'unknown_capture');

function extractPart(mark: LocatedPlaceholder, values: RecordValues): string {
  const { part, date } = mark.placeholder;
  const value = part === 'expiration' ? values.expiry && formatExpiryAs(values.expiry, date) : values[part];
  if (value === undefined) throw placeholderFailure(mark, `the record has no ${PART_NAMES[part]}`);
  return value;
}

const PART_NAMES: Readonly<Record<ExtractPart, string>> = {
  card: 'card number',
  expiration: 'expiry',
  name: 'name',
  token: 'token',
  cvv: 'verification code',
};
