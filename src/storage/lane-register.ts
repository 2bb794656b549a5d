import type { DigestKeys } from '../crypto/digest-keys.ts';
import { blob, type Database, type Row, text, type Write, write } from './database.ts';
import type { DigestColumn } from './digest-columns.ts';
import type { Table } from './table.ts';

export const TABLES: readonly Table[] = [
  { name: 'lane_register', key: ['account'], columns: { account: 'integer', lanes: 'text', seal: 'blob' } },
];

/**
 * The register of lanes: one sealed row that names every lane of the journal with its first record. It is created in
 * the commit of the vault's first keys, and a lane is added in the commit of its first record. So deleted records,
 * heads and lanes are detected although nothing refers to them any more: the register cannot be forged without the
 * journal key, and a vault without that key does not open.
 */
export interface RegisteredLane {
  readonly lane: number;
  /** Time of the first record. */
  readonly at: number;
  /** Hash of the first record of the lane's chain of no account. */
  readonly first: string;
}

/** A register as it was read; the seal covers the text. */
interface LaneRegister {
  readonly lanes: readonly RegisteredLane[];
  readonly seal: Uint8Array;
}

export const READ_REGISTER = 'select lanes, seal from lane_register where account = 0';
const INSERT = 'insert into lane_register (account, lanes, seal) values (0, ?, ?) on conflict do nothing';
/** Must touch the row that was read. */
export const REPLACE_REGISTER = 'update lane_register set lanes = ?, seal = ? where account = 0 and seal = ?';

/** The first line of the sealed text is no account, so that its seal never equals that of a head. */
const encode = (lanes: string): string => `lane register\n${lanes}`;

const sealOf = (key: DigestKeys, lanes: string): Uint8Array => key.digest(encode(lanes));

export const DIGEST_COLUMNS: readonly DigestColumn[] = [
  {
    table: 'lane_register',
    purpose: 'journal',
    scope: 'service',
    key: ['account'],
    column: 'seal',
    selects: ['lanes'],
    renew: async ({ keys }, row) => {
      const register = unsealRegister(keys, row);
      if (typeof register === 'string') return 'altered';
      const lanes = text(row, 'lanes');
      return [write(REPLACE_REGISTER, [lanes, sealOf(keys, lanes), register.seal], 1)];
    },
  },
];

/** Belongs in the unit of the journal's first record: an empty register is never valid. */
export const insertRegister = (key: DigestKeys): Write => write(INSERT, ['[]', sealOf(key, '[]')], 1);

/** Returns the values of `REPLACE_REGISTER` that add a lane. */
export function withLane(
  key: DigestKeys,
  { lanes, seal }: LaneRegister,
  lane: RegisteredLane,
): readonly [string, Uint8Array, Uint8Array] {
  const all = JSON.stringify([...lanes, lane]);
  return [all, sealOf(key, all), seal];
}

/** Returns the register, or its fault. */
function unsealRegister(key: DigestKeys, row: Row | undefined): LaneRegister | 'missing' | 'changed' {
  if (row === undefined) return 'missing';
  const lanes = text(row, 'lanes');
  const seal = blob(row, 'seal');
  if (!key.isValid(encode(lanes), seal)) return 'changed';
  return { lanes: JSON.parse(lanes) as RegisteredLane[], seal };
}

export const readRegister = async (database: Database, key: DigestKeys): Promise<ReturnType<typeof unsealRegister>> =>
  unsealRegister(await key.refresh(), (await database.read(READ_REGISTER))[0]);

/**
 * Returns the register when a lane still has to be added to it. A missing or altered register is left unchanged, and so
 * is one that already has the lane, whose records were deleted later: records are still written, and the verification
 * finds the fault.
 */
export function findRegisterWithout(lane: number, key: DigestKeys, row: Row | undefined): LaneRegister | undefined {
  const register = unsealRegister(key, row);
  if (typeof register === 'string' || register.lanes.some((each) => each.lane === lane)) return undefined;
  return register;
}
