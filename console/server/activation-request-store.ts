import type { Keyring } from '../../src/crypto/keyring.ts';
import { type EncryptionContext, encryptionContext } from '../../src/crypto/seal.ts';
import { sealJson, unsealJson } from '../../src/crypto/sealed-json.ts';
import { DAY } from '../../src/kernel/clock.ts';
import type { Environment } from '../../src/kernel/environment.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import {
  blob,
  type Database,
  integer,
  integerOrNull,
  type Row,
  text,
  textOrNull,
  type Write,
  write,
} from '../../src/storage/database.ts';
import type { SealedColumns } from '../../src/storage/sealed-columns.ts';
import type { Table } from '../../src/storage/table.ts';
import { unsealRows } from '../people/sealing.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'activation_requests',
    key: ['account', 'environment', 'id'],
    columns: {
      account: 'integer',
      environment: 'integer',
      id: 'text',
      status: 'text',
      requested_by: 'text',
      decided_by: 'text',
      record: 'blob',
      created_at: 'integer',
      decided_at: 'integer',
    },
  },
];

/** A merchant's request to enable payments in one environment, with its decision. */
export interface ActivationRequest {
  readonly account: string;
  readonly environment: Environment;
  readonly id: string;
  readonly status: RequestStatus;
  /** Ids of users. */
  readonly requestedBy: string;
  readonly decidedBy: string | undefined;
  /** Their names at that time. */
  readonly requester: string;
  readonly decider: string | undefined;
  readonly processor: string;
  /** Note of the merchant. */
  readonly note: string;
  /** Note of the operator. */
  readonly decisionNote: string;
  readonly createdAt: number;
  readonly decidedAt: number | undefined;
}

export type RequestStatus = 'requested' | 'approved' | 'declined' | 'withdrawn';

const COLUMNS = 'account, environment, id, status, requested_by, decided_by, record, created_at, decided_at';
const NEWEST = `order by created_at desc, id desc limit ${LIMITS.listedRequests}`;
const OF_ACCOUNT = `select ${COLUMNS} from activation_requests where account = ?account ${NEWEST}`;
const OPEN = `select ${COLUMNS} from activation_requests where status = 'requested' ${NEWEST}`;
const OVER = `select ${COLUMNS} from activation_requests where status <> 'requested' ${NEWEST}`;
const FIND = `select ${COLUMNS} from activation_requests where account = ?account and id = ?`;
const INSERT = `insert into activation_requests (${COLUMNS}) select ?account, ?environment, ?, ?, ?, ?, ?, ?, ?
  where not exists (select 1 from activation_requests where account = ?account and environment = ?environment and status = 'requested')
    and (select count(*) from activation_requests where account = ?account and created_at > ?)
      < ${LIMITS.activationRequestsPerDay}`;
const UPDATE = `update activation_requests set status = ?, decided_by = ?, record = ?, decided_at = ?
  where account = ?account and environment = ?environment and id = ? and status = 'requested'`;

type Sealed = Pick<ActivationRequest, 'requester' | 'decider' | 'processor' | 'note' | 'decisionNote'>;
type Bound = Omit<ActivationRequest, keyof Sealed>;

/** The encryption context includes the columns in clear. */
const recordContext = (bound: Bound): EncryptionContext => {
  const { account, environment, id, status, requestedBy, decidedBy = '', createdAt, decidedAt = '' } = bound;
  const times = [createdAt, decidedAt].map(String);
  return encryptionContext(
    environment,
    account,
    'activation-requests',
    id,
    'record',
    status,
    requestedBy,
    decidedBy,
    ...times,
  );
};

/** Returns the newest first; without those that were altered in the database. */
export const listRequestsByAccount = async (
  database: Database,
  keyring: Keyring,
  account: string,
): Promise<ActivationRequest[]> => unsealRequests(keyring, await database.read(OF_ACCOUNT, account));

/** Lists the requests of all accounts: pending ones, then the others, newest first. */
export const listAllRequests = async (database: Database, keyring: Keyring): Promise<ActivationRequest[]> =>
  unsealRequests(keyring, [...(await database.read(OPEN)), ...(await database.read(OVER))]);

export const findRequest = async (
  database: Database,
  keyring: Keyring,
  account: string,
  id: string,
): Promise<ActivationRequest | undefined> => (await unsealRequests(keyring, await database.read(FIND, account, id)))[0];

/** Conflicts when a request is pending there, or at the limit of requests in a day. */
export async function insertRequest(keyring: Keyring, request: ActivationRequest): Promise<Write> {
  const { account, environment, id, status, requestedBy, createdAt } = request;
  const record = await sealRequest(keyring, request);
  const values = [account, environment, id, status, requestedBy, null, record, createdAt, null];
  return write(INSERT, [...values, account, environment, account, createdAt - DAY], 1);
}

/** Conflicts when it is no longer pending. */
export async function updateRequest(keyring: Keyring, request: ActivationRequest): Promise<Write> {
  const { account, environment, id, status, decidedBy, decidedAt } = request;
  const record = await sealRequest(keyring, request);
  return write(UPDATE, [status, decidedBy ?? null, record, decidedAt ?? null, account, environment, id], 1);
}

async function sealRequest(keyring: Keyring, request: ActivationRequest): Promise<Uint8Array> {
  const { requester, decider, processor, note, decisionNote } = request;
  const record: Sealed = { requester, decider, processor, note, decisionNote };
  return sealJson(keyring, request, 'requests', recordContext(request), record);
}

const toBound = (row: Row): Bound => ({
  account: text(row, 'account'),
  environment: text(row, 'environment') as Environment,
  id: text(row, 'id'),
  status: text(row, 'status') as RequestStatus,
  requestedBy: text(row, 'requested_by'),
  decidedBy: textOrNull(row, 'decided_by'),
  createdAt: integer(row, 'created_at'),
  decidedAt: integerOrNull(row, 'decided_at'),
});

export const SEALED_COLUMNS: readonly SealedColumns[] = [
  {
    table: 'activation_requests',
    purpose: 'requests',
    scope: 'tenant',
    key: ['id'],
    bound: ['status', 'requested_by', 'decided_by', 'created_at', 'decided_at'],
    contexts: { record: (row) => recordContext(toBound(row)) },
  },
];

const unsealRequests = (keyring: Keyring, rows: readonly Row[]): Promise<ActivationRequest[]> =>
  unsealRows(rows, async (row) => {
    const bound = toBound(row);
    const record = await unsealJson<Sealed>(keyring, bound, 'requests', recordContext(bound), blob(row, 'record'));
    return record && { ...bound, ...record };
  });
