import assert from 'node:assert/strict';
import { createSecretKey } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret, TOTP } from 'otpauth';
import { openPeople, type PeopleParts } from '../console/people/open.ts';
import { type Authority, OPERATOR, type Role } from '../console/people/roles.ts';
import type { Means } from '../console/people/sealing.ts';
import type { Grant } from '../console/people/sessions.ts';
import type { RelyingParty, Visitor } from '../console/people/visitor.ts';
import { Accounts } from '../src/accounts/accounts.ts';
import type { AuditRecord } from '../src/audit/audit.ts';
import { exportJournal } from '../src/audit/verify.ts';
import { readConfig } from '../src/config.ts';
import { Keyring } from '../src/crypto/keyring.ts';
import { systemRandom } from '../src/crypto/random.ts';
import { SECOND } from '../src/kernel/clock.ts';
import { Failure, type FailureCode } from '../src/kernel/failure.ts';
import type { TrustedTime } from '../src/kernel/time-guard.ts';
import type { Database } from '../src/storage/database.ts';
import { wrappedKeyStore } from '../src/storage/key-store.ts';
import { openDatabase } from '../src/storage/open.ts';
import { databaseSettings, dropDatabase } from './database.ts';
import { beginJournal } from './journals.ts';

/** A vault without listeners, with a clock that tests can advance, for what people do in it. */
export interface PeopleHouse {
  readonly core: Means;
  readonly parts: PeopleParts;
  /** Another node over the same database. */
  anotherNode(): Promise<PeopleParts>;
  now(): number;
  advance(milliseconds: number): void;
  /** Sets the clock alone: less time has passed, or more. */
  jump(milliseconds: number): void;
  newAccount(): Promise<string>;
  /** Somebody who came in by an invitation, with an authenticator app. */
  newPerson(to: Authority): Promise<Somebody>;
  /** The code that the app shows now; the clock goes on first, so that it was not used. */
  newCode(person: { readonly totp: string }): string;
  signIn(person: Somebody): Promise<Grant>;
  /** Actions and outcomes in the log of an account, oldest first. */
  audited(account: string): Promise<string[]>;
  records(account: string): Promise<AuditRecord[]>;
  stop(): Promise<void>;
}

export interface Somebody {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly password: string;
  readonly totp: string;
  readonly recoveryCodes: readonly string[];
  /** As which they joined. */
  readonly grant: Grant;
}

export const VISITOR: Visitor = { address: '192.0.2.7', userAgent: 'Browser/1', requestId: 'request-1' };
export const BY_TEST = { actor: { type: 'operator' as const, name: 'test' } };
export const CONSOLE: RelyingParty = { id: 'localhost', name: 'cardvault', origin: 'https://localhost:8445' };
export const PASSWORD = 'wide river 71 stones';

export const codeAt = (totp: string, at: number): string =>
  new TOTP({ secret: Secret.fromBase32(totp) }).generate({ timestamp: at });

/** A code that the app does not show now, before or after. */
export const wrongCodeAt = (totp: string, at: number): string => {
  const right = [-60, -30, 0, 30, 60].map((seconds) => codeAt(totp, at + seconds * SECOND));
  return ['000000', '111111', '222222', '333333', '444444', '555555'].find((code) => !right.includes(code)) ?? '';
};

/** Rejects with this failure, and a text that holds none of what is secret. */
export async function refuses(code: FailureCode, done: Promise<unknown>, field?: string): Promise<void> {
  await assert.rejects(done, (error: unknown) => {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.code, code, error.message);
    assert.equal(error.field, field);
    return true;
  });
}

export async function openPeopleHouse(): Promise<PeopleHouse> {
  const directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  let offset = 0;
  let wrong = 0;
  const clock = (): number => Date.now() + offset + wrong;
  const steadyNow = (): number => clock() - wrong;
  const time: TrustedTime = {
    trustedNow: () => (wrong === 0 ? clock() : undefined),
    steadyNow,
    latestNow: () => Math.max(clock(), steadyNow()),
    timesNow: () => {
      const now = clock();
      return { now, steady: now - wrong, latest: Math.max(now, now - wrong) };
    },
  };
  const settings = { ...(await databaseSettings(directory)), CARDVAULT_CLOCK: 'system' };
  const random = systemRandom();
  const root = createSecretKey(random.bytes(32));
  const config = readConfig({ CARDVAULT_DATA_DIR: directory, ...settings });
  const opened: Database[] = [];
  const openNode = async (): Promise<Means> => {
    const { database } = openDatabase(config.database, clock, random);
    opened.push(database);
    await database.migrate(clock);
    const keyring = new Keyring({ root, store: wrappedKeyStore(database), clock, random });
    await beginJournal(database, await keyring.digestKey({ account: '', environment: 'service', purpose: 'journal' }));
    return { database, keyring, clock, time, random };
  };
  const core = await openNode();
  const parts = openPeople(core);
  const accounts = new Accounts(core);
  let people = 0;

  const newCode = ({ totp }: { readonly totp: string }): string => {
    offset += 30 * SECOND;
    return codeAt(totp, clock());
  };
  const newPerson = async (to: Authority): Promise<Somebody> => {
    const email = `person-${++people}@example.com`;
    const name = `Person ${people}`;
    const by: Authority = to.role === 'operator' || to.role === 'owner' ? OPERATOR : { ...to, role: 'owner' as Role };
    const link = await parts.invitations.invite({ ...to, email }, by, BY_TEST);
    const given = { secret: link.secret, name, language: 'en', password: PASSWORD };
    const { session } = await parts.joining.begin(given, VISITOR);
    const { secret: totp } = parts.joining.totp(session);
    const { recoveryCodes, ...grant } = await parts.joining.confirmTotp(session, codeAt(totp, clock()), VISITOR);
    return { id: session.person, email, name, password: PASSWORD, totp, recoveryCodes, grant };
  };
  const records = async (account: string): Promise<AuditRecord[]> => {
    const found: { at: number; record: AuditRecord }[] = [];
    for await (const link of exportJournal(core.database))
      if (link.account === account) found.push({ at: link.at, record: JSON.parse(link.record) });
    return found.sort((one, other) => one.at - other.at).map(({ record }) => record);
  };
  return {
    core,
    parts,
    anotherNode: async () => openPeople(await openNode()),
    now: clock,
    advance: (milliseconds) => {
      offset += milliseconds;
    },
    jump: (milliseconds) => {
      wrong += milliseconds;
    },
    newAccount: async () => (await accounts.create('Test', BY_TEST)).id,
    newPerson,
    newCode,
    signIn: async (person) => {
      const { session } = await parts.signIn.givePassword(person, VISITOR);
      return parts.signIn.giveFactor(session, { kind: 'totp', code: newCode(person) }, VISITOR);
    },
    records,
    audited: async (account) => (await records(account)).map(({ action, outcome }) => `${action} ${outcome}`),
    stop: async () => {
      for (const database of opened) await database.close();
      rmSync(directory, { recursive: true, force: true });
      await dropDatabase(directory);
    },
  };
}
