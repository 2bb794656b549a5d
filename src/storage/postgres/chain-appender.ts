import type { DigestKeys } from '../../crypto/digest-keys.ts';
import { environmentNumber, SERVICE_NUMBER, type StoredEntry } from '../account-numbers.ts';
import { blob, integer, text } from '../database.ts';
import {
  type ChainedRecord,
  emptyHead,
  extendChains,
  FIRST_LANE,
  type Head,
  isHeadSealValid,
  type KnownHead,
  type SealedHead,
  toKnownHead,
} from '../journal.ts';
import {
  findRegisterWithout,
  READ_REGISTER,
  REPLACE_REGISTER,
  type RegisteredLane,
  withLane,
} from '../lane-register.ts';
import type { Connection } from './connection.ts';
import { encodeArray } from './encode-array.ts';
import { checkedRun, checkedRuns, plain, type Statement, statement } from './statements.ts';

/**
 * Number of lanes among which writers choose. Two writers in one lane are allowed: one of them conflicts and chooses
 * another.
 */
const LANES = 64;
const MAX_CACHED = 10_000;

const HEADS = `select account, sequence, hash, seal from journal_heads
  where lane = $1 and account = any($2::bigint[])`;
/** Nodes that start at the same time register their lanes one after the other. */
const LOCK_REGISTER = `${READ_REGISTER} for update`;
const INSERT_HEAD = `insert into journal_heads (account, lane, sequence, hash, seal) values (?, ?, ?, ?, ?)
  on conflict do nothing`;
const MOVE_HEAD = `update journal_heads set sequence = ?, hash = ?, seal = ?
  where account = ? and lane = ? and sequence = ? and hash = ?`;
const INSERT_LINK = `insert into journal (lane, sequence, account, environment, at, record, hash)
  values (?, ?, ?, ?, ?, ?, ?)`;

/** The part of the journal that a group adds: it is valid only when the group is committed. */
export interface ChainExtension {
  /** Statements that fail when another writer appended to the lane. */
  readonly checks: readonly Statement[];
  readonly inserts: readonly Statement[];
  readonly heads: readonly SealedHead[];
}

/** Thrown for the first group of a lane: it has to be prepared inside its transaction. */
export class LaneStart extends Error {}

/** The chains of the lane that a writer appends to, with their newest known heads. */
export class ChainAppender {
  readonly #key: () => DigestKeys;
  readonly #pick: (bound: number) => number;
  readonly #heads = new Map<string, KnownHead>();
  /** The numbers of the accounts of the heads. */
  readonly #numbers = new Map<string, number>([['', SERVICE_NUMBER]]);
  #lane: number;

  /** `pick`: a uniform integer below a bound. */
  constructor(key: () => DigestKeys, pick: (bound: number) => number) {
    this.#key = key;
    this.#pick = pick;
    this.#lane = FIRST_LANE + pick(LANES);
  }

  get lane(): number {
    return this.#lane;
  }

  /**
   * `isInTransaction`: the connection has started the transaction of the group. Throws `LaneStart` when it is required.
   */
  async extend(
    connection: Connection,
    entries: readonly StoredEntry[],
    { merge, isInTransaction }: { merge: boolean; isInTransaction: boolean },
  ): Promise<ChainExtension> {
    await this.#loadHeads(connection, entries);
    const { records, heads, newLane } = extendChains(this.#key(), this.#lane, this.#heads, entries);
    if (newLane !== undefined && !isInTransaction) throw new LaneStart();
    const registration = newLane === undefined ? [] : await this.#registration(connection, newLane);
    return {
      checks: [...registration, ...this.#buildChecks(heads, merge)],
      inserts: this.#buildInserts(records, merge),
      heads,
    };
  }

  async #registration(connection: Connection, lane: RegisteredLane): Promise<Statement[]> {
    const [row] = await connection.run(plain(LOCK_REGISTER, []));
    const present = findRegisterWithout(lane.lane, this.#key(), row);
    return present === undefined ? [] : [checkedRun(REPLACE_REGISTER, withLane(this.#key(), present, lane), 1)];
  }

  committed({ heads }: ChainExtension): void {
    if (this.#heads.size > MAX_CACHED) this.#heads.clear();
    for (const head of heads) this.#heads.set(head.account, toKnownHead(head));
  }

  /** Call after a group whose result is unknown. */
  forget(): void {
    this.#heads.clear();
  }

  /** Call when another writer appends to this lane. */
  changeLane(): void {
    this.forget();
    this.#lane = FIRST_LANE + this.#pick(LANES);
  }

  async #loadHeads(connection: Connection, entries: readonly StoredEntry[]): Promise<void> {
    if (this.#numbers.size > MAX_CACHED) this.#numbers.clear();
    for (const { account, number } of entries) this.#numbers.set(account, number);
    this.#numbers.set('', SERVICE_NUMBER);
    const accounts = new Set(entries.map(({ account }) => account)).add('');
    const unknown = new Map([...accounts].filter((id) => !this.#heads.has(id)).map((id) => [this.#numberOf(id), id]));
    if (unknown.size === 0) return;
    const read = async (numbers: readonly number[]): Promise<(Head & { readonly seal: Uint8Array })[]> => {
      const rows = await connection.run(statement(HEADS, [this.#lane, encodeArray('bigint', numbers)]));
      return rows.map((row) => ({
        account: unknown.get(integer(row, 'account')) ?? '',
        ...{ lane: this.#lane, sequence: integer(row, 'sequence'), hash: text(row, 'hash'), seal: blob(row, 'seal') },
      }));
    };
    for (const account of unknown.values()) this.#heads.set(account, emptyHead(account, this.#lane));
    const heads = await read([...unknown.keys()]);
    // They are judged now: a rotation of the key seals the row again while the head is kept, and destroys the former version.
    const doubtful = heads.filter((head) => !this.#keepIfSealed(head));
    if (doubtful.length === 0) return;
    // The row or the versions may be of a moment in the middle of a rotation.
    await this.#key().refresh();
    const again = await read(doubtful.map(({ account }) => this.#numberOf(account)));
    for (const head of again) if (!this.#keepIfSealed(head)) this.#heads.set(head.account, head);
  }

  /** Keeps a head without its seal, which then needs no other check; false when the seal is invalid. */
  #keepIfSealed({ seal, ...head }: Head & { readonly seal: Uint8Array }): boolean {
    if (!isHeadSealValid(this.#key(), head, seal)) return false;
    this.#heads.set(head.account, head);
    return true;
  }

  #numberOf(account: string): number {
    const number = this.#numbers.get(account);
    if (number === undefined) throw new Error('a chain has no account');
    return number;
  }

  #buildChecks(heads: readonly SealedHead[], merge: boolean): Statement[] {
    const created = heads.filter(({ before }) => before.sequence === 0);
    const moved = heads.filter(({ before }) => before.sequence > 0);
    return [
      ...checkedRuns(
        INSERT_HEAD,
        created.map((head) => [this.#numberOf(head.account), head.lane, ...valuesOf(head)]),
        merge,
      ),
      ...checkedRuns(
        MOVE_HEAD,
        moved.map((head) => [
          ...valuesOf(head),
          this.#numberOf(head.account),
          head.lane,
          head.before.sequence,
          head.before.hash,
        ]),
        merge,
      ),
    ];
  }

  #buildInserts(links: readonly ChainedRecord[], merge: boolean): Statement[] {
    const rows = links.map(({ lane, sequence, account, environment, at, record, hash }) => [
      lane,
      sequence,
      this.#numberOf(account),
      environmentNumber(environment),
      at,
      record,
      hash,
    ]);
    if (rows.length > 1) return checkedRuns(INSERT_LINK, rows, merge);
    return rows.map((row) => plain(INSERT_LINK, row));
  }
}

const valuesOf = (head: SealedHead) => [head.sequence, head.hash, head.seal] as const;
