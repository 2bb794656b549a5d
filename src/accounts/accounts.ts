import { AlteredRows } from '../audit/altered-rows.ts';
import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { Keyring } from '../crypto/keyring.ts';
import type { Transaction } from '../idempotency/transaction.ts';
import { type Clock, MINUTE, type Random } from '../kernel/clock.ts';
import { assertDisplayable } from '../kernel/displayable.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { Failure, notPossible } from '../kernel/failure.ts';
import { newId } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import type { Database, Row, Write } from '../storage/database.ts';
import { rowMacKey } from '../storage/mac-table.ts';
import type { Account, AuthenticAccount, Enablement, TamperedAccount } from './account.ts';
import { accountEvent, keyEvent, tamperedKeyEvent } from './account-events.ts';
import {
  findAccount,
  insertAccount,
  insertFirstAccount,
  listAccounts,
  listEnablements,
  nextAccountNumber,
  replaceTamperedAccount,
  type StoredAccount,
  updateAccount,
} from './account-store.ts';
import type { AllowedNetwork } from './allow-list.ts';
import { type ApiKey, keyStateAt, type StoredKey } from './api-key.ts';
import {
  type ApiKeyView,
  findKey,
  findKeys,
  type KeyRow,
  listKeys,
  listKeyViews,
  replaceTamperedKey,
  reserveKeyQuota,
  updateKey,
} from './api-key-store.ts';
import { assertDisplayableAttributes, type IssuedKey, issueKey, type KeyAttributes, type NewKey } from './issue-key.ts';
import { ACCOUNTS, API_KEYS, ENABLEMENTS } from './mac-tables.ts';

interface EditScope {
  /** Restricts the change to keys of this account. */
  readonly account?: string;
  /** The revision that the change is based on. */
  readonly expectedRevision?: number;
}

const ACCOUNT_ID_CHARACTERS = 10;
/** The length of a key's digest. */
const DIGEST_BYTES = 32;

/** The operator's use cases for accounts and API keys. Every change is audited in the transaction that makes it. */
export class Accounts {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #alteredRows: AlteredRows;

  constructor(options: {
    database: Database;
    keyring: Keyring;
    clock: Clock;
    random: Random;
  }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#alteredRows = new AlteredRows(options);
  }

  /** Throws `invalid_field`. */
  async create(transaction: Transaction, name: string): Promise<Account> {
    assertDisplayable(name, 'name');
    const account = await this.#newAccount(name);
    // A conflict means that another process took the number: the next attempt takes the next one.
    transaction.write(insertAccount(await this.#macKey(), account));
    transaction.record(accountEvent('account.created', account));
    return account;
  }

  /** Creates an account with a key, both or neither; undefined when an account exists already. */
  async createFirst(
    transaction: Transaction,
    name: string,
    environment: Environment,
    attributes: KeyAttributes,
  ): Promise<IssuedKey | undefined> {
    // The attempt before met another account.
    if (transaction.attempt > 0) return undefined;
    assertDisplayable(name, 'name');
    const account = await this.#newAccount(name);
    const { insert, ...issued } = await this.#issueKey({ account: account.id, environment }, attributes);
    transaction.write(insertFirstAccount(await this.#macKey(), account));
    transaction.write(insert);
    transaction.record(accountEvent('account.created', account));
    transaction.record(keyEvent('key.created', issued.key));
    return issued;
  }

  async list(): Promise<Account[]> {
    const accounts: Account[] = [];
    for (const stored of await listAccounts(this.#database, await this.#macKey()))
      accounts.push(await this.#reportIfTampered(stored));
    return accounts;
  }

  async find(id: string): Promise<Account | undefined> {
    const stored = await findAccount(this.#database, await this.#macKey(), id);
    return stored && this.#reportIfTampered(stored);
  }

  async get(id: string): Promise<Account> {
    const account = await this.find(id);
    if (account === undefined) throw notPossible('accountUnknown');
    return account;
  }

  /** Returns the name of an account; undefined where its row was altered, because an attacker may have chosen that name. */
  async findAuthenticName(id: string): Promise<string | undefined> {
    const account = await this.find(id);
    return account === undefined || account.isTampered ? undefined : account.name;
  }

  /** Returns the enablements without those whose row was altered: they count as not enabled. */
  async listEnablements(tenant: Tenant): Promise<Enablement[]> {
    const enablements = await listEnablements(this.#database, await this.#macKey(), tenant);
    for (const { isTampered, row } of enablements) if (isTampered) await this.#alteredRows.report(ENABLEMENTS, row);
    return enablements.filter(({ isTampered }) => !isTampered);
  }

  /**
   * Rejects all keys of the account, without changing any of them. An account whose row was altered is sealed again in
   * this state, under the `name` that the operator gives: it can then be resumed. Throws `invalid_field`.
   */
  async suspend(transaction: Transaction, id: string, name?: string): Promise<void> {
    const account = await this.get(id);
    if (account.isTampered) return this.#resealAsSuspended(transaction, account, name);
    if (name !== undefined) throw notPossible('accountNotAltered');
    if (account.status === 'suspended') throw notPossible('accountSuspendedAlready');
    const update = updateAccount(await this.#macKey(), account, { suspendedAt: transaction.now });
    transaction.write(update, concurrentUpdate());
    transaction.record(accountEvent('account.suspended', account));
  }

  async resume(transaction: Transaction, id: string): Promise<void> {
    const account = assertAuthentic(await this.get(id));
    if (account.status !== 'suspended') throw notPossible('accountNotSuspended');
    transaction.write(updateAccount(await this.#macKey(), account, { suspendedAt: undefined }), concurrentUpdate());
    transaction.record(accountEvent('account.resumed', account));
  }

  /** Sets whether changes in production need the approval of a second person. */
  async setDualControl(transaction: Transaction, id: string, isOn: boolean): Promise<void> {
    const account = assertAuthentic(await this.get(id));
    transaction.write(updateAccount(await this.#macKey(), account, { dualControl: isOn }), concurrentUpdate());
    transaction.record(accountEvent('account.edited', account, { dual_control: isOn ? 'yes' : 'no' }));
  }

  /** Throws `invalid_field`. */
  async createKey(
    transaction: Transaction,
    account: string,
    environment: Environment,
    attributes: KeyAttributes,
  ): Promise<IssuedKey> {
    assertAuthentic(await this.get(account));
    assertDisplayableAttributes(attributes);
    const tenant = { account, environment };
    const { insert, ...issued } = await this.#issueKey(tenant, attributes);
    this.#reserveKeyQuota(transaction, tenant);
    transaction.write(insert, concurrentUpdate());
    transaction.record(keyEvent('key.created', issued.key));
    return issued;
  }

  async listKeys(accountId: string): Promise<StoredKey[]> {
    await this.get(accountId);
    const rows = await listKeys(this.#database, await this.#macKey(), accountId);
    await this.#reportKeys(rows);
    return rows.map(({ key }) => key);
  }

  /** Lists the active keys and the newest of the others, the newest first. */
  async listKeyViews(tenant: Tenant, containing?: string): Promise<ApiKeyView[]> {
    const onTampered = (row: Row): Promise<void> => this.#alteredRows.report(API_KEYS, row);
    return listKeyViews(this.#database, await this.#macKey(), tenant, this.#clock(), { onTampered, containing });
  }

  /** Undefined when the key belongs to another account or environment. */
  async findKey({ account, environment }: Tenant, id: string): Promise<StoredKey | undefined> {
    const found = await findKey(this.#database, await this.#macKey(), account, id);
    if (found === undefined || found.key.environment !== environment) return undefined;
    await this.#reportKeys([found]);
    return found.key;
  }

  async getKey(id: string): Promise<StoredKey> {
    return selectAuthentic(await this.#findKeyRows(id)).key;
  }

  /** Throws `invalid_field`, and `changed_meanwhile` when the key has another revision than the expected one. */
  async editKey(
    transaction: Transaction,
    id: string,
    changes: Partial<KeyAttributes>,
    scope: EditScope = {},
  ): Promise<ApiKey> {
    const found = await this.#getEditableKey(id, scope.account);
    const { key: old } = found;
    if (scope.expectedRevision !== undefined && scope.expectedRevision !== old.revision)
      throw new Failure('changed_meanwhile');
    const { key, update } = updateKey(await this.#macKey(), found, changes);
    assertWithinLimit(key.allowList);
    assertDisplayableAttributes(changes);
    const [before, after] = [old, key].map((each) => keyStateAt(each, this.#clock()));
    if (before !== 'active' && after === 'active') this.#reserveKeyQuota(transaction, key);
    transaction.write(update, concurrentUpdate());
    transaction.record(keyEvent('key.edited', key, { changed: Object.keys(changes) }));
    return key;
  }

  /** Creates a successor with the same attributes; the old key expires after the overlap, or at its earlier expiry. */
  async rotateKey(transaction: Transaction, id: string, overlapMinutes: number, account?: string): Promise<IssuedKey> {
    const found = await this.#getEditableKey(id, account);
    const { key: old } = found;
    if (old.successor !== undefined) throw notPossible('keyRotated', { successor: old.successor });
    // The successor would expire at the same time.
    if (keyStateAt(old, this.#clock()) === 'expired') throw notPossible('keyExpired');
    const { insert, ...issued } = await this.#issueKey(old, old);
    const end = this.#clock() + overlapMinutes * MINUTE;
    const ending = { expiresAt: Math.min(end, old.expiresAt ?? end), successor: issued.key.id };
    const detail = { successor: issued.key.id, overlap_minutes: overlapMinutes };
    const { update } = updateKey(await this.#macKey(), found, ending);
    // Where as many keys as allowed are active, only this update makes room for the successor.
    transaction.write(update, concurrentUpdate());
    this.#reserveKeyQuota(transaction, old);
    transaction.write(insert, concurrentUpdate());
    transaction.record(keyEvent('key.rotated', old, detail));
    transaction.record(keyEvent('key.created', issued.key));
    return issued;
  }

  /**
   * Revokes a key. A row that was altered is replaced with a revoked key without rights, so that nothing of it is
   * sealed. `account` restricts this to the row of that account; otherwise it applies to every row with this id, of
   * which an attacker may have added some.
   */
  async revokeKey(transaction: Transaction, id: string, account?: string): Promise<ApiKey> {
    const rows = await this.#findKeyRows(id, account);
    const pending = rows.filter((row) => row.isTampered || row.key.revokedAt === undefined);
    const [first, ...others] = await Promise.all(pending.map((row) => this.#buildRevocation(row)));
    if (first === undefined) throw notPossible('keyRevokedAlready');
    for (const { key, update, row } of [first, ...others]) {
      transaction.write(update, concurrentUpdate());
      if (row.isTampered) transaction.write(this.#alteredRows.buildRemoval(API_KEYS, row.row), concurrentUpdate());
      transaction.record(row.isTampered ? tamperedKeyEvent('key.revoked', key) : keyEvent('key.revoked', key));
    }
    return first.key;
  }

  async #buildRevocation(row: KeyRow): Promise<{ readonly key: ApiKey; readonly update: Write; readonly row: KeyRow }> {
    const macKey = await this.#macKey();
    const now = this.#clock();
    if (!row.isTampered) return { ...updateKey(macKey, row, { revokedAt: now }), row };
    return { ...replaceTamperedKey(macKey, row, this.#random.bytes(DIGEST_BYTES), now), row };
  }

  async #resealAsSuspended(transaction: Transaction, account: TamperedAccount, name: string | undefined) {
    if (name === undefined) throw accountAltered();
    assertDisplayable(name, 'name');
    const detail = { altered: 'yes', name };
    const replaced = replaceTamperedAccount(await this.#macKey(), account, name, transaction.now);
    transaction.write(replaced, concurrentUpdate());
    transaction.write(this.#alteredRows.buildRemoval(ACCOUNTS, { id: account.id }));
    transaction.record(accountEvent('account.suspended', account, detail));
  }

  #macKey(): Promise<DigestKeys> {
    return rowMacKey(this.#keyring);
  }

  async #newAccount(name: string): Promise<AuthenticAccount> {
    const id = newId('acct', ACCOUNT_ID_CHARACTERS, this.#random);
    const number = await nextAccountNumber(this.#database);
    this.#database.nameAccount(id, number);
    return {
      isTampered: false,
      id,
      number,
      name,
      status: 'onboarding',
      createdAt: this.#clock(),
      dualControl: false,
      suspendedAt: undefined,
      revision: 1,
    };
  }

  #issueKey(tenant: Tenant, attributes: KeyAttributes): Promise<NewKey> {
    assertWithinLimit(attributes.allowList);
    return issueKey({ keyring: this.#keyring, clock: this.#clock, random: this.#random }, tenant, attributes);
  }

  async #reportIfTampered({ account, row }: StoredAccount): Promise<Account> {
    if (account.isTampered) await this.#alteredRows.report(ACCOUNTS, row);
    return account;
  }

  async #reportKeys(rows: readonly KeyRow[]): Promise<void> {
    for (const row of rows) if (row.isTampered) await this.#alteredRows.report(API_KEYS, row.row);
  }

  /** `account` restricts the result to the row of that account. */
  async #findKeyRows(id: string, account?: string): Promise<readonly [KeyRow, ...KeyRow[]]> {
    const found = await findKeys(this.#database, await this.#macKey(), id);
    const [first, ...others] = found.filter(({ key }) => account === undefined || key.account === account);
    if (first === undefined) throw notPossible('keyUnknown');
    await this.#reportKeys([first, ...others]);
    return [first, ...others];
  }

  /** Returns a key whose row is authentic and that was not revoked. */
  async #getEditableKey(id: string, account?: string): Promise<KeyRow & { readonly isTampered: false }> {
    const found = selectAuthentic(await this.#findKeyRows(id, account));
    if (found.isTampered) throw notPossible('keyAltered');
    if (found.key.revokedAt !== undefined) throw notPossible('keyRevoked');
    return found;
  }

  #reserveKeyQuota(transaction: Transaction, tenant: Tenant): void {
    const [lock, reservation] = reserveKeyQuota(tenant, this.#clock());
    transaction.write(lock, concurrentUpdate());
    transaction.write(reservation, keyQuotaExceeded());
  }
}

/**
 * Chooses among rows with one id: the authentic one that was not revoked, otherwise any authentic one, otherwise the
 * first.
 */
const selectAuthentic = (rows: readonly [KeyRow, ...KeyRow[]]): KeyRow =>
  rows.find(({ isTampered, key }) => !isTampered && key.revokedAt === undefined) ??
  rows.find(({ isTampered }) => !isTampered) ??
  rows[0];

const accountAltered = (): Failure => notPossible('accountAltered');

/** Throws for an account whose row was altered: the content of such a row must not be sealed. */
function assertAuthentic(account: Account): AuthenticAccount {
  if (account.isTampered) throw accountAltered();
  return account;
}

const concurrentUpdate = (): Failure => notPossible('changedConcurrently');

function keyQuotaExceeded(): Failure {
  const { keysPerEnvironment, keysCreatedPerDay: keysMadePerDay } = LIMITS;
  return notPossible('keysFull', { working: keysPerEnvironment, made: keysMadePerDay });
}

function assertWithinLimit(allowList: readonly AllowedNetwork[]): void {
  const max = LIMITS.allowListEntries;
  if (allowList.length > max) throw notPossible('allowListEntries', { max });
}
