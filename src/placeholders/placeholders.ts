import type { Permission } from '../accounts/permission.ts';
import { auditEntry, type Origin } from '../audit/audit.ts';
import type { Captures } from '../captures/captures.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Expiry } from '../kernel/expiry.ts';
import { Failure } from '../kernel/failure.ts';
import { commitOrThrow, type Database } from '../storage/database.ts';
import type { Vault } from '../vault/vault.ts';
import { dateOf } from './dates.ts';
import type { Part, Placeholder } from './grammar.ts';
import { type Filled, faultAt, type Mark } from './mark.ts';

/** Who asks for card data, and what for. */
export interface Reader {
  readonly tenant: Tenant;
  readonly permissions: readonly Permission[];
  readonly origin: Origin;
  /** A word for the audit log: `jose`. */
  readonly use: string;
}

/** What a token or a capture holds for placeholders. */
interface Held {
  readonly card: string | undefined;
  readonly expiry: Expiry | undefined;
  readonly name: string | undefined;
  readonly token: string;
  readonly cvv: string | undefined;
}

const NEEDED: Readonly<Record<Placeholder['source'], Permission>> = {
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
  async resolve(reader: Reader, marks: readonly Mark[]): Promise<Filled[]> {
    await this.#checkPermissions(reader, marks);
    const tokens = await this.#tokens(reader, marks);
    const captures = await this.#captured(reader, marks);
    return marks.map((mark) => {
      const { source, token } = mark.placeholder;
      const held = source === 'detokenize' ? tokens.get(token) : captures.get(token);
      if (held === undefined) throw unknown(mark);
      return { mark, value: partOf(mark, held) };
    });
  }

  async #checkPermissions(reader: Reader, marks: readonly Mark[]): Promise<void> {
    const { tenant, permissions, origin } = reader;
    const needed = new Set(marks.map(({ placeholder }) => NEEDED[placeholder.source]));
    const missing = [...needed].filter((permission) => !permissions.includes(permission));
    if (missing.length === 0) return;
    const event = { action: 'access.denied', outcome: 'permission_missing', ...tenant } as const;
    const entry = auditEntry(this.#clock, origin, { ...event, detail: { permissions: missing, use: reader.use } });
    await commitOrThrow(this.#database, { account: tenant.account, writes: [], journal: [entry] });
    throw new Failure('access_denied');
  }

  async #tokens({ tenant, origin, use }: Reader, marks: readonly Mark[]): Promise<Map<string, Held>> {
    const named = new Set(tokensIn(marks, 'detokenize'));
    const revealed = await this.#vault.reveal(tenant, [...named], origin, use);
    const held = [...revealed].map(([name, { card, token }]): [string, Held] => [
      name,
      { card: card.pan, expiry: card.expiry, name: card.name, token, cvv: undefined },
    ]);
    return new Map(held);
  }

  async #captured({ tenant, origin, use }: Reader, marks: readonly Mark[]): Promise<Map<string, Held>> {
    const named = new Set(tokensIn(marks, 'transaction'));
    const ofCvv = marks.filter(({ placeholder }) => placeholder.part === 'cvv');
    const withCvv = new Set(tokensIn(ofCvv, 'transaction'));
    const wanted = [...named].map((id) => ({ id, sad: withCvv.has(id) }));
    const revealed = await this.#captures.reveal(tenant, wanted, origin, use);
    const held = [...revealed].map(([id, { pan, expiry, name, sad }]): [string, Held] => [
      id,
      { card: pan, expiry, name, token: id, cvv: sad.cvv },
    ]);
    return new Map(held);
  }
}

const tokensIn = (marks: readonly Mark[], source: Placeholder['source']): string[] =>
  marks.filter(({ placeholder }) => placeholder.source === source).map(({ placeholder }) => placeholder.token);

const unknown = (mark: Mark): Failure =>
  mark.placeholder.source === 'detokenize'
    ? faultAt(mark, 'no such token', 'unknown_token')
    : faultAt(mark, 'no such capture, or its ttl has ended', 'unknown_capture');

function partOf(mark: Mark, held: Held): string {
  const { part, date } = mark.placeholder;
  const value = part === 'expiration' ? held.expiry && dateOf(held.expiry, date) : held[part];
  if (value === undefined) throw faultAt(mark, `the record has no ${NAMES[part]}`);
  return value;
}

const NAMES: Readonly<Record<Part, string>> = {
  card: 'card number',
  expiration: 'expiry',
  name: 'name',
  token: 'token',
  cvv: 'verification code',
};
