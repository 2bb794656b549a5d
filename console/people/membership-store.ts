import { lockAccount } from '../../src/accounts/account-store.ts';
import type { Keyring } from '../../src/crypto/keyring.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { blob, type Database, integer, type Row, text, type Write, write } from '../../src/storage/database.ts';
import type { DigestColumn } from '../../src/storage/digest-columns.ts';
import type { Table } from '../../src/storage/table.ts';
import { type Authority, isRole, mandatoryRole, type Role } from './roles.ts';
import { computeDigest, isDigestValid, PEOPLE_DIGESTS } from './sealing.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'memberships',
    key: ['account', 'person'],
    columns: { account: 'integer', person: 'text', role: 'text', mac: 'blob', created_at: 'integer' },
  },
];

/** A person's role in an account. */
export interface Membership extends Authority {
  readonly person: string;
  readonly createdAt: number;
}

const COLUMNS = 'account, person, role, mac, created_at';
const LIST_BY_PERSON = `select ${COLUMNS} from memberships where person = ? order by account`;
const LIST_BY_ACCOUNT = `select ${COLUMNS} from memberships where account = ?account order by created_at, person`;
const FIND = `select ${COLUMNS} from memberships where account = ?account and person = ?`;
const INSERT = `insert into memberships (account, person, role, mac, created_at) select ?account, ?, ?, ?, ?
  where (select count(*) from memberships where account = ?account) < ${LIMITS.peoplePerAccount}
  on conflict do nothing`;
const INSERT_FIRST = `insert into memberships (account, person, role, mac, created_at) select ?account, ?, ?, ?, ?
  where not exists (select 1 from memberships where account = ?account)
  on conflict do nothing`;
/** Concurrent removals of a holder of the mandatory role wait for this unit, and then see its result. */
const LOCK_ROLE = 'update memberships set created_at = created_at where account = ?account and role = ?';
const LOCK_ONE = 'update memberships set created_at = created_at where account = ?account and person = ? and role = ?';
/** A disabled holder of the mandatory role cannot act for the account. */
const NOT_LAST_HOLDER = `(role <> ? or exists
    (select 1 from memberships other where other.account = ?account and other.role = ? and other.person <> ?
      and not exists (select 1 from sign_in_states where person = other.person and disabled_at is not null)))`;
const UPDATE_ROLE = `update memberships set role = ?, mac = ? where account = ?account and person = ? and role = ?
  and ${NOT_LAST_HOLDER}`;
const DELETE = `delete from memberships where account = ?account and person = ? and role = ? and ${NOT_LAST_HOLDER}`;

export const listMembershipsByPerson = async (
  database: Database,
  keyring: Keyring,
  person: string,
): Promise<Membership[]> => filterAuthentic(keyring, await database.read(LIST_BY_PERSON, person));

export const listMembershipsByAccount = async (
  database: Database,
  keyring: Keyring,
  account: string,
): Promise<Membership[]> => filterAuthentic(keyring, await database.read(LIST_BY_ACCOUNT, account));

export const findMembership = async (
  database: Database,
  keyring: Keyring,
  account: string,
  person: string,
): Promise<Membership | undefined> => (await filterAuthentic(keyring, await database.read(FIND, account, person)))[0];

/**
 * To be written before a membership is inserted: members of an account are added one after the other, so that the conditions
 * of the insert hold at its commit. Operators belong to no account; nothing depends on their number.
 */
export const lockTeam = (account: string): Write[] => (account === '' ? [] : [lockAccount(account)]);

/** Conflicts when the person is a member, or the account has as many as it may have. */
export const insertMembership = (keyring: Keyring, membership: Membership): Promise<Write> =>
  buildInsert(INSERT, keyring, membership);

/** Conflicts when the account has a member. */
export const insertFirstMembership = (keyring: Keyring, membership: Membership): Promise<Write> =>
  buildInsert(INSERT_FIRST, keyring, membership);

async function buildInsert(sql: string, keyring: Keyring, membership: Membership): Promise<Write> {
  const { account, person, role, createdAt } = membership;
  return write(sql, [account, person, role, await computeRowMac(keyring, membership), createdAt, account], 1);
}

/** Changes nothing; conflicts when the membership has ended, or its role is another by now. */
export const lockMembership = ({ account, person, role }: Membership): Write =>
  write(LOCK_ONE, [account, person, role], 1);

/** The second write conflicts when the role has changed, or when the account would lose its last holder of the mandatory role. */
export async function updateMembershipRole(keyring: Keyring, before: Membership, role: Role): Promise<Write[]> {
  const { account, person } = before;
  const mac = await computeRowMac(keyring, { ...before, role });
  const values = [role, mac, account, person, before.role, ...otherHolderValues(before)];
  return [lockRoleHolders(account), write(UPDATE_ROLE, values, 1)];
}

/** Conflicts as `updateMembershipRole`. */
export function deleteMembership(before: Membership): Write[] {
  const { account, person, role } = before;
  return [lockRoleHolders(account), write(DELETE, [account, person, role, ...otherHolderValues(before)], 1)];
}

const lockRoleHolders = (account: string): Write => write(LOCK_ROLE, [account, mandatoryRole(account)]);

const otherHolderValues = ({ account, person }: Membership): string[] => [
  mandatoryRole(account),
  account,
  mandatoryRole(account),
  person,
];

/** MAC over the whole row: an attacker who can write to the database gives no role, and makes no member older. */
const computeRowMac = (keyring: Keyring, membership: Membership): Promise<Uint8Array> =>
  computeDigest(keyring, 'membership', ...boundTexts(membership));

const boundTexts = ({ account, person, role, createdAt }: Membership): string[] => [
  account,
  person,
  role,
  String(createdAt),
];

const REPLACE_MAC = 'update memberships set mac = ? where account = ?account and person = ? and role = ? and mac = ?';

export const DIGEST_COLUMNS: readonly DigestColumn[] = [
  {
    table: 'memberships',
    purpose: PEOPLE_DIGESTS,
    scope: 'service',
    key: ['account', 'person'],
    column: 'mac',
    selects: ['role', 'created_at'],
    renew: async ({ keyring }, row) => {
      const membership = await toAuthentic(keyring, row);
      if (membership === undefined) return 'altered';
      const { account, person, role } = membership;
      const mac = await computeRowMac(keyring, membership);
      return [write(REPLACE_MAC, [mac, account, person, role, blob(row, 'mac')], 1)];
    },
  },
];

async function filterAuthentic(keyring: Keyring, rows: readonly Row[]): Promise<Membership[]> {
  const memberships: Membership[] = [];
  for (const row of rows) {
    const membership = await toAuthentic(keyring, row);
    if (membership !== undefined) memberships.push(membership);
  }
  return memberships;
}

/** Undefined when the row was altered in the database. */
async function toAuthentic(keyring: Keyring, row: Row): Promise<Membership | undefined> {
  const role = text(row, 'role');
  if (!isRole(role)) return undefined;
  const membership = {
    account: text(row, 'account'),
    person: text(row, 'person'),
    role,
    createdAt: integer(row, 'created_at'),
  };
  const isAuthentic = await isDigestValid(keyring, row['mac'], 'membership', ...boundTexts(membership));
  return isAuthentic ? membership : undefined;
}
