import { isSameDigest } from '../../src/crypto/fingerprint.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { blob, type Database, integer, type Row, text, type Write, write } from '../../src/storage/database.ts';
import { type Authority, headOf, isRole, type Role } from './roles.ts';
import { digestFor } from './sealing.ts';

/** A person's role in an account. */
export interface Membership extends Authority {
  readonly person: string;
  readonly createdAt: number;
}

const COLUMNS = 'account, person, role, seal, created_at';
const OF_PERSON = `select ${COLUMNS} from memberships where person = ? order by account`;
const OF_ACCOUNT = `select ${COLUMNS} from memberships where account = ? order by created_at, person`;
const FIND = `select ${COLUMNS} from memberships where account = ? and person = ?`;
const INSERT = `insert into memberships (account, person, role, seal, created_at) select ?, ?, ?, ?, ?
  where (select count(*) from memberships where account = ?) < ${LIMITS.peoplePerAccount}
  on conflict do nothing`;
/** Others who take away a head of the same account wait for this unit, and then see what it left. */
const HOLD = 'update memberships set created_at = created_at where account = ? and role = ?';
const HOLD_ONE = 'update memberships set created_at = created_at where account = ? and person = ? and role = ?';
/** A head who is disabled cannot act for the account. */
const NOT_THE_LAST = `(role <> ? or exists
    (select 1 from memberships other where other.account = ? and other.role = ? and other.person <> ?
      and not exists (select 1 from sign_in_states where person = other.person and disabled_at is not null)))`;
const CHANGE = `update memberships set role = ?, seal = ? where account = ? and person = ? and role = ?
  and ${NOT_THE_LAST}`;
const REMOVE = `delete from memberships where account = ? and person = ? and role = ? and ${NOT_THE_LAST}`;

export const membershipsOf = async (database: Database, keyring: Keyring, person: string): Promise<Membership[]> =>
  sealedOnes(keyring, await database.read(OF_PERSON, person));

export const membershipsIn = async (database: Database, keyring: Keyring, account: string): Promise<Membership[]> =>
  sealedOnes(keyring, await database.read(OF_ACCOUNT, account));

export const findMembership = async (
  database: Database,
  keyring: Keyring,
  account: string,
  person: string,
): Promise<Membership | undefined> => (await sealedOnes(keyring, await database.read(FIND, account, person)))[0];

/** Conflicts when the person is a member, or the account has as many as it may have. */
export async function insertMembership(keyring: Keyring, membership: Membership): Promise<Write> {
  const { account, person, role, createdAt } = membership;
  return write(INSERT, [account, person, role, await sealOf(keyring, membership), createdAt, account], 1);
}

/** Changes nothing; conflicts when the membership has ended, or its role is another by now. */
export const holdMembership = ({ account, person, role }: Membership): Write =>
  write(HOLD_ONE, [account, person, role], 1);

/** The second one conflicts when the role is another by now, or the last head of the account would lose theirs. */
export async function changeMembership(keyring: Keyring, before: Membership, role: Role): Promise<Write[]> {
  const { account, person } = before;
  const seal = await sealOf(keyring, { ...before, role });
  const values = [role, seal, account, person, before.role, ...notTheLast(before)];
  return [holdHeads(account), write(CHANGE, values, 1)];
}

/** As `changeMembership`. */
export function removeMembership(before: Membership): Write[] {
  const { account, person, role } = before;
  return [holdHeads(account), write(REMOVE, [account, person, role, ...notTheLast(before)], 1)];
}

const holdHeads = (account: string): Write => write(HOLD, [account, headOf(account)]);

const notTheLast = ({ account, person }: Membership): string[] => [headOf(account), account, headOf(account), person];

/** MAC over the whole row: an attacker who can write to the database gives no role, and makes no member older. */
const sealOf = (keyring: Keyring, { account, person, role, createdAt }: Membership): Promise<Uint8Array> =>
  digestFor(keyring, 'membership', account, person, role, String(createdAt));

async function sealedOnes(keyring: Keyring, rows: readonly Row[]): Promise<Membership[]> {
  const memberships: Membership[] = [];
  for (const row of rows) {
    const role = text(row, 'role');
    if (!isRole(role)) continue;
    const membership = {
      account: text(row, 'account'),
      person: text(row, 'person'),
      role,
      createdAt: integer(row, 'created_at'),
    };
    if (isSameDigest(await sealOf(keyring, membership), blob(row, 'seal'))) memberships.push(membership);
  }
  return memberships;
}
