import type { Origin } from '../audit/audit.ts';
import type { Keyring } from '../crypto/keyring.ts';
import { type Clock, MINUTE, type Random } from '../kernel/clock.ts';
import type { Environment, Tenant } from '../kernel/environment.ts';
import { Failure } from '../kernel/failure.ts';
import { newId } from '../kernel/ids.ts';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { mustBeReadable } from '../kernel/readable.ts';
import type { Database, Unit } from '../storage/database.ts';
import type { Account, Enablement } from './account.ts';
import { accountEvent, keyEvent } from './account-events.ts';
import {
  findAccount,
  insertAccount,
  insertFirstAccount,
  listAccounts,
  listEnablements,
  putProductionByTwo,
  resumeAccount,
  suspendAccount,
} from './account-store.ts';
import type { AllowedNetwork } from './allow-list.ts';
import { type ApiKey, keyState } from './api-key.ts';
import { sealOfKey } from './key-seal.ts';
import { findKey, keysToList, type ListedKey, listKeys, roomForKey, updateKey } from './key-store.ts';
import { type IssuedKey, type KeyTraits, keysDigestKey, mustBeReadableIn, type NewKey, newKey } from './new-key.ts';

/** A request of the operator that cannot be carried out; its text is for the operator. */
class AccountError extends OperatorError {
  override readonly name = 'AccountError';
}

const ACCOUNT_ID_CHARACTERS = 10;

/** What the operator does with accounts and API keys. Every change is audited in the unit that makes it. */
export class Accounts {
  readonly #database: Database;
  readonly #keyring: Keyring;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(options: { database: Database; keyring: Keyring; clock: Clock; random: Random }) {
    this.#database = options.database;
    this.#keyring = options.keyring;
    this.#clock = options.clock;
    this.#random = options.random;
  }

  /** Throws `invalid_field`. */
  async create(name: string, origin: Origin): Promise<Account> {
    const account = this.#newAccount(name);
    const journal = [accountEvent(this.#clock, 'account.created', account, origin)];
    await this.#commit({ writes: [insertAccount(account)], journal });
    return account;
  }

  /** An account with a key, both or neither, unless there is an account already. */
  async createFirst(
    name: string,
    environment: Environment,
    traits: KeyTraits,
    origin: Origin,
  ): Promise<IssuedKey | undefined> {
    const account = this.#newAccount(name);
    const { insert, ...issued } = await this.#issue({ account: account.id, environment }, traits);
    const writes = [insertFirstAccount(account), insert];
    const journal = [
      accountEvent(this.#clock, 'account.created', account, origin),
      keyEvent(this.#clock, 'key.created', issued.key, origin),
    ];
    const { committed } = await this.#database.commit({ writes, journal });
    return committed ? issued : undefined;
  }

  list(): Promise<Account[]> {
    return listAccounts(this.#database);
  }

  find(id: string): Promise<Account | undefined> {
    return findAccount(this.#database, id);
  }

  async get(id: string): Promise<Account> {
    const account = await this.find(id);
    if (account === undefined) throw new AccountError('there is no such account; see: cardvault account list');
    return account;
  }

  enablements(tenant: Tenant): Promise<Enablement[]> {
    return listEnablements(this.#database, tenant);
  }

  /** Refuses all keys of the account, without changing any of them. */
  async suspend(id: string, origin: Origin): Promise<Account> {
    const account = await this.get(id);
    if (account.status === 'suspended') throw new AccountError('the account is suspended already');
    const journal = [accountEvent(this.#clock, 'account.suspended', account, origin)];
    await this.#commit({ writes: [suspendAccount(id, this.#clock())], journal });
    return this.get(id);
  }

  async resume(id: string, origin: Origin): Promise<Account> {
    const account = await this.get(id);
    if (account.status !== 'suspended') throw new AccountError('the account is not suspended');
    const journal = [accountEvent(this.#clock, 'account.resumed', account, origin)];
    await this.#commit({ writes: [resumeAccount(id)], journal });
    return this.get(id);
  }

  /** Whether changes in production take two people. `more` happens with it. */
  async setProductionByTwo(id: string, isOn: boolean, origin: Origin, more: Unit = { writes: [] }): Promise<void> {
    const detail = { production_by_two: isOn ? 'yes' : 'no' };
    const event = accountEvent(this.#clock, 'account.edited', await this.get(id), origin, detail);
    const writes = [putProductionByTwo(id, isOn), ...more.writes];
    await this.#commit({ writes, journal: [event, ...(more.journal ?? [])] });
  }

  /** Throws `invalid_field`. */
  async createKey(account: string, environment: Environment, traits: KeyTraits, origin: Origin): Promise<IssuedKey> {
    await this.get(account);
    mustBeReadableIn(traits);
    const tenant = { account, environment };
    const { insert, ...issued } = await this.#issue(tenant, traits);
    const journal = [keyEvent(this.#clock, 'key.created', issued.key, origin)];
    await this.#commitWithRoom(tenant, { writes: [insert], journal });
    return issued;
  }

  async keys(accountId: string): Promise<ApiKey[]> {
    await this.get(accountId);
    return listKeys(this.#database, accountId);
  }

  /** For people to look at: those that work and the newest of the others, the newest first. */
  keysIn(tenant: Tenant): Promise<ListedKey[]> {
    return keysToList(this.#database, tenant, this.#clock());
  }

  /** Undefined when it belongs to another account or environment. */
  async keyIn({ account, environment }: Tenant, id: string): Promise<ApiKey | undefined> {
    const key = (await findKey(this.#database, id))?.key;
    return key?.account === account && key.environment === environment ? key : undefined;
  }

  async key(id: string): Promise<ApiKey> {
    return (await this.#key(id)).key;
  }

  /** `seen`: the revision that the changes were made up by. Throws `invalid_field`, and `changed_meanwhile` when it is another now. */
  async editKey(id: string, changes: Partial<KeyTraits>, origin: Origin, seen?: number): Promise<ApiKey> {
    const { key: old, digest } = await this.#unrevokedKey(id);
    if (seen !== undefined && seen !== old.revision) throw new Failure('changed_meanwhile');
    const key = { ...old, ...changes, revision: old.revision + 1 };
    mustFit(key.allowList);
    mustBeReadableIn(changes);
    const journal = [keyEvent(this.#clock, 'key.edited', key, origin, { changed: Object.keys(changes) })];
    const unit = { writes: [updateKey(key, await this.#seal(key, digest))], journal };
    const [before, after] = [old, key].map((each) => keyState(each, this.#clock()));
    if (before !== 'active' && after === 'active') await this.#commitWithRoom(key, unit);
    else await this.#commit(unit);
    return key;
  }

  /** A successor with the same traits; the old key ends after the overlap, or earlier when it would have anyway. */
  async rotateKey(id: string, overlapMinutes: number, origin: Origin): Promise<IssuedKey> {
    const { key: old, digest } = await this.#unrevokedKey(id);
    if (old.successor !== undefined) throw new AccountError(`the key was rotated already; rotate ${old.successor}`);
    // The successor would have the same end.
    if (keyState(old, this.#clock()) === 'expired') throw new AccountError('the key has expired; make a new one');
    const { insert, ...issued } = await this.#issue(old, old);
    const end = this.#clock() + overlapMinutes * MINUTE;
    const expiresAt = Math.min(end, old.expiresAt ?? end);
    const ending = { ...old, expiresAt, successor: issued.key.id, revision: old.revision + 1 };
    const detail = { successor: issued.key.id, overlap_minutes: overlapMinutes };
    const journal = [
      keyEvent(this.#clock, 'key.rotated', old, origin, detail),
      keyEvent(this.#clock, 'key.created', issued.key, origin),
    ];
    const ended = updateKey(ending, await this.#seal(ending, digest));
    await this.#commitWithRoom(old, { writes: [insert], journal }, [ended]);
    return issued;
  }

  async revokeKey(id: string, origin: Origin): Promise<ApiKey> {
    const { key: old, digest } = await this.#key(id);
    if (old.revokedAt !== undefined) throw new AccountError('the key is revoked already');
    const key = { ...old, revokedAt: this.#clock(), revision: old.revision + 1 };
    const journal = [keyEvent(this.#clock, 'key.revoked', key, origin)];
    await this.#commit({ writes: [updateKey(key, await this.#seal(key, digest))], journal });
    return key;
  }

  #newAccount(name: string): Account {
    mustBeReadable(name, 'name');
    const id = newId('acct', ACCOUNT_ID_CHARACTERS, this.#random);
    return { id, name, status: 'onboarding', createdAt: this.#clock(), productionByTwo: false };
  }

  #issue(tenant: Tenant, traits: KeyTraits): Promise<NewKey> {
    mustFit(traits.allowList);
    return newKey({ keyring: this.#keyring, clock: this.#clock, random: this.#random }, tenant, traits);
  }

  async #seal(key: ApiKey, digest: Uint8Array): Promise<Uint8Array> {
    return sealOfKey(await keysDigestKey(this.#keyring, key.environment), key, digest);
  }

  async #key(id: string): Promise<{ key: ApiKey; digest: Uint8Array }> {
    const found = await findKey(this.#database, id);
    if (found === undefined) throw new AccountError('there is no such key; see: cardvault key list');
    return found;
  }

  async #unrevokedKey(id: string): Promise<{ key: ApiKey; digest: Uint8Array }> {
    const found = await this.#key(id);
    if (found.key.revokedAt !== undefined) throw new AccountError('the key is revoked; make a new one');
    return found;
  }

  async #commit(unit: Unit): Promise<void> {
    if (!(await this.#database.commit(unit)).committed) throw outrun();
  }

  /** Where as many keys as there may be work, only what is written `before` can make room for one more. */
  async #commitWithRoom(tenant: Tenant, unit: Unit, before: Unit['writes'] = []): Promise<void> {
    const writes = [...before, ...roomForKey(tenant, this.#clock()), ...unit.writes];
    const outcome = await this.#database.commit({ ...unit, writes });
    if (outcome.committed) return;
    throw outcome.write === before.length + 1 ? noRoom() : outrun();
  }
}

const outrun = (): AccountError => new AccountError('somebody else changed this at the same moment; try again');

function noRoom(): AccountError {
  const { keysPerEnvironment, keysMadePerDay } = LIMITS;
  return new AccountError(
    `${keysPerEnvironment} keys of an environment work at once at most, and ${keysMadePerDay} are made in 24 hours; ` +
      'revoke keys that are not needed any more',
  );
}

function mustFit(allowList: readonly AllowedNetwork[]): void {
  const max = LIMITS.allowListEntries;
  if (allowList.length > max) throw new AccountError(`an allow-list has at most ${max} entries`);
}
