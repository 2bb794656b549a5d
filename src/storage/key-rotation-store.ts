import type { KeyEnvironment, KeyOwner, Purpose } from '../crypto/wrapped-key.ts';
import {
  type Database,
  type DatabaseReads,
  integer,
  integerOrNull,
  MalformedRowError,
  type Row,
  text,
  type Value,
  type Write,
  write,
} from './database.ts';
import type { Table } from './table.ts';

export const TABLES: readonly Table[] = [
  {
    name: 'key_rotations',
    key: ['account', 'environment', 'purpose'],
    columns: {
      account: 'integer',
      environment: 'integer',
      purpose: 'text',
      version: 'integer',
      phase: 'integer',
      started_at: 'integer',
      due_at: 'integer',
      pass_started_at: 'integer',
      pass_resealed: 'integer',
      position: 'text',
      resealed: 'integer',
      left_over: 'integer',
      finished_at: 'integer',
    },
  },
];

/** The owner of a rotated key; the root key belongs to the service and has no row among the wrapped keys. */
export interface RotationOwner extends Omit<KeyOwner, 'purpose'> {
  readonly purpose: Purpose | 'root';
}

/** The phase in which only rows are left whose digests cannot be computed again, and which end within days. */
export const EXPIRY_PHASE = 4;

/** The place behind which a pass continues: the key of a row, or the start of a table. */
export interface RotationPosition {
  readonly table: string;
  readonly key: readonly Value[] | undefined;
}

/** The newest rotation of a key. A pass reads every row of the owner once. */
export interface Rotation extends RotationOwner {
  /** The version that replaces older ones. */
  readonly version: number;
  /** The phase of a rotation of fingerprints, see `vault/fingerprint-keys.ts`; of digests 0 or `EXPIRY_PHASE`; 0 for other keys. */
  readonly phase: number;
  readonly startedAt: number;
  /** When the work continues. */
  readonly dueAt: number;
  readonly passStartedAt: number;
  /** Rows of the present pass that were sealed under an older version. */
  readonly passResealed: number;
  /** Undefined at the start of a pass. */
  readonly position: RotationPosition | undefined;
  /** Rows that were sealed again in all passes. */
  readonly resealed: number;
  /** Rows of the present pass that no key opens: they were altered. */
  readonly leftOver: number;
  readonly finishedAt: number | undefined;
}

const COLUMNS = `account, environment, purpose, version, phase, started_at, due_at, pass_started_at, pass_resealed, position, resealed,
  left_over, finished_at`;
const OF_OWNER = 'account = ?account and environment = ?environment and purpose = ?';
const FIND = `select ${COLUMNS} from key_rotations where ${OF_OWNER}`;
const LIST = `select ${COLUMNS} from key_rotations order by account, environment, purpose`;
/** The commands that rotate the keys above the data keys finish them. */
const FIND_DUE = `select ${COLUMNS} from key_rotations
  where finished_at is null and due_at <= ? and purpose not in ('root', 'wrapping') order by due_at, account limit 1`;
const COUNT_UNFINISHED = `select count(*) as number from key_rotations where finished_at is null`;
const START = `insert into key_rotations (${COLUMNS})
  values (?account, ?environment, ?, ?, ?, ?, ?, ?, 0, '', 0, 0, ?)
  on conflict (account, environment, purpose) do update set version = excluded.version, phase = excluded.phase, started_at = excluded.started_at,
    due_at = excluded.due_at, pass_started_at = excluded.pass_started_at, pass_resealed = 0, position = '', resealed = 0,
    left_over = 0, finished_at = excluded.finished_at
    where key_rotations.version < excluded.version`;
/** Every step names the position that it started from, so that two nodes never count the same rows. */
const OF_STEP = `where ${OF_OWNER} and version = ? and position = ? and finished_at is null`;
const ADVANCE = `update key_rotations set position = ?, pass_resealed = pass_resealed + ?, resealed = resealed + ?,
  left_over = left_over + ? ${OF_STEP}`;
const NEXT_PASS = `update key_rotations set position = '', pass_started_at = ?, pass_resealed = 0, left_over = 0, due_at = ?,
  resealed = resealed + ? ${OF_STEP}`;
const NEXT_PHASE = `update key_rotations set phase = ?, position = '', pass_started_at = ?, pass_resealed = 0, due_at = ?,
  resealed = resealed + ?, left_over = 0 ${OF_STEP}`;
const FINISH = `update key_rotations set position = '', finished_at = ?, resealed = resealed + ?, left_over = left_over + ? ${OF_STEP}`;
const REOPEN = `update key_rotations set position = '', pass_started_at = ?, pass_resealed = 0, left_over = 0, due_at = ?,
  finished_at = null where ${OF_OWNER} and version = ?`;

const ownerValues = ({ account, environment, purpose }: RotationOwner): Value[] => [account, environment, purpose];

const stepValues = (rotation: Rotation): Value[] => [
  ...ownerValues(rotation),
  rotation.version,
  formatPosition(rotation.position),
];

interface StartedAs {
  readonly version: number;
  readonly at: number;
  /** Set when the rotation is complete at once. */
  readonly finishedAt?: number;
  readonly phase?: number;
  /** When the first pass begins; absent: at once. */
  readonly dueAt?: number;
}

/** Starts a rotation to this version; conflicts when one to it, or to a newer version, was started. */
export const startRotation = (
  owner: RotationOwner,
  { version, at, finishedAt, phase = 0, dueAt = at }: StartedAs,
): Write => write(START, [...ownerValues(owner), version, phase, at, dueAt, dueAt, finishedAt ?? null], 1);

/** Counts of one step. */
export interface StepResult {
  readonly resealed: number;
  readonly leftOver: number;
}

/** Each of the three conflicts when another process has moved the rotation since it was read. */
export const advanceRotation = (rotation: Rotation, to: RotationPosition, { resealed, leftOver }: StepResult): Write =>
  write(ADVANCE, [formatPosition(to), resealed, resealed, leftOver, ...stepValues(rotation)], 1);

export const startNextPass = (rotation: Rotation, { resealed }: StepResult, at: number): Write =>
  write(NEXT_PASS, [at, at, resealed, ...stepValues(rotation)], 1);

/** Reads everything again at this time, because rows are left that end by themselves. */
export const waitForExpiry = (rotation: Rotation, { resealed }: StepResult, at: number): Write =>
  write(NEXT_PHASE, [EXPIRY_PHASE, at, at, resealed, ...stepValues(rotation)], 1);

/** Starts the next phase at this time. */
export const startNextPhase = (rotation: Rotation, { resealed }: StepResult, at: number): Write =>
  write(NEXT_PHASE, [rotation.phase + 1, at, at, resealed, ...stepValues(rotation)], 1);

export const finishRotation = (rotation: Rotation, { resealed, leftOver }: StepResult, at: number): Write =>
  write(FINISH, [at, resealed, leftOver, ...stepValues(rotation)], 1);

/** Continues a finished rotation, because rows are still sealed under an older version. */
export const reopenRotation = (rotation: Rotation, at: number): Write =>
  write(REOPEN, [at, at, ...ownerValues(rotation), rotation.version], 1);

export const findRotation = async (database: DatabaseReads, owner: RotationOwner): Promise<Rotation | undefined> =>
  (await database.read(FIND, ...ownerValues(owner))).map(toRotation)[0];

export const listRotations = async (database: Database): Promise<Rotation[]> =>
  (await database.read(LIST)).map(toRotation);

/** Returns a rotation of a data key that has work at this time. */
export const findDueRotation = async (database: Database, now: number): Promise<Rotation | undefined> =>
  (await database.read(FIND_DUE, now)).map(toRotation)[0];

export const countUnfinishedRotations = async (database: Database): Promise<number> =>
  integer((await database.read(COUNT_UNFINISHED))[0] ?? {}, 'number');

const toRotation = (row: Row): Rotation => ({
  account: text(row, 'account'),
  environment: text(row, 'environment') as KeyEnvironment,
  purpose: text(row, 'purpose') as Rotation['purpose'],
  version: integer(row, 'version'),
  phase: integer(row, 'phase'),
  startedAt: integer(row, 'started_at'),
  dueAt: integer(row, 'due_at'),
  passStartedAt: integer(row, 'pass_started_at'),
  passResealed: integer(row, 'pass_resealed'),
  position: parsePosition(text(row, 'position')),
  resealed: integer(row, 'resealed'),
  leftOver: integer(row, 'left_over'),
  finishedAt: integerOrNull(row, 'finished_at'),
});

/** JSON of the table and the values of the key; bytes are `{"hex": "…"}`. */
function formatPosition(position: RotationPosition | undefined): string {
  if (position === undefined) return '';
  const { table, key } = position;
  const values = key?.map((value) =>
    value instanceof Uint8Array ? { hex: Buffer.from(value).toString('hex') } : value,
  );
  return JSON.stringify({ table, key: values ?? null });
}

type StoredValue = string | number | null | { readonly hex: string };

function parsePosition(json: string): RotationPosition | undefined {
  if (json === '') return undefined;
  try {
    const { table, key } = JSON.parse(json) as { table: string; key: readonly StoredValue[] | null };
    const values = key?.map((value) =>
      value !== null && typeof value === 'object' ? Uint8Array.from(Buffer.from(value.hex, 'hex')) : value,
    );
    return { table, key: values };
  } catch {
    throw new MalformedRowError('column position: expected JSON');
  }
}
