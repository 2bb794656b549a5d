import type { Account } from '../accounts/account.ts';
import type { Accounts } from '../accounts/accounts.ts';
import type { AuditAction, AuditEvent } from '../audit/audit.ts';
import type { Captures } from '../captures/captures.ts';
import { hashSecret, isSameDigest } from '../crypto/fingerprint.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { brandOf } from '../kernel/card-brand.ts';
import { checkEntry, type Entry, type FieldError, toDigits } from '../kernel/card-entry.ts';
import { type Clock, formatIso8601, HOUR, MINUTE, type Random } from '../kernel/clock.ts';
import type { Tenant } from '../kernel/environment.ts';
import { type Expiry, formatLongExpiry, parseExpiry } from '../kernel/expiry.ts';
import { Failure, notPossible } from '../kernel/failure.ts';
import { newId } from '../kernel/ids.ts';
import { isJsonObject, parseJson } from '../kernel/json.ts';
import { LIMITS } from '../kernel/limits.ts';
import { type Pan, parsePan, truncatePan } from '../kernel/pan.ts';
import type { TrustedTime } from '../kernel/time-guard.ts';
import { Cache, MAX_CACHED_TENANTS, SETTINGS_TTL_MS } from '../storage/cache.ts';
import type { Database } from '../storage/database.ts';
import { decodeCursor, encodeCursor, type Page } from '../storage/pagination.ts';
import type { Vault } from '../vault/vault.ts';
import type { Outbox } from '../webhooks/outbox.ts';
import {
  type Session,
  type SessionGoal,
  type SessionResult,
  type SessionSettings,
  type SessionStatus,
  statusAt,
} from './session.ts';
import {
  changeSession,
  completeSession,
  expireSession,
  findSession,
  findSessionById,
  insertSession,
  keepSettings,
  type ListedSession,
  listSessions,
  type RecentSettings,
  removeSessions,
  type StoredSession,
} from './session-store.ts';

const ID_LETTERS = 24;
const ID = /^cs_[0-9a-z]{24}$/;
const SECRET_BYTES = 32;
const SECRET = /^[A-Za-z0-9_-]{43}$/;
const KEPT_AFTER_END_MS = 24 * HOUR;
/** The form is loaded within seconds after its session was created, and its requests follow each other. */
const RECENT_MS = MINUTE;

/** A submission of the card form. `attempt`: a UUID that the form makes for each press of the button. */
export interface Submission extends Entry {
  readonly attempt: string;
}

/** The response to a submission. */
export type SubmissionOutcome =
  | { readonly kind: 'completed'; readonly result: SessionResult }
  | { readonly kind: 'refused'; readonly status: SessionStatus; readonly errors: readonly FieldError[] }
  | { readonly kind: 'ended'; readonly status: SessionStatus };

/** A session with its status at the present. */
export interface SessionView {
  readonly session: Session;
  readonly status: SessionStatus;
  readonly endedAt: number | undefined;
}

/** A session of a list; the view is undefined when its row was altered in the database. */
export interface ListedView extends ListedSession {
  readonly view: SessionView | undefined;
}

/**
 * Creates sessions for merchants, and takes the card of a buyer into one. The capture or token, its audit record, its event and
 * the end of the session are one commit (browser.md 2).
 */
export class CaptureSessions {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #time: TrustedTime;
  readonly #random: Random;
  readonly #accounts: Accounts;
  /** Each of the three requests of a form needs its account. */
  readonly #cachedAccounts: Cache<string, Account>;
  readonly #recent: RecentSettings;
  readonly #captures: Captures;
  readonly #vault: Vault;
  readonly #outbox: Outbox | undefined;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    clock: Clock;
    time: TrustedTime;
    random: Random;
    accounts: Accounts;
    captures: Captures;
    vault: Vault;
    outbox?: Outbox | undefined;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#time = options.time;
    this.#random = options.random;
    this.#accounts = options.accounts;
    this.#cachedAccounts = new Cache({ clock: options.clock, max: MAX_CACHED_TENANTS, ttlMs: SETTINGS_TTL_MS });
    this.#recent = new Cache({ clock: options.clock, max: LIMITS.recentSessions, ttlMs: RECENT_MS });
    this.#captures = options.captures;
    this.#vault = options.vault;
    this.#outbox = options.outbox;
  }

  /** Returns the session and its secret, which is shown once. */
  async create(
    transaction: Transaction,
    tenant: Tenant,
    settings: SessionSettings,
    expiresInMinutes: number,
  ): Promise<{ readonly session: Session; readonly secret: string }> {
    const { now: createdAt, latest } = this.#time.timesNow();
    const bytes = this.#random.bytes(SECRET_BYTES);
    const secret = Buffer.from(bytes).toString('base64url');
    const session: Session = {
      ...{ tenant, settings, createdAt, attempts: 0, status: 'open' as const },
      id: newId('cs', ID_LETTERS, this.#random),
      expiresAt: latest + expiresInMinutes * MINUTE,
      endedAt: undefined,
      attempt: undefined,
      result: undefined,
    };
    const { write, ...unsealed } = await insertSession(this.#keyring, session, digestOf(secret));
    transaction.write(write);
    transaction.afterCommit(async () => keepSettings(this.#recent, unsealed));
    transaction.record(sessionEvent('capture-session.created', session, { result: settings.goal.result }));
    return { session, secret };
  }

  /**
   * Returns a session to its merchant. An expired one is ended in the database too: a submission that was in time, and whose commit
   * has to wait, cannot complete it after the merchant has read that it expired. Throws `unknown_session`.
   */
  async show(transaction: Transaction, tenant: Tenant, id: string): Promise<SessionView> {
    const view = await this.get(tenant, id);
    const { session } = view;
    if (session.status === 'open' && statusAt(session, this.#time.latestNow()) === 'expired')
      transaction.write(expireSession(session));
    return view;
  }

  /** Throws `unknown_session`. */
  async get(tenant: Tenant, id: string): Promise<SessionView> {
    const stored = ID.test(id) ? await findSession(this.#database, this.#keyring, tenant, id) : undefined;
    if (stored === undefined || this.#isRemovable(stored.session)) throw unknownSession();
    return this.#view(stored.session);
  }

  /**
   * Lists the sessions of a tenant that are open or ended less than a day ago, the newest first. Throws `invalid_field` for a cursor
   * that is none.
   */
  async list(tenant: Tenant, cursor?: string): Promise<Page<ListedView>> {
    const [createdAt, id] =
      cursor === undefined ? [Number.MAX_SAFE_INTEGER, ''] : decodeCursor(cursor, 0 as number, '' as string);
    const limit = LIMITS.recordsPerPage;
    const rows = await listSessions(this.#database, this.#keyring, tenant, { createdAt, id, limit });
    const present = rows.filter(({ session }) => session === undefined || !this.#isRemovable(session));
    const items = present.map(async (row) => ({ ...row, view: row.session && (await this.#view(row.session)) }));
    const last = rows.length < limit ? undefined : rows.at(-1);
    return { items: await Promise.all(items), cursor: last && encodeCursor(last.createdAt, last.id) };
  }

  /** Throws `unknown_session`, and `not_possible` when it has ended; an expired one is then ended in the database too, as by `show`. */
  async cancel(transaction: Transaction, tenant: Tenant, id: string): Promise<void> {
    const { session, status } = await this.show(transaction, tenant, id);
    if (status === 'open') this.#end(transaction, session, 'cancelled');
    else transaction.rejectAfterCommit(notPossible('sessionEnded', { status }));
  }

  /** Finds the pages that may frame the form of a session, whatever its status; undefined for an unknown or removed one. */
  async findOrigins(id: string): Promise<readonly string[] | undefined> {
    const recent = this.#recent.peek(id);
    // No session is removed before its time is over, whatever ended it.
    const isPresent = recent !== undefined && this.#time.steadyNow() < recent.created.expiresAt;
    const { settings } = isPresent ? recent : ((await this.#findPresent(id))?.session ?? {});
    return settings?.allowedOrigins;
  }

  /** Returns the session when the secret is its own. Throws `unknown_session`, and `session_secret` for any other. */
  async authorize(id: string, secret: string | undefined): Promise<SessionView> {
    const stored = await this.#findPresent(id);
    if (stored === undefined) throw unknownSession();
    const { session } = stored;
    const given = digestOf(secret !== undefined && SECRET.test(secret) ? secret : '');
    if (!isSameDigest(given, stored.secret)) throw new Failure('session_secret');
    return this.#view(session);
  }

  async #findPresent(id: string): Promise<StoredSession | undefined> {
    const stored = ID.test(id) ? await findSessionById(this.#database, this.#keyring, id, this.#recent) : undefined;
    return stored === undefined || this.#isRemovable(stored.session) ? undefined : stored;
  }

  /** The hosted page's way back; repeats are harmless. */
  async cancelByBuyer(transaction: Transaction, id: string, secret: string | undefined): Promise<SessionStatus> {
    const { session, status } = await this.authorize(id, secret);
    if (status !== 'open') return status;
    this.#end(transaction, session, 'cancelled');
    return 'cancelled';
  }

  /**
   * Takes a card. Of submissions that come at once on any nodes one wins: each change is a compare-and-set, and a conflict runs this
   * again. `parse` is called for an authorized caller only. Throws what `authorize` and `parse` throw.
   */
  async submit(
    transaction: Transaction,
    id: string,
    secret: string | undefined,
    parse: () => Submission,
  ): Promise<SubmissionOutcome> {
    const { session, status } = await this.authorize(id, secret);
    const submission = parse();
    if (session.status === 'completed' && session.attempt === submission.attempt && session.result !== undefined)
      return { kind: 'completed', result: session.result };
    if (status !== 'open') return { kind: 'ended', status };
    const { fields, acceptedBrands } = session.settings;
    const entry = withoutHidden(submission, fields);
    const errors = checkEntry(entry, { fields, acceptedBrands }, toPresent(this.#time.steadyNow()));
    if (errors.length > 0) return this.#refuse(transaction, session, errors);
    const made = await this.#make(transaction, session, entry);
    if (made === undefined) return this.#refuse(transaction, session, [{ field: 'number', code: 'unavailable' }]);
    const { attempt } = submission;
    const now = this.#time.latestNow();
    transaction.write(await completeSession(this.#keyring, session, { attempt, result: made }, now));
    transaction.record(sessionEvent('capture-session.completed', session));
    const ended: SessionView = {
      session: { ...session, status: 'completed', attempt, result: made, endedAt: now },
      status: 'completed',
      endedAt: now,
    };
    await this.#emit(transaction, 'capture_session.completed', ended);
    return { kind: 'completed', result: made };
  }

  /**
   * Removes sessions whose time was over a day ago; returns how many. One that ended before its time has been unknown since a day
   * after its end.
   */
  sweep(now: number): Promise<number> {
    return removeSessions(this.#database, now - KEPT_AFTER_END_MS, LIMITS.rowsPerSweep);
  }

  /** Counts a refused submission; nothing else of it is stored. */
  async #refuse(transaction: Transaction, session: Session, errors: readonly FieldError[]): Promise<SubmissionOutcome> {
    const attempts = session.attempts + 1;
    const status = attempts >= LIMITS.sessionAttempts ? 'failed' : 'open';
    const now = this.#time.latestNow();
    transaction.write(changeSession(session, { status, attempts }, now));
    if (status === 'failed') {
      transaction.record(sessionEvent('capture-session.failed', session));
      const ended: SessionView = { session: { ...session, status, attempts, endedAt: now }, status, endedAt: now };
      await this.#emit(transaction, 'capture_session.failed', ended);
    }
    return { kind: 'refused', status, errors };
  }

  #end(transaction: Transaction, session: Session, status: 'cancelled'): void {
    transaction.write(changeSession(session, { status, attempts: session.attempts }, this.#time.latestNow()));
    transaction.record(sessionEvent('capture-session.cancelled', session));
  }

  /** Creates the capture or the token. Undefined when no token of the scheme is free. */
  async #make(transaction: Transaction, session: Session, entry: Entry): Promise<SessionResult | undefined> {
    // The rules of the fields accept dashes of every kind, and the parser does not.
    const digits = toDigits(entry.number);
    const pan = parsePan(digits) as Pan;
    const expiry = parseExpiry(entry.exp) as Expiry;
    const card = {
      brand: brandOf(digits).brand,
      card: truncatePan(pan),
      exp: formatLongExpiry(expiry),
    };
    const name = entry.name.trim() === '' ? undefined : entry.name;
    const { goal, creator } = session.settings;
    const result =
      goal.result === 'capture'
        ? await this.#capture(transaction, session, goal, { pan, expiry, name, cvv: entry.cvv })
        : await this.#tokenize(transaction, session, { ...goal, creator }, { pan, expiry, name });
    return result && { result, card };
  }

  async #capture(
    transaction: Transaction,
    { tenant }: Session,
    goal: Extract<SessionGoal, { result: 'capture' }>,
    { pan, expiry, name, cvv }: { pan: Pan; expiry: Expiry; name: string | undefined; cvv: string },
  ): Promise<SessionResult['result']> {
    const { amount, currency, ttlMinutes } = goal;
    const info = parseJson(goal.additionalInfo);
    const id = await this.#captures.create(transaction, tenant, {
      ...{ pan, expiry, name, amount, currency, ttlMinutes },
      sad: { cvv: cvv === '' ? undefined : cvv, track2: undefined },
      additionalInfo: isJsonObject(info) ? info : {},
    });
    return { capture: { id } };
  }

  async #tokenize(
    transaction: Transaction,
    { tenant }: Session,
    {
      format,
      persistent,
      tags,
      creator,
    }: Extract<SessionGoal, { result: 'token' }> & {
      readonly creator: SessionSettings['creator'];
    },
    card: { pan: Pan; expiry: Expiry; name: string | undefined },
  ): Promise<SessionResult['result'] | undefined> {
    try {
      const request = { cards: [card], tags, format, persistent, creator };
      const [made] = await this.#vault.tokenize(transaction, tenant, request);
      return made?.token && { token: { token: made.token.token, scheme: format.scheme } };
    } catch (error) {
      if (error instanceof Failure && (error.code === 'token_space_full' || error.code === 'nothing_tokenized'))
        return undefined;
      throw error;
    }
  }

  #emit(
    transaction: Transaction,
    type: 'capture_session.completed' | 'capture_session.failed',
    view: SessionView,
  ): Promise<void> {
    return (
      this.#outbox?.emit(transaction, view.session.tenant, { type, data: formatSession(view) }) ?? Promise.resolve()
    );
  }

  /** While the account is suspended, its open sessions act as expired. */
  async #view(session: Session): Promise<SessionView> {
    const status = statusAt(session, this.#time.latestNow());
    if (status === 'expired') return { session, status, endedAt: session.endedAt ?? session.expiresAt };
    if (status !== 'open') return { session, status, endedAt: session.endedAt };
    const account = await this.getAccount(session.tenant);
    return account.status === 'suspended'
      ? { session, status: 'expired', endedAt: undefined }
      : { session, status, endedAt: undefined };
  }

  /** Returns the account of a session, whose changes are valid after at most 2 seconds. */
  getAccount({ account }: Tenant): Promise<Account> {
    return this.#cachedAccounts.get(account, () => this.#accounts.get(account));
  }

  #isRemovable({ endedAt, expiresAt }: Session): boolean {
    return (endedAt ?? expiresAt) <= this.#time.steadyNow() - KEPT_AFTER_END_MS;
  }
}

/** The database alone tells no secret, which has 256 random bits. */
const digestOf = (secret: string): Uint8Array => hashSecret('capture session', secret);

const unknownSession = (): Failure => new Failure('unknown_session', { field: 'id' });

const withoutHidden = (entry: Entry, { name, cvv }: SessionSettings['fields']): Entry => ({
  ...entry,
  name: name === 'hidden' ? '' : entry.name,
  cvv: cvv === 'hidden' ? '' : entry.cvv,
});

/** The month at a time, UTC. */
function toPresent(now: number): { year: number; month: number } {
  const [year = '', month = ''] = formatIso8601(now).split('-');
  return { year: Number(year), month: Number(month) };
}

/** Returns a session as its GET responds, and its events tell. */
export function formatSession({ session, status, endedAt }: SessionView) {
  const { id, tenant, attempts, createdAt, expiresAt, result } = session;
  return {
    id,
    status,
    environment: tenant.environment,
    ...(status === 'completed' && result !== undefined && { result: result.result, card: result.card }),
    attempts,
    created_at: formatIso8601(createdAt),
    expires_at: formatIso8601(expiresAt),
    ...(endedAt !== undefined && { ended_at: formatIso8601(endedAt) }),
  };
}

function sessionEvent(
  action: Extract<AuditAction, `capture-session.${string}`>,
  { id, tenant }: Session,
  detail?: Readonly<Record<string, string>>,
): AuditEvent {
  return {
    ...{ action, outcome: 'success', ...tenant, targets: [`capture-session:${id}`] },
    ...(detail !== undefined && { detail }),
  };
}
