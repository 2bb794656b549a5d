import type { Keyring } from '../../src/crypto/keyring.ts';
import type { EncryptionContext } from '../../src/crypto/seal.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import {
  blob,
  type Database,
  integer,
  type Row,
  text,
  textOrNull,
  type Write,
  write,
} from '../../src/storage/database.ts';
import type { SealedColumns } from '../../src/storage/sealed-columns.ts';
import type { Table } from '../../src/storage/table.ts';
import { OPERATOR, type Role } from './roles.ts';
import { hashSecret, sealRecord, serviceContext, unsealRecord, unsealRows } from './sealing.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'invitations',
    key: ['account', 'id'],
    columns: {
      account: 'integer',
      id: 'text',
      digest: 'blob',
      person: 'text',
      record: 'blob',
      created_at: 'integer',
      expires_at: 'integer',
    },
  },
];

/** An invitation to an account, or a credential reset. */
export interface Invitation {
  readonly account: string;
  readonly id: string;
  readonly kind: 'invitation' | 'reset';
  /** Role of the new member; set for invitations. */
  readonly role?: Role;
  /** Set for invitations, but not for that of the first operator. */
  readonly email?: string;
  /** The user of a credential reset. */
  readonly person?: string;
  /** Name of the creator, as in the audit log. */
  readonly inviterName?: string;
  /** Id of the creator, if it is a user. */
  readonly inviterId?: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

const COLUMNS = 'account, id, digest, person, record, created_at, expires_at';
const FIND = `select ${COLUMNS} from invitations where digest = ?`;
const LIST_PENDING = `select ${COLUMNS} from invitations where account = ?account and expires_at > ? order by created_at, id`;
const LIST_PENDING_RESETS = `select ${COLUMNS} from invitations where person = ? and expires_at > ? order by created_at, id`;
const INSERT = `insert into invitations (${COLUMNS}) select ?account, ?, ?, ?, ?, ?, ?
  where (select count(*) from invitations where account = ?account and expires_at > ?) < ${LIMITS.invitationsPerAccount}`;
/** Counts the members too: an invitation adds one, a credential reset none. */
const INSERT_FOR_MEMBER = `${INSERT}
    and (select count(*) from memberships where account = ?account)
      + (select count(*) from invitations where account = ?account and person is null and expires_at > ?)
      < ${LIMITS.peoplePerAccount}`;
/** Inserts only without an operator and without a pending invitation to become one. The fixed id prevents a second one. */
const INSERT_FIRST = `insert into invitations (${COLUMNS}) select ?account, ?, ?, ?, ?, ?, ?
  where not exists (select 1 from memberships where account = 0 and role = '${OPERATOR.role}')
    and not exists (select 1 from invitations where account = 0 and expires_at > ?)
  on conflict (account, id) do update set digest = excluded.digest, person = excluded.person, record = excluded.record,
    created_at = excluded.created_at, expires_at = excluded.expires_at
    where invitations.expires_at <= ?`;
const DELETE = 'delete from invitations where account = ?account and id = ? and expires_at > ?';
/** The creation time distinguishes two invitations with the fixed id. */
const REDEEM = `${DELETE} and created_at = ?`;
const DELETE_BY_ACCOUNT = 'delete from invitations where account = ?account';
const DELETE_RESETS_BY_PERSON = 'delete from invitations where person = ?';
const LIST_EXPIRED = 'select account, id from invitations where expires_at <= ? limit ?';
const DELETE_EXPIRED = 'delete from invitations where account = ?account and id = ? and expires_at <= ?';

export const FIRST_INVITATION = 'invitation_first';

type Sealed = Pick<Invitation, 'kind' | 'role' | 'email' | 'inviterName' | 'inviterId'>;

interface BoundColumns extends Pick<Invitation, 'account' | 'id' | 'createdAt' | 'expiresAt'> {
  readonly digest: Uint8Array;
  readonly person: string | undefined;
}

/** Binds every column in clear, so that no row can be moved to another account or user, or extended, in the database. */
const recordContext = ({ account, id, digest, person, createdAt, expiresAt }: BoundColumns): EncryptionContext =>
  serviceContext(
    'invitations',
    account,
    id,
    Buffer.from(digest).toString('hex'),
    person ?? '',
    `${createdAt}`,
    `${expiresAt}`,
  );

/** Finds an invitation by the secret of its link; undefined when it is unknown, expired or altered. */
export async function findInvitation(
  database: Database,
  keyring: Keyring,
  secret: string,
  now: number,
): Promise<Invitation | undefined> {
  const [row] = await database.read(FIND, hashSecret('invitation', secret));
  const invitation = row === undefined ? undefined : await unsealInvitation(keyring, row);
  return invitation === undefined || invitation.expiresAt <= now ? undefined : invitation;
}

export async function listPendingInvitations(
  database: Database,
  keyring: Keyring,
  account: string,
  now: number,
): Promise<Invitation[]> {
  const rows = await database.read(LIST_PENDING, account, now);
  return unsealRows(rows, (row) => unsealInvitation(keyring, row));
}

/** Lists the pending credential resets of a user, in all accounts. */
export async function listPendingResetsByPerson(
  database: Database,
  keyring: Keyring,
  person: string,
  now: number,
): Promise<Invitation[]> {
  const rows = await database.read(LIST_PENDING_RESETS, person, now);
  return unsealRows(rows, (row) => unsealInvitation(keyring, row));
}

/**
 * Conflicts at the limit of pending invitations of the account, or when they and the members reach the limit of users.
 */
export async function insertInvitation(keyring: Keyring, invitation: Invitation, secret: string): Promise<Write> {
  const { account, createdAt, kind } = invitation;
  const values = [...(await columnValues(keyring, invitation, secret)), account, createdAt];
  if (kind === 'reset') return write(INSERT, values, 1);
  return write(INSERT_FOR_MEMBER, [...values, account, account, createdAt], 1);
}

/** Conflicts when there is an operator, or a pending invitation. */
export async function insertFirstInvitation(keyring: Keyring, invitation: Invitation, secret: string): Promise<Write> {
  const { createdAt } = invitation;
  return write(INSERT_FIRST, [...(await columnValues(keyring, invitation, secret)), createdAt, createdAt], 1);
}

/** Conflicts when it was used or revoked, or has expired. */
export const redeemInvitation = (
  { account, id, createdAt }: Pick<Invitation, 'account' | 'id' | 'createdAt'>,
  now: number,
): Write => write(REDEEM, [account, id, now, createdAt], 1);

/** Conflicts as `redeemInvitation`. */
export const deleteInvitation = ({ account, id }: Pick<Invitation, 'account' | 'id'>, now: number): Write =>
  write(DELETE, [account, id, now], 1);

/** Deletes all invitations of the account. */
export const deleteInvitationsByAccount = (account: string): Write => write(DELETE_BY_ACCOUNT, [account]);

/** Deletes all credential resets of the user. */
export const deleteResetsByPerson = (person: string): Write => write(DELETE_RESETS_BY_PERSON, [person]);

/** Returns how many. */
export async function purgeExpiredInvitations(database: Database, now: number, limit: number): Promise<number> {
  const rows = await database.read(LIST_EXPIRED, now, limit);
  if (rows.length === 0) return 0;
  const expired = rows.map((row) => [text(row, 'account'), text(row, 'id'), now]);
  await database.commit({ writes: [{ sql: DELETE_EXPIRED, rows: expired }] });
  return rows.length;
}

async function columnValues(keyring: Keyring, invitation: Invitation, secret: string) {
  const { account, id, person, createdAt, expiresAt, kind, role, email, inviterName, inviterId } = invitation;
  const digest = hashSecret('invitation', secret);
  const place = recordContext({ account, id, person, createdAt, expiresAt, digest });
  const record = await sealRecord(keyring, place, { kind, role, email, inviterName, inviterId });
  return [account, id, digest, person ?? null, record, createdAt, expiresAt];
}

const toBoundColumns = (row: Row): BoundColumns => ({
  account: text(row, 'account'),
  id: text(row, 'id'),
  createdAt: integer(row, 'created_at'),
  expiresAt: integer(row, 'expires_at'),
  person: textOrNull(row, 'person'),
  digest: blob(row, 'digest'),
});

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'invitations',
    purpose: 'people',
    scope: 'service',
    key: ['account', 'id'],
    bound: ['digest', 'person', 'created_at', 'expires_at'],
    contexts: { record: (row) => recordContext(toBoundColumns(row)) },
  },
];

async function unsealInvitation(keyring: Keyring, row: Row): Promise<Invitation | undefined> {
  const { person, digest, ...bound } = toBoundColumns(row);
  const place = recordContext({ ...bound, person, digest });
  const sealed = await unsealRecord<Sealed>(keyring, place, blob(row, 'record'));
  return sealed === undefined ? undefined : { ...bound, ...sealed, ...(person !== undefined && { person }) };
}
