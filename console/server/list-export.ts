import type { StreamedFile } from '../../src/http/route.ts';
import { formatIso8601 } from '../../src/kernel/clock.ts';
import { LIMITS } from '../../src/kernel/limits.ts';
import { containsPan } from '../../src/kernel/pan.ts';
import { type Page, yieldBeforeScan } from '../../src/storage/pagination.ts';
import type { Access } from '../wire/definition.ts';
import type { ExportFormat, ExportLine } from '../wire/exports.ts';
import { ConcurrencyLimit } from './concurrency-limit.ts';
import { CSV_START, formatCsvRecord } from './csv.ts';
import type { AnyCall, ConsoleCall } from './route.ts';
import { accessCheck, type ExportProgress, type RecordedExport, recordExport, streamExport } from './stream-export.ts';

/** The values of a row of a list. */
type Cell = string | number | boolean | null | readonly string[];
type Filter = Readonly<Record<string, string | undefined>>;

/** A list that can be exported. */
export interface ExportedList<Row> extends RecordedExport {
  readonly name: 'payments' | 'tokens' | 'captures' | 'audit' | 'requests' | 'accounts' | 'unknown-outcomes';
  readonly access: Access;
  /** Members of a row, in the order of the columns. */
  readonly columns: readonly (keyof Row & string)[];
  /** Names of the filters whose values are codes and times. Of the other filters only the names are recorded. */
  readonly codeFilters: readonly string[];
  /** Reads a page, as the list of the console does. */
  page(cursor: string | undefined): Promise<ExportedPage<Row>>;
}

interface ExportedPage<Row> {
  readonly rows: readonly Row[];
  readonly next: string | undefined;
}

/** Returns a page of a list for an export. */
export const toExportedPage = <Item, Row>(
  { items, cursor }: Page<Item>,
  toRow: (item: Item) => Row,
): ExportedPage<Row> => ({ rows: items.map(toRow), next: cursor });

type ExportCall = ConsoleCall<{ readonly format: ExportFormat; readonly filter: Filter }, unknown>;

/** Exports in progress, for each database. */
const EXPORTS = new WeakMap<object, ConcurrencyLimit>();

/**
 * Exports the records that the filter of a list shows, page by page: a page is read when the one before was sent, so that a
 * slow reader holds nothing but one page. The export is recorded before the first row leaves, and its end with the number of
 * rows. Throws `rate_limited` while another export of the user is in progress, and what the list throws.
 */
export async function exportList<Row extends object>(call: ExportCall, list: ExportedList<Row>): Promise<StreamedFile> {
  const lines = streamList(call, list);
  // Up to the record of the export; from then on the end of the lines is recorded in any case.
  await lines.next();
  const day = formatIso8601(call.now).slice(0, 'YYYY-MM-DD'.length);
  return { type: 'application/x-ndjson; charset=utf-8', name: `${list.name}-${day}.ndjson`, lines };
}

async function* streamList<Row extends object>(call: ExportCall, list: ExportedList<Row>): AsyncGenerator<string> {
  const release = acquireExport(call);
  try {
    const first = await list.page(undefined);
    const { format, filter } = call.body;
    const filters = describeFilter(filter, list.codeFilters);
    const detail = { format, ...(filters !== '' && { filters }) };
    await recordExport(call, list, 'records.exported', 'success', detail);
    yield* streamExport(call, list, (progress) => streamPages(call, list, first, progress));
  } finally {
    release();
  }
}

async function* streamPages<Row extends object>(
  call: ExportCall,
  { columns, access, page: read }: ExportedList<Row>,
  first: ExportedPage<Row>,
  progress: ExportProgress,
): AsyncGenerator<string> {
  const { clock } = call.services;
  const format = FORMATS[call.body.format];
  const startedAt = clock();
  const assertAllowed = accessCheck(call, access);
  let text = format.start(columns);
  for (let page = first; ; page = await read(page.next)) {
    const rows = page.rows.slice(0, LIMITS.exportedRows - progress.rows);
    for (const [index, row] of rows.entries())
      text += format.row(
        columns.map((name) => [name, row[name] as Cell]),
        progress.rows + index === 0,
      );
    progress.rows += rows.length;
    const isEnd = page.next === undefined && rows.length === page.rows.length;
    const limit = isEnd ? null : findLimit(progress.rows, clock() - startedAt);
    if (isEnd || limit !== null) {
      yield toLine({ text: text + format.end, rows: progress.rows });
      yield toLine({ rows: progress.rows, limit });
      progress.outcome = isEnd ? 'success' : 'partial';
      return;
    }
    yield toLine({ text, rows: progress.rows });
    text = '';
    await assertAllowed();
    await yieldBeforeScan();
  }
}

function findLimit(rows: number, tookMs: number): 'rows' | 'time' | null {
  if (rows === LIMITS.exportedRows) return 'rows';
  return tookMs > LIMITS.exportMs ? 'time' : null;
}

const toLine = (line: ExportLine): string => `${JSON.stringify(line)}\n`;

interface FileFormat {
  start(columns: readonly string[]): string;
  row(cells: readonly (readonly [name: string, value: Cell])[], isFirst: boolean): string;
  readonly end: string;
}

const FORMATS: Readonly<Record<ExportFormat, FileFormat>> = {
  csv: {
    start: (columns) => CSV_START + formatCsvRecord(columns),
    row: (cells) => formatCsvRecord(cells.map(([, value]) => toCsvCell(value))),
    end: '',
  },
  json: {
    start: () => '[',
    row: (cells, isFirst) => `${isFirst ? '' : ','}\n${JSON.stringify(Object.fromEntries(cells))}`,
    end: '\n]\n',
  },
};

function toCsvCell(value: Cell): string {
  if (value === null) return '';
  return typeof value === 'object' ? value.join(', ') : String(value);
}

function acquireExport({ services: { database }, person }: AnyCall): () => void {
  const limit = EXPORTS.get(database) ?? new ConcurrencyLimit(LIMITS.exportsPerUser);
  EXPORTS.set(database, limit);
  return limit.acquire(person.id);
}

/** A text filter may be a card number by mistake, and so may a code that nothing has compared with the known ones. */
const describeFilter = (filter: Filter, codeFilters: readonly string[]): string =>
  Object.entries(filter)
    .flatMap(([name, value]) => {
      if (value === undefined) return [];
      return codeFilters.includes(name) && !containsPan(value) ? [`${name}=${value}`] : [name];
    })
    .sort()
    .join(' ');
