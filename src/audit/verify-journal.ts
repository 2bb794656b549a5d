import type { DigestKeys } from '../crypto/digest-keys.ts';
import type { SigningKeys } from '../crypto/signing-key.ts';
import { type Explanation, explain, formatReason } from '../kernel/reasons.ts';
import { type Database, MalformedRowError } from '../storage/database.ts';
import {
  type Chain,
  type ChainedRecord,
  emptyHead,
  type Head,
  hashRecord,
  isAnnouncement,
  parseAnnouncement,
} from '../storage/journal.ts';
import { type RegisteredLane, readRegister } from '../storage/lane-register.ts';
import { beginningOf, loadBeginnings, NOTHING_REMOVED } from './beginnings.ts';
import {
  findHead,
  findSealedHead,
  findUnsealedRecords,
  listChainHeads,
  listChainsWithRecords,
  listHeadsOfLane,
  listLanes,
  type Pace,
  readChain,
  type StoredHead,
} from './chain-reader.ts';
import { formatChain, isResumption, parseResumptions, type Resumption, toResumptionView } from './resumption.ts';

export interface Verification {
  readonly ok: boolean;
  /** Number of verified records. */
  readonly records: number;
  /** Position and description of the first fault. */
  readonly fault?: string;
  /** The same as a reason with values, for any language. */
  readonly explanation?: Explanation;
  /** Positions where the log continues from an older state of itself. Absent: none. */
  readonly resumptions?: readonly Resumption[];
}

/** How a verification reads the log. Default: all of it, without pauses. */
interface VerificationOptions {
  /** Heads of a lane by account that an earlier verification found intact: records up to them are not read again. */
  since?(lane: number): Promise<ReadonlyMap<string, Head>>;
  /** Called with each head whose chain is intact. */
  onVerified?(head: Head): Promise<void>;
  readonly pace?: Pace;
  /** Verify the beginning of a log whose older records were removed; such a log does not verify without them. */
  readonly signingKeys?: Pick<SigningKeys, 'list'>;
}

const NO_KEYS: Pick<SigningKeys, 'list'> = { list: () => Promise.resolve([]) };

/** The result as JSON output. */
export const toVerificationView = ({ resumptions, explanation: _, ...verification }: Verification) => ({
  ...verification,
  ...(resumptions !== undefined && { resumptions: resumptions.map(toResumptionView) }),
});

/** Finds any altered, missing, added or reordered record, and any missing chain or lane. */
export const verifyJournal = (
  database: Database,
  key: DigestKeys,
  reading: VerificationOptions = {},
): Promise<Verification> =>
  runVerification(
    () => new Verifier(database, key, reading),
    (verifier) => verifier.verify(),
  );

/** Verifies one account, or with '' the service, including the chains with the announcements of the account. */
export const verifyAccount = (
  database: Database,
  key: DigestKeys,
  account: string,
  reading: Pick<VerificationOptions, 'signingKeys'> = {},
): Promise<Verification> =>
  runVerification(
    () => new Verifier(database, key, reading),
    (verifier) => verifier.verifyAccount(account),
  );

async function runVerification(
  newVerifier: () => Verifier,
  verify: (verifier: Verifier) => Promise<void>,
): Promise<Verification> {
  const verifier = newVerifier();
  try {
    await verify(verifier);
    const { records, resumptions } = verifier;
    return { ok: true, records, ...(resumptions.length > 0 && { resumptions: parseResumptions(resumptions) }) };
  } catch (error) {
    // The records that are missing may have been removed from the beginning while they were verified.
    if ((error instanceof Fault || error instanceof MalformedRowError) && (await verifier.hasNewBeginning()))
      return runVerification(newVerifier, verify);
    if (error instanceof Fault)
      return { ok: false, records: verifier.records, fault: error.message, explanation: error.explanation };
    // An unreadable value would otherwise end every verification without a result.
    if (!(error instanceof MalformedRowError)) throw error;
    const explanation = explain('logUnreadable', { problem: error.message });
    return { ok: false, records: verifier.records, fault: formatReason(explanation), explanation };
  }
}

class Fault extends Error {
  readonly explanation: Explanation;

  constructor(explanation: Explanation) {
    super(formatReason(explanation));
    this.explanation = explanation;
  }
}

/** Text of an altered database must not control the operator's terminal. */
export const describeChain = (chain: Chain): string => formatReason(locate(chain));

/** Returns the place of a chain, or of one of its records. */
export function locate({ account, lane }: Chain, record?: number): Explanation {
  if (account === '')
    return record === undefined ? explain('placeLane', { lane }) : explain('placeRecord', { lane, record });
  if (/^[!-~]+$/.test(account))
    return record === undefined
      ? explain('placeAccountLane', { account, lane })
      : explain('placeAccountRecord', { account, lane, record });
  return record === undefined
    ? explain('placeNoAccountLane', { lane })
    : explain('placeNoAccountRecord', { lane, record });
}

/** The announcements in the chain of '' of a lane, and the sequence up to which it was read. */
interface AnnouncedChains {
  readonly lane: RegisteredLane;
  readonly accounts: Set<string>;
  /** The accounts of them whose announcement may have been removed with the beginning of the chain of ''. */
  readonly pruned: Set<string>;
  /** True when the chain was read from its start, and not only behind an earlier verification. */
  isComplete: boolean;
  last: Head;
}

interface VerifiedChain {
  readonly last: Head;
  readonly announcements: readonly Chain[];
}

class Verifier {
  records = 0;
  readonly resumptions: ChainedRecord[] = [];
  readonly #database: Database;
  readonly #key: DigestKeys;
  readonly #options: VerificationOptions;
  #beginnings = NOTHING_REMOVED;

  constructor(database: Database, key: DigestKeys, reading: VerificationOptions) {
    this.#database = database;
    this.#key = key;
    this.#options = reading;
  }

  async verify(): Promise<void> {
    for (const lane of await this.#listLanes()) await this.#verifyLane(lane);
    for await (const chain of listChainsWithRecords(this.#database)) await this.#assertNoUnsealedRecords(chain);
  }

  async verifyAccount(account: string): Promise<void> {
    for (const lane of await this.#listLanes()) await this.#verifyChainOfAccount({ account, lane: lane.lane }, lane);
    for await (const chain of listChainsWithRecords(this.#database, account))
      await this.#assertNoUnsealedRecords(chain);
  }

  /** True when records were removed from the beginning of the log since this verification began. */
  async hasNewBeginning(): Promise<boolean> {
    const beginnings = await this.#loadBeginnings().catch(() => 'altered' as const);
    return beginnings !== 'altered' && beginnings.time !== this.#beginnings.time;
  }

  #loadBeginnings(): ReturnType<typeof loadBeginnings> {
    return loadBeginnings(this.#database, this.#options.signingKeys ?? NO_KEYS);
  }

  /** The heads are read before the register, because a lane is registered in the commit of its first head. */
  async #listLanes(): Promise<readonly RegisteredLane[]> {
    const beginnings = await this.#loadBeginnings();
    if (beginnings === 'altered') throw new Fault(explain('logBeginning'));
    this.#beginnings = beginnings;
    const present = await listLanes(this.#database);
    const register = await readRegister(this.#database, this.#key);
    if (register === 'missing') throw new Fault(explain('logRegisterMissing'));
    if (register === 'changed') throw new Fault(explain('logRegisterSeal'));
    const { lanes } = register;
    if (lanes.length === 0) throw new Fault(explain('logRegisterEmpty'));
    const unknown = present.find((lane) => !lanes.some((each) => each.lane === lane));
    if (unknown !== undefined)
      throw new Fault(explain('logUnregistered', { place: explain('placeLane', { lane: unknown }) }));
    return lanes;
  }

  /** The head is read before its announcement, and again when it is missing, see `#verifyLane`. */
  async #verifyChainOfAccount(chain: Chain, lane: RegisteredLane): Promise<void> {
    const { account } = chain;
    const before = await findHead(this.#database, chain);
    const announced = this.#startAnnounced(lane);
    await this.#readAnnouncements(announced);
    if (account === '') return;
    if (announced.accounts.has(account)) await this.#verifyChain(before ?? (await this.#getHead(chain)));
    else if (before !== undefined) throw new Fault(explain('logUnannounced', { place: locate(chain) }));
  }

  /**
   * Nodes write during the verification, and each read sees a later moment. A chain and its announcement are committed
   * together, so an announcement is searched after the head of its chain was read, and a chain after its announcement
   * was read.
   */
  async #verifyLane(registered: RegisteredLane): Promise<void> {
    const { lane } = registered;
    const since = (await this.#options.since?.(lane)) ?? new Map<string, Head>();
    let announced = this.#startAnnounced(registered, since.get(''));
    await this.#readAnnouncements(announced);
    const verified = new Set(['']);
    const isKnown = ({ account }: Head): boolean => since.has(account) || announced.accounts.has(account);
    for await (const heads of listHeadsOfLane(this.#database, lane)) {
      if (!heads.every(isKnown)) await this.#readAnnouncements(announced);
      // The earlier verification of a chain may have been deleted, and its announcement precede the verified part of
      // ''.
      if (!heads.every(isKnown) && !announced.isComplete) {
        announced = this.#startAnnounced(registered);
        await this.#readAnnouncements(announced);
      }
      for (const head of heads) {
        if (!isKnown(head)) throw new Fault(explain('logUnannounced', { place: locate(head) }));
        await this.#verifyChain(head, since.get(head.account));
        verified.add(head.account);
      }
    }
    // These chains started behind the position that was read, unless they were removed.
    for (const account of announced.accounts.union(new Set(since.keys())).difference(verified)) {
      await this.#verifyChain(await this.#getHead({ account, lane }), since.get(account));
    }
  }

  /** The chains whose beginning was removed count as announced: their announcements may have been removed as well. */
  #startAnnounced(lane: RegisteredLane, since?: Head): AnnouncedChains {
    const pruned = [...this.#beginnings.heads.values()].filter(
      (head) => head.lane === lane.lane && head.account !== '',
    );
    const accounts = pruned.map(({ account }) => account);
    const isComplete = since === undefined;
    const last = since ?? emptyHead('', lane.lane);
    return { lane, accounts: new Set(accounts), pruned: new Set(accounts), isComplete, last };
  }

  /** Verifies the records that the chain of '' got since the last call. */
  async #readAnnouncements(announced: AnnouncedChains): Promise<void> {
    const { accounts, pruned } = announced;
    const { lane, first } = announced.lane;
    const head = await findHead(this.#database, { account: '', lane });
    if (head === undefined) throw new Fault(explain('logNoAnnouncer', { place: explain('placeLane', { lane }) }));
    const { last, announcements } = await this.#verifyChain(head, announced.last, first);
    announced.last = last;
    for (const chain of announcements) {
      if (accounts.has(chain.account) && !pruned.delete(chain.account))
        throw new Fault(explain('logAnnouncedTwice', { place: locate(chain) }));
      accounts.add(chain.account);
    }
  }

  async #getHead(chain: Chain): Promise<StoredHead> {
    const head = await findHead(this.#database, chain);
    if (head === undefined) throw new Fault(explain('logGone', { place: locate(chain) }));
    return head;
  }

  /**
   * Verifies a chain behind `known`, a verified record of it, or behind its removed records; returns its newest record.
   * `first`: the hash that its first record must have.
   */
  async #verifyChain(
    stored: StoredHead,
    known: Head = emptyHead(stored.account, stored.lane),
    first?: string,
  ): Promise<VerifiedChain> {
    const head = await findSealedHead(this.#database, this.#key, stored);
    if (head === undefined) throw new Fault(explain('logSeal', { place: locate(stored), record: stored.sequence }));
    const beginning = this.#beginnings.heads.get(formatChain(head)) ?? known;
    const from = beginning.sequence > known.sequence ? beginning : known;
    const place = (sequence: number): Explanation => locate(head, sequence);
    let last = from;
    const announcements: ChainedRecord[] = [];
    for await (const link of readChain(this.#database, head, from.sequence, this.#options.pace)) {
      const expected = last.sequence + 1;
      if (link.sequence !== expected) throw new Fault(explain('logMissing', { place: place(expected) }));
      if (hashRecord(last.hash, link.lane, link.sequence, link) !== link.hash)
        throw new Fault(explain('logChanged', { place: place(expected) }));
      if (expected === 1 && first !== undefined && link.hash !== first)
        throw new Fault(explain('logOtherBeginning', { place: explain('placeLane', { lane: head.lane }) }));
      if (isAnnouncement(link)) announcements.push(link);
      if (isResumption(link)) this.resumptions.push(link);
      last = link;
      this.records++;
    }
    if (last.sequence < head.sequence) throw new Fault(explain('logMissing', { place: place(last.sequence + 1) }));
    // Either the hash differs, or an earlier verification saw records behind this head.
    if (last.sequence > head.sequence) throw new Fault(explain('logMissing', { place: place(head.sequence + 1) }));
    if (last.hash !== head.hash) throw new Fault(explain('logChanged', { place: place(last.sequence) }));
    await this.#options.onVerified?.(head);
    // Parsed only after the seal has shown that the service wrote the records.
    return { last, announcements: announcements.flatMap(parseAnnouncement) };
  }

  async #assertNoUnsealedRecords(chain: Chain): Promise<void> {
    await this.#options.pace?.(1);
    const beginning = beginningOf(this.#beginnings, chain);
    const found = await findUnsealedRecords(this.#database, chain, beginning);
    if (found !== undefined) {
      const { records, sealed } = found;
      throw new Fault(explain('logUnsealed', { place: locate(chain), records, sealed }));
    }
    const head = this.#beginnings.heads.get(formatChain(chain));
    if (head !== undefined) await this.#assertRemovable(head);
  }

  /**
   * Verifies records that an interrupted removal has left before the beginning, so that none can be added there. The
   * first of them is verified by the next one only, because the record before it is gone.
   */
  async #assertRemovable(beginning: Head): Promise<void> {
    const place = (sequence: number): Explanation => locate(beginning, sequence);
    for (let begin = -Number.MAX_SAFE_INTEGER + 1; ; ) {
      const [first, last, fault] = await this.#findForeignRecord(beginning, begin);
      if (first === undefined || (fault === undefined && last === beginning.sequence)) return;
      // Records were removed in the meantime.
      if (begin < first) begin = first;
      else throw new Fault(explain('logChanged', { place: place(fault ?? last ?? first) }));
    }
  }

  /** Returns the first and the last record before the beginning, and the first that does not follow the one before. */
  async #findForeignRecord(
    beginning: Head,
    begin: number,
  ): Promise<[first: number | undefined, last: number | undefined, fault: number | undefined]> {
    let [first, last]: [number | undefined, ChainedRecord | undefined] = [undefined, undefined];
    for await (const link of readChain(this.#database, beginning, begin - 1)) {
      const previous = last?.hash ?? (link.sequence === 1 ? emptyHead('', 0).hash : undefined);
      const isNext = last === undefined ? link.sequence > 0 : link.sequence === last.sequence + 1;
      const isIntact = previous === undefined || hashRecord(previous, link.lane, link.sequence, link) === link.hash;
      first ??= link.sequence;
      if (!isNext || !isIntact) return [first, last?.sequence, link.sequence];
      last = link;
    }
    const isEnd = last === undefined || last.hash === beginning.hash;
    return [first, last?.sequence, isEnd ? undefined : last?.sequence];
  }
}

/** Returns every record, chain after chain, those of no account first. With `account`, returns those of one account. */
export async function* exportJournal(database: Database, account?: string): AsyncGenerator<ChainedRecord> {
  if (account === undefined) {
    for await (const head of listChainHeads(database)) yield* readChain(database, head);
    return;
  }
  for (const lane of await listLanes(database)) {
    const head = await findHead(database, { account, lane });
    if (head !== undefined) yield* readChain(database, head);
  }
}
