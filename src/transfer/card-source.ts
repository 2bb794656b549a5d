import { createHash, createHmac, type Hmac, type KeyObject } from 'node:crypto';
import { LIMITS } from '../kernel/limits.ts';
import {
  CARD_FIELDS,
  type CardDefaults,
  type CardField,
  type CardValues,
  type ParsedCard,
  parseCard,
  type SourceFormat,
} from './card-record.ts';
import { parseCsvRecord, scanCsvLine } from './csv.ts';
import {
  EXPORT_FORMAT,
  EXPORT_VERSION,
  EXPORTED_KINDS,
  type ExportCounts,
  type ExportedKind,
  type ExportHeader,
  type ExportTrailer,
  kindOfLine,
  newExportCounts,
} from './export-format.ts';
import { beginsLine, decodeLine, endsLine, readLines, type TextLine } from './text-lines.ts';
import { TransferError } from './transfer-error.ts';

/** A card of a file, or the reason why its line has none. */
export interface CardLine {
  /** The first line of the record, counted from 1. */
  readonly number: number;
  readonly parsed: ParsedCard;
}

export interface CardBatch {
  readonly lines: readonly CardLine[];
  /** Keyed digest of the lines, in hexadecimal; empty without a key. */
  readonly digest: string;
}

interface SourceOptions {
  readonly defaults: CardDefaults;
  /** The key of the digests of batches; absent: they have none. */
  readonly digestKey?: KeyObject | undefined;
}

const CARD_FIELD_NAMES: ReadonlySet<string> = new Set(CARD_FIELDS);
const TAG_SEPARATOR = '|';
const LINE_FEED = '\n';
const DIGEST_CHARACTERS = 32;
const NOT_UTF8 = 'the file is not UTF-8 text; decrypt it, or give the file that opens it with --identity';

type Fault = Extract<ParsedCard, { fault: unknown }>;

const lineFault = (code: 'malformed' | 'unknown_field' | 'too_long' | 'not_utf8' | 'not_json' | 'not_csv'): Fault => ({
  fault: { field: 'line', code },
  pan: undefined,
});

const NONE: readonly CardLine[] = [];

/** A parser of lines. A line completes one card, none, or several where lines before it turn out to be no part of a record. */
interface LineParser {
  readonly format: SourceFormat;
  readonly header?: ExportHeader;
  readonly counts?: ExportCounts;
  parse(line: TextLine): readonly CardLine[];
  /** Called after the last line. Throws `TransferError` when the end of the file is missing. */
  end(): readonly CardLine[];
}

/** Reads cards from CSV, JSON Lines, or the export of an account. The first line decides which of them it is. */
export class CardSource {
  readonly #groups: AsyncIterator<readonly TextLine[]>;
  readonly #parser: LineParser;
  readonly #digestKey: KeyObject | undefined;
  #first: readonly TextLine[];

  private constructor(
    groups: AsyncIterator<readonly TextLine[]>,
    first: readonly TextLine[],
    parser: LineParser,
    digestKey: KeyObject | undefined,
  ) {
    this.#groups = groups;
    this.#first = first;
    this.#parser = parser;
    this.#digestKey = digestKey;
  }

  /** Throws `TransferError` for a file that is none of the formats. */
  static async open(chunks: AsyncIterable<Uint8Array>, { defaults, digestKey }: SourceOptions): Promise<CardSource> {
    const groups = readLines(chunks)[Symbol.asyncIterator]();
    const { value: lines = [] } = (await groups.next()) as { value?: readonly TextLine[] };
    const [line, ...others] = lines;
    if (line === undefined) throw new TransferError('the file is empty');
    const text = line.part === 'whole' ? decodeLine(line) : undefined;
    if (text === undefined) throw new TransferError(NOT_UTF8);
    if (!text.trimStart().startsWith('{'))
      return new CardSource(groups, others, new CsvParser(parseCsvHead(text), defaults), digestKey);
    const header = toHeader(text);
    return header === undefined
      ? new CardSource(groups, lines, new JsonParser(defaults), digestKey)
      : new CardSource(groups, others, new ExportParser(header, line, defaults), digestKey);
  }

  get format(): SourceFormat {
    return this.#parser.format;
  }

  /** The header of an export. */
  get header(): ExportHeader | undefined {
    return this.#parser.header;
  }

  /** Records of an export by kind, complete after the last batch. */
  get counts(): ExportCounts | undefined {
    return this.#parser.counts;
  }

  /**
   * Returns all cards in batches of equal size but the last. Throws `TransferError` after the last batch of an export whose
   * end is missing, or whose checksum differs.
   */
  async *batches(size: number): AsyncGenerator<CardBatch> {
    const open = new OpenBatch(size, this.#digestKey);
    for (let lines: readonly TextLine[] | undefined = this.#first; lines !== undefined; lines = await this.#next())
      for (const line of lines) {
        const cards = this.#parser.parse(line);
        open.note(line);
        for (const batch of open.add(cards)) yield batch;
      }
    this.#first = [];
    for (const batch of open.add(this.#parser.end())) yield batch;
    if (!open.isEmpty) yield open.close();
  }

  /** Closes the file when not all of it was read. */
  async close(): Promise<void> {
    await this.#groups.return?.();
  }

  async #next(): Promise<readonly TextLine[] | undefined> {
    const { done, value } = await this.#groups.next();
    return done === true ? undefined : value;
  }
}

/** The batch to which the next cards are added. */
class OpenBatch {
  readonly #size: number;
  readonly #key: KeyObject | undefined;
  #lines: CardLine[] = [];
  #hmac: Hmac | undefined;

  constructor(size: number, key: KeyObject | undefined) {
    this.#size = size;
    this.#key = key;
    this.#hmac = key && createHmac('sha256', key);
  }

  get isEmpty(): boolean {
    return this.#lines.length === 0;
  }

  /** A line that is too long counts as an empty one: no card comes from it, whatever it contains. */
  note(line: TextLine): void {
    if (line.part === 'whole') this.#hmac?.update(line.bytes);
    if (beginsLine(line)) this.#hmac?.update(LINE_FEED);
  }

  /** Returns the batches that the cards complete. */
  add(cards: readonly CardLine[]): readonly CardBatch[] {
    const complete: CardBatch[] = [];
    for (const card of cards) {
      this.#lines.push(card);
      if (this.#lines.length === this.#size) complete.push(this.close());
    }
    return complete;
  }

  /** Returns the batch, and begins the next one. */
  close(): CardBatch {
    const batch = { lines: this.#lines, digest: this.#hmac?.digest('hex').slice(0, DIGEST_CHARACTERS) ?? '' };
    this.#lines = [];
    this.#hmac = this.#key && createHmac('sha256', this.#key);
    return batch;
  }
}

/** Returns the names of the columns. Throws `TransferError`, which names no text of the line: it may be a card. */
function parseCsvHead(text: string): readonly CardField[] {
  const names = parseCsvRecord(text)?.map((name) => name.trim());
  if (names === undefined) throw new TransferError('line 1: expected the names of the columns');
  const wrong = names.findIndex((name, index) => !CARD_FIELD_NAMES.has(name) || names.indexOf(name) !== index);
  if (wrong >= 0)
    throw new TransferError(`line 1, column ${wrong + 1}: expected one of ${CARD_FIELDS.join(', ')}, each once`);
  if (!names.includes('pan')) throw new TransferError('line 1: expected a column pan');
  return names as readonly string[] as readonly CardField[];
}

/**
 * A record whose quoted field never ends, or that is no CSV on a later line, has one faulty line: the first. The others are
 * read as records of their own, so that no line is lost. A record that is well formed is never read in another way, because a text in
 * its quotes is no card: when it has a fault, each of its lines has one, because two stray quotes may have made it.
 */
class CsvParser implements LineParser {
  readonly format = 'csv';
  readonly #columns: readonly CardField[];
  readonly #defaults: CardDefaults;
  /** A record whose quoted field continues on the next line: its first line, and all its lines with the feeds between them. */
  #open: { readonly number: number; readonly text: string } | undefined;

  constructor(columns: readonly CardField[], defaults: CardDefaults) {
    this.#columns = columns;
    this.#defaults = defaults;
  }

  parse(read: TextLine): readonly CardLine[] {
    if (!beginsLine(read)) return NONE;
    const { number, part, bytes } = read;
    if (part !== 'whole') return [...this.end(), { number, parsed: lineFault('too_long') }];
    const line = decodeLine({ number, bytes });
    if (line === undefined) return [...this.end(), { number, parsed: lineFault('not_utf8') }];
    return this.#read(number, line);
  }

  end(): readonly CardLine[] {
    return this.#open === undefined ? NONE : this.#reject(this.#open, 'not_csv');
  }

  #read(number: number, line: string): readonly CardLine[] {
    const open = this.#open;
    if (open === undefined && line === '') return NONE;
    const state = scanCsvLine(line, open !== undefined);
    const record = open === undefined ? { number, text: line } : { ...open, text: `${open.text}${LINE_FEED}${line}` };
    if (state === 'open') {
      if (record.text.length > LIMITS.importLineBytes) return this.#reject(record, 'too_long');
      this.#open = record;
      return NONE;
    }
    const cells = state === 'complete' ? parseCsvRecord(record.text) : undefined;
    if (cells === undefined) return this.#reject(record, 'not_csv');
    this.#open = undefined;
    const parsed = cells.length === this.#columns.length ? this.#parseCells(cells) : lineFault('not_csv');
    const others = 'fault' in parsed ? record.text.split(LINE_FEED).slice(1) : [];
    return [
      { number: record.number, parsed },
      ...others.flatMap((text, index) =>
        text === '' ? [] : [{ number: record.number + 1 + index, parsed: lineFault('not_csv') }],
      ),
    ];
  }

  /**
   * Returns the fault of the first line, and what the others are without it. Of these only the last can leave a field open:
   * a line within a quoted field that leaves it open has an even number of quotes.
   */
  #reject({ number, text }: { number: number; text: string }, code: 'too_long' | 'not_csv'): readonly CardLine[] {
    this.#open = undefined;
    const [, ...others] = text.split(LINE_FEED);
    return [
      { number, parsed: lineFault(code) },
      ...others.flatMap((line, index) => this.#read(number + 1 + index, line)),
    ];
  }

  #parseCells(cells: readonly string[]): ParsedCard {
    const values: Partial<Record<CardField, unknown>> = {};
    for (const [index, name] of this.#columns.entries()) {
      const cell = cells[index] ?? '';
      values[name] = name === 'tags' && cell !== '' ? cell.split(TAG_SEPARATOR) : cell;
    }
    return parseCard(values, this.#defaults, this.format);
  }
}

const parseObject = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
};

class JsonParser implements LineParser {
  readonly format = 'jsonl';
  readonly #defaults: CardDefaults;

  constructor(defaults: CardDefaults) {
    this.#defaults = defaults;
  }

  parse(line: TextLine): readonly CardLine[] {
    if (!beginsLine(line)) return NONE;
    const { number, part, bytes } = line;
    if (part !== 'whole') return [{ number, parsed: lineFault('too_long') }];
    const text = decodeLine({ number, bytes });
    if (text === undefined) return [{ number, parsed: lineFault('not_utf8') }];
    if (text.trim() === '') return NONE;
    return [{ number, parsed: parseMembers(parseObject(text), this.#defaults, this.format) }];
  }

  end(): readonly CardLine[] {
    return NONE;
  }
}

function parseMembers(
  members: Readonly<Record<string, unknown>> | undefined,
  defaults: CardDefaults,
  format: SourceFormat,
): ParsedCard {
  if (members === undefined) return lineFault('not_json');
  for (const name in members) if (!CARD_FIELD_NAMES.has(name)) return lineFault('unknown_field');
  return parseCard(members as CardValues, defaults, format);
}

/** Undefined when the line is no header. Throws `TransferError` for the header of another version. */
function toHeader(text: string): ExportHeader | undefined {
  const members = parseObject(text);
  if (members?.['kind'] !== 'header') return undefined;
  if (members['format'] !== EXPORT_FORMAT || members['version'] !== EXPORT_VERSION)
    throw new TransferError(
      `the file is no export of version ${EXPORT_VERSION}; import it with the release that wrote it`,
    );
  return members as unknown as ExportHeader;
}

const isExportedKind = (kind: unknown): kind is ExportedKind => EXPORTED_KINDS.some((each) => each === kind);

class ExportParser implements LineParser {
  readonly format = 'export';
  readonly header: ExportHeader;
  readonly counts: ExportCounts = newExportCounts();
  readonly #defaults: CardDefaults;
  readonly #sha256 = createHash('sha256');
  #trailer: ExportTrailer | undefined;

  constructor(header: ExportHeader, headerLine: TextLine, defaults: CardDefaults) {
    this.header = header;
    this.#defaults = defaults;
    this.#hash(headerLine);
  }

  /** Reads tokens and the trailer. A line of another kind is counted and hashed, and may have any length. */
  parse(line: TextLine): readonly CardLine[] {
    if (!beginsLine(line)) {
      this.#hash(line);
      return NONE;
    }
    const { number, bytes } = line;
    if (this.#trailer !== undefined) throw new TransferError(`line ${number}: the export has lines behind its trailer`);
    const kind = kindOfLine(bytes);
    if (kind === 'trailer') {
      this.#trailer = toMembers(line) as unknown as ExportTrailer;
      return NONE;
    }
    if (!isExportedKind(kind)) throw damagedAt(number);
    this.#hash(line);
    this.counts[kind]++;
    if (kind !== 'token') return NONE;
    const { kind: _, ...card } = toMembers(line);
    return [{ number, parsed: parseMembers(card, this.#defaults, 'export') }];
  }

  end(): readonly CardLine[] {
    if (this.#trailer === undefined)
      throw new TransferError('the export is cut: its trailer is missing; get the complete file', {
        isUsageError: false,
      });
    const isComplete = EXPORTED_KINDS.every((kind) => this.#trailer?.counts?.[kind] === this.counts[kind]);
    if (!isComplete || this.#trailer.sha256 !== this.#sha256.digest('hex'))
      throw new TransferError('the export is damaged: its checksum or its counts differ', { isUsageError: false });
    return NONE;
  }

  #hash(line: TextLine): void {
    this.#sha256.update(line.bytes);
    if (endsLine(line)) this.#sha256.update(LINE_FEED);
  }
}

const damagedAt = (number: number): TransferError =>
  new TransferError(`line ${number}: the export is damaged: the line is no record of it`);

/** Throws `TransferError` for a line that is no object: tokens and trailer are never longer than the limit of a line. */
function toMembers({ number, part, bytes }: TextLine): Readonly<Record<string, unknown>> {
  const text = part === 'whole' ? decodeLine({ number, bytes }) : undefined;
  const members = text === undefined ? undefined : parseObject(text);
  if (members === undefined) throw damagedAt(number);
  return members;
}
