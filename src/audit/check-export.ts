import { createHash, createPublicKey, hash } from 'node:crypto';
import { toKeyId } from '../crypto/signing-key.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import {
  type ChainedRecord,
  emptyHead,
  type Head,
  hashRecord,
  isAnnouncement,
  parseAnnouncement,
} from '../storage/journal.ts';
import {
  type ExportContent,
  type ExportHeader,
  parseLine,
  toChainStart,
  toEnd,
  toHeader,
  toRecord,
} from './export-lines.ts';
import { LineError, type NumberedLine } from './read-lines.ts';
import { type HeadsLine, isExplainedBy } from './recorded-heads.ts';
import { formatChain, isResumption, parseResumptions } from './resumption.ts';
import {
  type BeginningStatement,
  digestLine,
  type ExportScope,
  type ExportStatement,
  fromHeadTuple,
  openStatement,
  type PublicKeys,
  parseStatementLine,
  type SignedStatement,
  type StatementKind,
} from './statements.ts';
import { describeChain } from './verify-journal.ts';

/**
 * Verifies an exported audit log with nothing but the file and the vault's public key: every hash, that each chain is
 * complete from its beginning or a signed beginning, and that the vault signed exactly these chains.
 */
export interface ExportCheck {
  readonly ok: boolean;
  readonly records: number;
  readonly chains: number;
  /** The number of the line at which the first fault was found. */
  readonly line?: number;
  readonly fault?: string;
  /** Absent when the header cannot be read. */
  readonly header?: ExportHeader;
  readonly keyId?: string;
  /** SHA-256 over the last record of each chain. */
  readonly digest?: string;
  /** Where records before the file were removed: records before this time, ISO 8601. */
  readonly removedBefore?: string;
  /** The heads that were noted elsewhere: those that the file contains, and those that it need not contain. */
  readonly noted?: { readonly found: number; readonly elsewhere: number };
  /** The file of a pruning: the last removed record of each chain, and the statements that sign them. */
  readonly removed?: RemovedPart;
}

export interface RemovedPart {
  /** Where each chain began in the database before. */
  readonly starts: readonly Head[];
  readonly before: string;
  readonly heads: readonly Head[];
  readonly statements: readonly SignedStatement[];
}

/** Thrown for public keys that cannot be read. */
export class PublicKeyError extends OperatorError {
  override readonly name = 'PublicKeyError';
  override readonly isUsageError = true;
}

const PEM = /-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----/g;

/** Parses the output of `audit public-key`: one or more Ed25519 keys as PEM. Throws `PublicKeyError`. */
export function parsePublicKeys(text: string): PublicKeys {
  const found = [...text.matchAll(PEM)].map(([pem]) => {
    try {
      return createPublicKey(pem);
    } catch {
      throw new PublicKeyError('--key: a key in the file cannot be read');
    }
  });
  if (found.length === 0 || found.some((key) => key.asymmetricKeyType !== 'ed25519'))
    throw new PublicKeyError('--key: expected Ed25519 public keys as PEM, as cardvault audit public-key prints them');
  return new Map(found.map((key) => [toKeyId(key), key]));
}

/** Verifies the lines of an export. `notes`: heads that were recorded elsewhere, which the log must contain. */
export async function checkExport(
  lines: AsyncIterable<NumberedLine>,
  keys: PublicKeys,
  notes?: AsyncIterable<HeadsLine>,
): Promise<ExportCheck> {
  const checker = new Checker(keys, notes && (await RecordedNotes.read(notes, keys)));
  let line = 0;
  try {
    for await (const { number, text } of lines) {
      line = number;
      checker.read(text);
    }
    line++;
    checker.finish();
    return { ok: true, ...checker.summary() };
  } catch (error) {
    if (error instanceof LineError) return { ok: false, ...checker.counts(), line: error.line, fault: error.message };
    if (!(error instanceof Fault)) throw error;
    return { ok: false, ...checker.counts(), line, fault: error.message };
  }
}

class Fault extends Error {}

const at = (chain: Head, sequence: number): string => `${describeChain(chain)}, record ${sequence}`;

/** The parts of one signed statement, collected until all of them were read. */
class Statement<Kind extends 'export' | 'beginning'> {
  readonly signed: SignedStatement[] = [];
  readonly parts: (Kind extends 'export' ? ExportStatement : BeginningStatement)[] = [];
  readonly #kind: Kind;

  constructor(kind: Kind) {
    this.#kind = kind;
  }

  get first() {
    return this.parts[0];
  }

  /** Adds the next part; throws when it is not one of the same statement. */
  add(keys: PublicKeys, signed: SignedStatement, vault: string): void {
    const opened = openStatement(keys, this.#kind as StatementKind, signed);
    if (opened === 'unknown-key') throw new Fault(`signed with the key ${signed.keyId}, which is none of --key`);
    if (opened === 'invalid') throw new Fault('the signature is not valid');
    const part = opened as (typeof this.parts)[number];
    const { time, parts, vault: of } = this.first ?? part;
    if (part.part !== this.parts.length + 1 || part.time !== time || part.parts !== parts || part.vault !== of)
      throw new Fault('this part of a signed statement does not follow the one before');
    if (part.vault !== vault) throw new Fault('this statement is about another vault');
    this.parts.push(part);
    this.signed.push(signed);
  }

  get isComplete(): boolean {
    return this.first !== undefined && this.parts.length === this.first.parts;
  }
}

/** Heads that were recorded elsewhere, by chain. A head that differs may be explained by a restore, see `Resumption`. */
class RecordedNotes {
  readonly #byChain = new Map<string, { readonly head: Head; readonly at: number }[]>();
  readonly #differing: { readonly head: Head; readonly at: number; readonly what: string }[] = [];
  found = 0;
  elsewhere = 0;

  static async read(lines: AsyncIterable<HeadsLine>, keys: PublicKeys): Promise<RecordedNotes> {
    const notes = new RecordedNotes();
    for await (const { heads, at: time, signed } of lines) {
      if (signed !== undefined && typeof openStatement(keys, 'checkpoint', signed) === 'string')
        throw new PublicKeyError('--checkpoints: a checkpoint has no valid signature of --key');
      for (const head of heads) {
        const name = formatChain(head);
        const known = notes.#byChain.get(name);
        const last = known?.at(-1)?.head;
        // A chain that has not grown is noted again and again.
        if (last?.sequence === head.sequence && last.hash === head.hash) continue;
        const note = { head, at: time };
        if (known === undefined) notes.#byChain.set(name, [note]);
        else known.push(note);
      }
    }
    return notes;
  }

  /** Compares the notes of one chain, whose records `hashes` holds where a note names them. */
  compare(chain: Head, start: Head, hashes: ReadonlyMap<number, string>): void {
    const name = formatChain(chain);
    for (const { head, at: time } of this.#byChain.get(name) ?? []) {
      const known = head.sequence === start.sequence ? start.hash : hashes.get(head.sequence);
      if (known === head.hash) this.found++;
      else if (head.sequence < start.sequence) this.elsewhere++;
      else this.#differing.push({ head, at: time, what: known === undefined ? 'missing' : 'another one' });
    }
    this.#byChain.delete(name);
  }

  sequences(chain: Head): ReadonlySet<number> {
    return new Set((this.#byChain.get(formatChain(chain)) ?? []).map(({ head }) => head.sequence));
  }

  /** Throws for a head that the file lacks, although it contains the log up to a later time. */
  finish({ time, scope }: ExportHeader, resumptions: readonly ChainedRecord[]): void {
    const explanations = parseResumptions(resumptions);
    const rest = [...this.#byChain.values()].flat().map((note) => ({ ...note, what: 'missing' }));
    for (const { head, at: noted, what } of [...this.#differing, ...rest]) {
      const isOutside = isLimited(scope) && what === 'missing';
      const isNewer = noted > Date.parse(time);
      if (isOutside || isNewer || explanations.some((each) => isExplainedBy(each, noted, head))) this.elsewhere++;
      else throw new Fault(`${at(head, head.sequence)}: noted at ${new Date(noted).toISOString()} and ${what}`);
    }
  }
}

const isLimited = ({ account, from, to }: ExportScope): boolean =>
  [account, from, to].some((each) => each !== undefined);

interface OpenChain {
  readonly start: Head;
  last: Head;
  readonly noted: ReadonlySet<number>;
  readonly hashes: Map<number, string>;
}

/** The lines in their order: header, beginning, chains with records, statement about the content, end. */
class Checker {
  readonly #keys: PublicKeys;
  readonly #notes: RecordedNotes | undefined;
  readonly #beginning = new Statement('beginning');
  readonly #export = new Statement('export');
  readonly #removed = new Statement('beginning');
  readonly #beginnings = new Map<string, Head>();
  readonly #chains = new Map<string, { readonly start: Head; readonly end: Head }>();
  readonly #announced = new Set<string>();
  readonly #resumptions: ChainedRecord[] = [];
  #header: ExportHeader | undefined;
  #headerHash = '';
  #open: OpenChain | undefined;
  #records = 0;
  #isEnded = false;

  constructor(keys: PublicKeys, notes: RecordedNotes | undefined) {
    this.#keys = keys;
    this.#notes = notes;
  }

  read(line: string): void {
    const members = parseLine(line);
    if (members === undefined) throw new Fault('the line is no JSON object');
    if (this.#isEnded) throw new Fault('there are lines behind the end');
    if (this.#header === undefined) {
      this.#header = toHeader(line, members);
      if (this.#header === undefined)
        throw new Fault('the file does not begin with the header of an exported audit log of this version');
      this.#headerHash = hash('sha256', line);
      return;
    }
    const type = members['type'];
    if (type === 'beginning' || type === 'export') this.#readStatement(line, this.#header);
    else if (type === 'chain') this.#readChain(toChainStart(line, members));
    else if (type === 'record') this.#readRecord(line, members);
    else if (type === 'end') this.#readEnd(line, members);
    else throw new Fault('the line is of no known type');
  }

  #readStatement(line: string, { content, vault }: ExportHeader): void {
    const signed = parseStatementLine(line);
    if (signed === undefined) throw new Fault('the line is no signed statement');
    this.#closeChain();
    // Before the first chain, a statement is about the beginning of the log.
    if (this.#chains.size === 0 && signed.kind === 'beginning' && this.#export.first === undefined) {
      this.#beginning.add(this.#keys, signed, vault);
      for (const head of this.#beginning.parts.at(-1)?.heads.map(fromHeadTuple) ?? [])
        this.#beginnings.set(formatChain(head), head);
      return;
    }
    const closing: Statement<'export'> | Statement<'beginning'> = content === 'log' ? this.#export : this.#removed;
    closing.add(this.#keys, signed, vault);
  }

  #readChain(start: Head | undefined): void {
    if (start === undefined) throw new Fault('the line is not in the form of a chain');
    this.#closeChain();
    if (this.#beginning.first !== undefined && !this.#beginning.isComplete)
      throw new Fault('a part of the signed beginning is missing');
    if (this.#export.first !== undefined || this.#removed.first !== undefined)
      throw new Fault('a chain follows the signed statement about the content');
    const name = formatChain(start);
    if (this.#chains.has(name)) throw new Fault(`${describeChain(start)}: the chain is in the file twice`);
    this.#assertBeginning(start);
    const noted = this.#notes?.sequences(start) ?? new Set<number>();
    this.#open = { start, last: start, noted, hashes: new Map() };
    this.#chains.set(name, { start, end: start });
  }

  /** A chain begins with its first record, behind its signed beginning, or where the statement about an export says. */
  #assertBeginning(start: Head): void {
    const { account, lane, sequence, hash } = start;
    const beginning = this.#beginnings.get(formatChain(start)) ?? emptyHead(account, lane);
    if (sequence === beginning.sequence && hash === beginning.hash) return;
    const isWindow = this.#header?.content === 'log' && this.#header.scope.from !== undefined;
    if (!isWindow || sequence < beginning.sequence)
      throw new Fault(`${describeChain(start)}: the records up to ${sequence} are missing`);
  }

  #readRecord(line: string, members: Readonly<Record<string, unknown>>): void {
    const chain = this.#open;
    if (chain === undefined) throw new Fault('a record follows no chain');
    const record = toRecord(line, members, chain.last);
    if (record === undefined) throw new Fault('the line is not in the form of a record');
    const expected = chain.last.sequence + 1;
    if (record.sequence !== expected) throw new Fault(`${at(chain.last, expected)}: missing`);
    if (hashRecord(chain.last.hash, record.lane, record.sequence, record) !== record.hash)
      throw new Fault(`${at(chain.last, expected)}: changed`);
    if (isAnnouncement(record)) this.#announce(record);
    if (isResumption(record)) this.#resumptions.push(record);
    if (chain.noted.has(record.sequence)) chain.hashes.set(record.sequence, record.hash);
    chain.last = { account: record.account, lane: record.lane, sequence: record.sequence, hash: record.hash };
    this.#records++;
  }

  #announce(record: ChainedRecord): void {
    let chains: ReturnType<typeof parseAnnouncement>;
    try {
      chains = parseAnnouncement(record);
    } catch {
      throw new Fault(`${at(record, record.sequence)}: the announcement cannot be read`);
    }
    for (const name of chains.map(formatChain)) {
      if (this.#announced.has(name)) throw new Fault(`the chain ${JSON.stringify(name)} was announced twice`);
      this.#announced.add(name);
    }
  }

  #closeChain(): void {
    const chain = this.#open;
    if (chain === undefined) return;
    this.#chains.set(formatChain(chain.start), { start: chain.start, end: chain.last });
    this.#notes?.compare(chain.start, chain.start, chain.hashes);
    this.#open = undefined;
  }

  #readEnd(line: string, members: Readonly<Record<string, unknown>>): void {
    const end = toEnd(line, members);
    if (end === undefined) throw new Fault('the line is not in the form of the end');
    this.#closeChain();
    if (end.chains !== this.#chains.size || end.records !== this.#records)
      throw new Fault(`the end counts ${end.records} records in ${end.chains} chains, which the file does not have`);
    this.#isEnded = true;
  }

  /** Compares what was read with what the vault signed. */
  finish(): void {
    if (this.#header === undefined) throw new Fault('the file is empty');
    if (!this.#isEnded) throw new Fault('the end of the file is missing');
    if (this.#header.content === 'log') this.#finishExport(this.#header);
    else this.#finishRemoved();
    this.#notes?.finish(this.#header, this.#resumptions);
  }

  #finishExport(header: ExportHeader): void {
    const { first } = this.#export;
    if (first === undefined || !this.#export.isComplete)
      throw new Fault('the signed statement about the content is missing');
    this.#assertHeader(first);
    const ranges = this.#export.parts.flatMap((part) => part.ranges);
    if (ranges.length !== this.#chains.size || first.records !== this.#records || first.digest !== this.#digest())
      throw new Fault('the chains of the file are not those that the vault signed');
    for (const [account, lane, after, afterHash, sequence, hash] of ranges) {
      const chain = this.#chains.get(formatChain({ account, lane }));
      const isSigned =
        chain?.start.sequence === after &&
        chain.start.hash === afterHash &&
        chain.end.sequence === sequence &&
        chain.end.hash === hash;
      if (!isSigned)
        throw new Fault(
          `${describeChain({ account, lane })}: the end is not record ${sequence}, which the vault signed`,
        );
    }
    if (!isLimited(header.scope)) this.#assertAnnounced();
  }

  #assertHeader({ header }: { readonly header: string }): void {
    if (header !== this.#headerHash) throw new Fault('the header is not the one that the vault signed');
  }

  /** In a complete log each chain was announced, and each announced chain is in the file. */
  #assertAnnounced(): void {
    for (const name of this.#announced)
      if (!this.#chains.has(name)) throw new Fault(`the chain ${JSON.stringify(name)} was announced and is missing`);
    for (const [name, { start }] of this.#chains)
      if (start.account !== '' && !this.#announced.has(name) && !this.#beginnings.has(name))
        throw new Fault(`${describeChain(start)}: the chain was never announced`);
  }

  #finishRemoved(): void {
    const { first } = this.#removed;
    if (first === undefined || !this.#removed.isComplete) throw new Fault('the signed new beginning is missing');
    this.#assertHeader(first);
    const heads = this.#removed.parts.flatMap((part) => part.heads.map(fromHeadTuple));
    const ends = [...this.#chains.values()].map(({ end }) => end).filter(({ sequence }) => sequence > 0);
    const signed = new Map(heads.map((head) => [formatChain(head), head]));
    const isSame = ({ sequence, hash }: Head, other: Head | undefined): boolean =>
      sequence === other?.sequence && hash === other.hash;
    const other = ends.find((end) => !isSame(end, signed.get(formatChain(end))));
    if (other !== undefined)
      throw new Fault(`${describeChain(other)}: the removed records end with another record than the vault signed`);
    if (heads.length !== ends.length || first.chains !== heads.length)
      throw new Fault('the chains of the file are not those that the vault signed');
  }

  #digest(): string {
    const digest = createHash('sha256');
    for (const { end } of this.#chains.values()) digest.update(digestLine(end));
    return digest.digest('hex');
  }

  counts() {
    return {
      records: this.#records,
      chains: this.#chains.size,
      ...(this.#header !== undefined && { header: this.#header }),
    };
  }

  summary(): Omit<ExportCheck, 'ok'> {
    const keyId = (this.#export.signed[0] ?? this.#removed.signed[0])?.keyId;
    const removedBefore = this.#beginning.first?.before;
    return {
      ...this.counts(),
      ...(keyId !== undefined && { keyId }),
      digest: this.#digest(),
      ...(removedBefore !== undefined && { removedBefore }),
      ...(this.#notes !== undefined && { noted: { found: this.#notes.found, elsewhere: this.#notes.elsewhere } }),
      ...(this.#header?.content === 'removed' && { removed: this.#removedPart() }),
    };
  }

  #removedPart(): RemovedPart {
    return {
      starts: [...this.#chains.values()].map(({ start }) => start).filter(({ sequence }) => sequence > 0),
      before: this.#removed.first?.before ?? '',
      heads: this.#removed.parts.flatMap((part) => part.heads.map(fromHeadTuple)),
      statements: this.#removed.signed,
    };
  }
}

/** Describes the content of a file for people. */
export const describeContent = (content: ExportContent): string =>
  content === 'log' ? 'the audit log' : 'records that were removed from the audit log';
