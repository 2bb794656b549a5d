import type { KeyObject } from 'node:crypto';
import { type Database, integer, integerOrNull, text } from '../storage/database.ts';
import {
  type Chain,
  chainsAnnouncedBy,
  emptyHead,
  type Head,
  hashOf,
  headIsSealed,
  isAnnouncement,
  type Link,
  MIXED_LANE,
} from '../storage/journal.ts';
import { headOf, headsOfLane, journalHeads, lanesOf, linksOf, mixedLinksOf, type StoredHead } from './chains.ts';

/**
 * Records and heads of one chain are compared in one statement, which sees both at the same moment. Grouped by the
 * account, so that each machine of a database that shards answers for its own chains.
 */
const unsealed = (of: string): string => `select j.account, j.lane, count(*) as records, h.sequence from journal j
  left join journal_heads h on h.account = j.account and h.lane = j.lane
  where j.lane <> ${MIXED_LANE} ${of}
  group by j.account, j.lane, h.sequence
  having h.sequence is null or count(*) <> h.sequence
  order by j.account, j.lane limit 1`;
const UNSEALED = unsealed('');
const UNSEALED_OF_ONE = unsealed('and j.account = ?');
/** Never written again, so its head cannot move between two reads. */
const MIXED_RECORDS = `select count(*) as records from journal where lane = ${MIXED_LANE}`;

export interface Verification {
  readonly ok: boolean;
  /** How many records were found in order. */
  readonly records: number;
  /** Where the first fault lies, and what it is. */
  readonly fault?: string;
}

/** Finds any changed, missing, added or reordered record, and any chain that is gone. */
export const verifyJournal = (database: Database, key: KeyObject): Promise<Verification> =>
  verifiedBy(new Verifier(database, key), (verifier) => verifier.verify());

/**
 * The same of one account, or with '' of the service itself. It takes the chains that announce those of the account, and
 * the mixed chain, which holds records of all.
 */
export const verifyAccount = (database: Database, key: KeyObject, account: string): Promise<Verification> =>
  verifiedBy(new Verifier(database, key), (verifier) => verifier.verifyAccount(account));

async function verifiedBy(verifier: Verifier, verify: (verifier: Verifier) => Promise<void>): Promise<Verification> {
  try {
    await verify(verifier);
    return { ok: true, records: verifier.records };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ok: false, records: verifier.records, fault: error.message };
  }
}

class Fault extends Error {}

/** What stands in a database that was tampered with must not speak to the operator's terminal. */
const nameOf = ({ account, lane }: Chain): string => {
  if (account === '') return `lane ${lane}`;
  return /^[!-~]+$/.test(account) ? `account ${account}, lane ${lane}` : `an account that is none, lane ${lane}`;
};

/** What the chain of '' announces in its lane, and how far it was read. */
interface Announced {
  readonly lane: number;
  readonly accounts: Set<string>;
  last: Head;
}

interface Verified {
  readonly last: Head;
  readonly announcements: readonly Chain[];
}

class Verifier {
  records = 0;
  readonly #database: Database;
  readonly #key: KeyObject;

  constructor(database: Database, key: KeyObject) {
    this.#database = database;
    this.#key = key;
  }

  async verify(): Promise<void> {
    const lanes = await lanesOf(this.#database);
    if (lanes.length === 0) throw new Fault('the journal has no head: it was removed');
    let mixed = 0;
    for (const lane of lanes) {
      if (lane === MIXED_LANE) mixed = await this.#verifyMixed();
      else await this.#verifyLane(lane);
    }
    await this.#nothingBeside(mixed);
  }

  async verifyAccount(account: string): Promise<void> {
    const lanes = await lanesOf(this.#database);
    if (lanes.length === 0) throw new Fault('the journal has no head: it was removed');
    let mixed = 0;
    for (const lane of lanes) {
      if (lane === MIXED_LANE) mixed = await this.#verifyMixed();
      else await this.#verifyOne({ account, lane });
    }
    await this.#nothingBeside(mixed, account);
  }

  /** The head is read before its announcement, and again when it is missing, see `#verifyLane`. */
  async #verifyOne(chain: Chain): Promise<void> {
    const { account, lane } = chain;
    const before = await headOf(this.#database, chain);
    const announced: Announced = { lane, accounts: new Set(), last: emptyHead('', lane) };
    await this.#readAnnouncements(announced);
    if (account === '') return;
    if (announced.accounts.has(account)) await this.#verifyChain(before ?? (await this.#headThatMustBe(chain)));
    else if (before !== undefined) throw new Fault(`${nameOf(chain)}: the chain was never announced`);
  }

  async #verifyMixed(): Promise<number> {
    for await (const [head] of headsOfLane(this.#database, MIXED_LANE)) {
      if (head !== undefined) throw new Fault(`${nameOf(head)}: there is no such chain`);
    }
    const head = await headOf(this.#database, { account: '', lane: MIXED_LANE });
    return head === undefined ? 0 : (await this.#verifyChain(head)).last.sequence;
  }

  /**
   * Nodes write meanwhile, and each read sees a later moment. A chain and its announcement are committed together, so an
   * announcement is looked for after the head of its chain was read, and a chain after its announcement was.
   */
  async #verifyLane(lane: number): Promise<void> {
    const announced: Announced = { lane, accounts: new Set(), last: emptyHead('', lane) };
    await this.#readAnnouncements(announced);
    const verified = new Set<string>();
    for await (const heads of headsOfLane(this.#database, lane)) {
      if (heads.some(({ account }) => !announced.accounts.has(account))) await this.#readAnnouncements(announced);
      for (const head of heads) {
        if (!announced.accounts.has(head.account)) throw new Fault(`${nameOf(head)}: the chain was never announced`);
        await this.#verifyChain(head);
        verified.add(head.account);
      }
    }
    // These began behind the place that was being read, unless they were removed.
    for (const account of announced.accounts.difference(verified)) {
      await this.#verifyChain(await this.#headThatMustBe({ account, lane }));
    }
  }

  /** Verifies what has come to the chain of '' since the last time. */
  async #readAnnouncements(announced: Announced): Promise<void> {
    const { lane, accounts } = announced;
    const head = await headOf(this.#database, { account: '', lane });
    if (head === undefined) throw new Fault(`lane ${lane}: the chain that announces the others is missing`);
    const { last, announcements } = await this.#verifyChain(head, announced.last);
    announced.last = last;
    for (const chain of announcements) {
      if (chain.lane !== lane) await this.#headThatMustBe(chain);
      else if (accounts.has(chain.account)) throw new Fault(`${nameOf(chain)}: the chain was announced twice`);
      else accounts.add(chain.account);
    }
  }

  async #headThatMustBe(chain: Chain): Promise<StoredHead> {
    const head = await headOf(this.#database, chain);
    if (head === undefined) throw new Fault(`${nameOf(chain)}: the chain was announced and is missing`);
    return head;
  }

  /** Verifies a chain behind `from`, a record of it that is in order; returns its newest record. */
  async #verifyChain(head: StoredHead, from: Head = emptyHead(head.account, head.lane)): Promise<Verified> {
    const place = (sequence: number): string => `${nameOf(head)}, record ${sequence}`;
    if (!headIsSealed(this.#key, head, head.seal)) {
      throw new Fault(`${nameOf(head)}: the seal of record ${head.sequence} is not ours`);
    }
    let last = from;
    const announcements: Link[] = [];
    for await (const link of linksOf(this.#database, head, from.sequence)) {
      const expected = last.sequence + 1;
      if (link.sequence !== expected) throw new Fault(`${place(expected)}: missing`);
      if (hashOf(last.hash, link.lane, link.sequence, link) !== link.hash)
        throw new Fault(`${place(expected)}: changed`);
      if (isAnnouncement(link)) announcements.push(link);
      last = link;
      this.records++;
    }
    if (last.sequence < head.sequence) throw new Fault(`${place(last.sequence + 1)}: missing`);
    if (last.hash !== head.hash) throw new Fault(`${place(last.sequence)}: changed`);
    // Read only now that the seal has shown that they are ours.
    return { last, announcements: announcements.flatMap(chainsAnnouncedBy) };
  }

  async #nothingBeside(mixed: number, account?: string): Promise<void> {
    const [row] =
      account === undefined ? await this.#database.read(UNSEALED) : await this.#database.read(UNSEALED_OF_ONE, account);
    if (row !== undefined) {
      const chain = { account: text(row, 'account'), lane: integer(row, 'lane') };
      const sealed = integerOrNull(row, 'sequence') ?? 0;
      throw new Fault(`${nameOf(chain)}: ${integer(row, 'records')} records, of which the head seals ${sealed}`);
    }
    const [counted] = await this.#database.read(MIXED_RECORDS);
    const records = integer(counted ?? {}, 'records');
    if (records !== mixed) throw new Fault(`lane ${MIXED_LANE}: ${records} records, of which the head seals ${mixed}`);
  }
}

/**
 * Every record, chain after chain: first those of no account, and of the mixed chain. With `account` those of one account
 * alone: what the mixed chain holds of it, and its chains.
 */
export async function* exportJournal(database: Database, account?: string): AsyncGenerator<Link> {
  if (account === undefined) {
    for await (const head of journalHeads(database)) yield* linksOf(database, head);
    return;
  }
  yield* mixedLinksOf(database, account);
  for (const lane of await lanesOf(database)) {
    const head = lane === MIXED_LANE ? undefined : await headOf(database, { account, lane });
    if (head !== undefined) yield* linksOf(database, head);
  }
}
