import type { Permission } from '../accounts/permission.ts';
import { auditEntry, type Origin } from '../audit/audit.ts';
import type { Captures } from '../captures/captures.ts';
import type { Clock } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import type { Expiry } from '../kernel/expiry.ts';
import { Failure } from '../kernel/failure.ts';
import { commitAll, type Database } from '../storage/database.ts';
import type { Vault } from '../vault/vault.ts';
import { dateOf } from './dates.ts';
import type { Part, Placeholder } from './grammar.ts';
import { faultAt, type Mark } from './mark.ts';

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

/** Puts card data in the place of placeholders: checks permissions, reads each record once, audits each read. */
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
   * One value for each mark, in order; the audit records of all reads are on disk. Throws `access_denied`,
   * `unknown_token`, `unknown_capture`, `invalid_placeholder`.
   */
  async resolve(reader: Reader, marks: readonly Mark[]): Promise<string[]> {
    await this.#checkPermissions(reader, marks);
    const records = Map.groupBy(marks, recordOf);
    const reads = await Promise.allSettled([...records.values()].map((same) => this.#read(reader, same)));
    const byRecord = new Map([...records.keys()].map((record, index) => [record, reads[index]]));
    // In the order of the payload, so that the first fault is told, whichever read ended first.
    return marks.map((mark) => partOf(mark, heldOf(byRecord.get(recordOf(mark)))));
  }

  async #checkPermissions(reader: Reader, marks: readonly Mark[]): Promise<void> {
    const { tenant, permissions, origin } = reader;
    const needed = new Set(marks.map(({ placeholder }) => NEEDED[placeholder.source]));
    const missing = [...needed].filter((permission) => !permissions.includes(permission));
    if (missing.length === 0) return;
    const event = { action: 'access.denied', outcome: 'permission_missing', ...tenant } as const;
    const entry = auditEntry(this.#clock, origin, { ...event, detail: { permissions: missing, use: reader.use } });
    await commitAll(this.#database, { writes: [], journal: [entry] });
    throw new Failure('access_denied');
  }

  /** Of one record, for all marks that name it. */
  async #read({ tenant, origin, use }: Reader, marks: readonly Mark[]): Promise<Held> {
    const [mark] = marks;
    if (mark === undefined) throw new Error('a record without a mark');
    const { token, source } = mark.placeholder;
    try {
      if (source === 'detokenize') {
        const { card, token: own } = await this.#vault.reveal(tenant, token, origin, use);
        return { card: card.pan, expiry: card.expiry, name: card.name, token: own, cvv: undefined };
      }
      const wanted = { sensitive: marks.some(({ placeholder }) => placeholder.part === 'cvv'), use };
      const { capture } = await this.#captures.retrieve(tenant, token, origin, wanted);
      const { pan, expiry, name, id, sensitive } = capture;
      return { card: pan, expiry, name, token: id, cvv: sensitive.cvv };
    } catch (error) {
      if (error instanceof Failure && (error.code === 'unknown_token' || error.code === 'unknown_capture'))
        throw faultAt(mark, error.code === 'unknown_token' ? 'no such token' : 'no such capture', error.code);
      throw error;
    }
  }
}

const recordOf = ({ placeholder: { source, token } }: Mark): string => `${source} ${token}`;

function heldOf(read: PromiseSettledResult<Held> | undefined): Held {
  if (read?.status !== 'fulfilled') throw read?.reason;
  return read.value;
}

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
