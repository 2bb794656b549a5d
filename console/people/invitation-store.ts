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
import { OPERATOR, type Role } from './roles.ts';
import { digestFor, openRecord, placeIn, sealRecord } from './sealing.ts';

/** A link that lets somebody in: as a new member of an account, or a person with a new password and second factor. */
export interface Invitation {
  readonly account: string;
  readonly id: string;
  readonly kind: 'invitation' | 'reset';
  /** To what; of invitations. */
  readonly role?: Role;
  /** To whom; of invitations. The first operator's may have none. */
  readonly email?: string;
  /** Whose; of resets. */
  readonly person?: string;
  /** Who made it: the name, as the audit log has it. */
  readonly by?: string;
  /** Their id, if it was a person. */
  readonly inviter?: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

const COLUMNS = 'account, id, digest, person, record, created_at, expires_at';
const FIND = `select ${COLUMNS} from invitations where digest = ?`;
const OPEN = `select ${COLUMNS} from invitations where account = ? and expires_at > ? order by created_at, id`;
const OPEN_RESETS = `select ${COLUMNS} from invitations where person = ? and expires_at > ? order by created_at, id`;
const INSERT = `insert into invitations (${COLUMNS}) select ?, ?, ?, ?, ?, ?, ?
  where (select count(*) from invitations where account = ? and expires_at > ?) < ${LIMITS.invitationsPerAccount}`;
/** Who gets a new way in is a member already. */
const INSERT_FOR_MEMBER = `${INSERT}
    and (select count(*) from memberships where account = ?)
      + (select count(*) from invitations where account = ? and person is null and expires_at > ?)
      < ${LIMITS.peoplePerAccount}`;
/** There is no operator, and no open invitation to become one. Its id is always the same, so that two cannot both be made. */
const INSERT_FIRST = `insert into invitations (${COLUMNS}) select ?, ?, ?, ?, ?, ?, ?
  where not exists (select 1 from memberships where account = '${OPERATOR.account}' and role = '${OPERATOR.role}')
    and not exists (select 1 from invitations where account = '${OPERATOR.account}' and expires_at > ?)
  on conflict (account, id) do update set digest = excluded.digest, person = excluded.person, record = excluded.record,
    created_at = excluded.created_at, expires_at = excluded.expires_at
    where invitations.expires_at <= ?`;
const DELETE = 'delete from invitations where account = ? and id = ? and expires_at > ?';
/** Of two with the same id, the one that was meant. */
const USE = `${DELETE} and created_at = ?`;
const DELETE_ALL = 'delete from invitations where account = ?';
const DELETE_RESETS = 'delete from invitations where person = ?';
const EXPIRED = 'select account, id from invitations where expires_at <= ? limit ?';
const REMOVE = 'delete from invitations where account = ? and id = ? and expires_at <= ?';

export const FIRST_INVITATION = 'invitation_first';

type Sealed = Pick<Invitation, 'kind' | 'role' | 'email' | 'by' | 'inviter'>;

interface Bound extends Pick<Invitation, 'account' | 'id' | 'createdAt' | 'expiresAt'> {
  readonly digest: Uint8Array;
  readonly person: string | undefined;
}

/** Everything in clear: no link can be made good for another account or person, or for longer, in the database. */
const placeOfRecord = ({ account, id, digest, person, createdAt, expiresAt }: Bound): EncryptionContext =>
  placeIn(
    'invitations',
    account,
    id,
    Buffer.from(digest).toString('hex'),
    person ?? '',
    `${createdAt}`,
    `${expiresAt}`,
  );

/** By the secret of the link; undefined when there is none, it has expired, or somebody changed it in the database. */
export async function findInvitation(
  database: Database,
  keyring: Keyring,
  secret: string,
  now: number,
): Promise<Invitation | undefined> {
  const [row] = await database.read(FIND, await digestFor(keyring, 'invitation', secret));
  const invitation = row === undefined ? undefined : await readInvitation(keyring, row);
  return invitation === undefined || invitation.expiresAt <= now ? undefined : invitation;
}

export async function openInvitations(
  database: Database,
  keyring: Keyring,
  account: string,
  now: number,
): Promise<Invitation[]> {
  return readAll(keyring, await database.read(OPEN, account, now));
}

/** Of a new way in for this person, in whoever's name they were made. */
export async function openResetsOf(
  database: Database,
  keyring: Keyring,
  person: string,
  now: number,
): Promise<Invitation[]> {
  return readAll(keyring, await database.read(OPEN_RESETS, person, now));
}

async function readAll(keyring: Keyring, rows: readonly Row[]): Promise<Invitation[]> {
  const invitations: Invitation[] = [];
  for (const row of rows) {
    const invitation = await readInvitation(keyring, row);
    if (invitation !== undefined) invitations.push(invitation);
  }
  return invitations;
}

/** Conflicts when the account has as many open ones as it may have, or with them as many people. */
export async function insertInvitation(keyring: Keyring, invitation: Invitation, secret: string): Promise<Write> {
  const { account, createdAt, kind } = invitation;
  const values = [...(await valuesOf(keyring, invitation, secret)), account, createdAt];
  if (kind === 'reset') return write(INSERT, values, 1);
  return write(INSERT_FOR_MEMBER, [...values, account, account, createdAt], 1);
}

/** Conflicts when there is an operator, or an open invitation. */
export async function insertFirstInvitation(keyring: Keyring, invitation: Invitation, secret: string): Promise<Write> {
  const { createdAt } = invitation;
  return write(INSERT_FIRST, [...(await valuesOf(keyring, invitation, secret)), createdAt, createdAt], 1);
}

/** Conflicts when it was used or revoked, or has expired. */
export const spendInvitation = (
  { account, id, createdAt }: Pick<Invitation, 'account' | 'id' | 'createdAt'>,
  now: number,
): Write => write(USE, [account, id, now, createdAt], 1);

/** As `spendInvitation`. */
export const deleteInvitation = ({ account, id }: Pick<Invitation, 'account' | 'id'>, now: number): Write =>
  write(DELETE, [account, id, now], 1);

/** All that were made in the name of the account. */
export const deleteInvitationsOf = (account: string): Write => write(DELETE_ALL, [account]);

/** Of a new way in for this person. */
export const deleteResetsOf = (person: string): Write => write(DELETE_RESETS, [person]);

/** Returns how many. */
export async function removeExpiredInvitations(database: Database, now: number, limit: number): Promise<number> {
  const rows = await database.read(EXPIRED, now, limit);
  if (rows.length === 0) return 0;
  const expired = rows.map((row) => [text(row, 'account'), text(row, 'id'), now]);
  await database.commit({ writes: [{ sql: REMOVE, rows: expired }] });
  return rows.length;
}

async function valuesOf(keyring: Keyring, invitation: Invitation, secret: string) {
  const { account, id, person, createdAt, expiresAt, kind, role, email, by, inviter } = invitation;
  const digest = await digestFor(keyring, 'invitation', secret);
  const place = placeOfRecord({ account, id, person, createdAt, expiresAt, digest });
  const record = await sealRecord(keyring, place, { kind, role, email, by, inviter });
  return [account, id, digest, person ?? null, record, createdAt, expiresAt];
}

async function readInvitation(keyring: Keyring, row: Row): Promise<Invitation | undefined> {
  const person = textOrNull(row, 'person');
  const bound = {
    account: text(row, 'account'),
    id: text(row, 'id'),
    createdAt: integer(row, 'created_at'),
    expiresAt: integer(row, 'expires_at'),
  };
  const place = placeOfRecord({ ...bound, person, digest: blob(row, 'digest') });
  const sealed = await openRecord<Sealed>(keyring, place, blob(row, 'record'));
  return sealed === undefined ? undefined : { ...bound, ...sealed, ...(person !== undefined && { person }) };
}
