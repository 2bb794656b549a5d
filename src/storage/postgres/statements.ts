import type { Value } from '../database.ts';
import { type ElementType, encodeArray, typeOf } from './encode-array.ts';

/** A statement in the form of PostgreSQL. Each text is prepared once on each connection, under its name. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: readonly Value[];
}

/** Without parameters and not prepared, so that the text may be several statements. */
export const simple = (text: string): Statement => ({ name: '', text, values: [] });

/** Texts beyond this number are not prepared. The service has some hundreds, whatever clients request. */
const MAX_PREPARED = 1000;
const names = new Map<string, string>();

export function statement(text: string, values: readonly Value[] = []): Statement {
  let name = names.get(text);
  if (name === undefined) {
    name = names.size < MAX_PREPARED ? `s${names.size}` : '';
    if (name !== '') names.set(text, name);
  }
  return { name, text, values };
}

const numbered = new Map<string, string>();

/** Returns one run: `?` becomes `$1`, `$2`, … */
export function plain(sql: string, values: readonly Value[]): Statement {
  let text = numbered.get(sql);
  if (text === undefined) {
    let count = 0;
    text = sql.replaceAll('?', () => `$${++count}`);
    if (numbered.size < MAX_PREPARED) numbered.set(sql, text);
  }
  return statement(text, values);
}

/** Fails with `CHECK_FAILED`, and with it the transaction, unless the condition holds. */
const check = (condition: string): string => `select 1 / (${condition})::int`;

/** division_by_zero, which no statement of ours causes otherwise. */
export const CHECK_FAILED = '22012';

/** Returns a run that must touch the expected number of rows. */
export function checkedRun(sql: string, values: readonly Value[], expectedRows: number): Statement {
  const { text } = plain(sql, values);
  const counted = `with done as (${text} returning 1) ${check(`count(*) = $${values.length + 1}`)} from done`;
  return statement(counted, [...values, expectedRows]);
}

/** Returns runs of one statement, each of which must touch one row; one statement when they can be merged. */
export function checkedRuns(sql: string, rows: readonly (readonly Value[])[], merge: boolean): Statement[] {
  const all = merge && rows.length > 1 ? mergeRuns(sql, rows) : undefined;
  return all === undefined ? rows.map((row) => checkedRun(sql, row, 1)) : [all];
}

/** Merges the runs of a statement into one: the parameters become columns `p1`, `p2`, … of a table `u`. */
interface Mergeable {
  readonly table: string;
  readonly parameters: number;
  text(columns: readonly string[], source: string): string;
  /** The known type of each parameter, because null has none. */
  readonly types: (ElementType | undefined)[];
}

const mergeable = new Map<string, Mergeable | null>();

const INSERT = /^insert into (\w+) \(([^()]*)\)\s+values \(([^()]*)\)([^?]*)$/;
const UPDATE = /^update (\w+)\s+set ([\s\S]+?)\s+where ([\s\S]+)$/;
const DELETE = /^delete from (\w+)\s+where ([\s\S]+)$/;

/**
 * Accepts statements whose every run must touch one row of one table. Such runs influence each other only by touching
 * the same row; one of them then touches none, and the check fails. Any other statement is run separately. The
 * condition must name the row by a unique key, which is not checked here.
 */
function findMergeable(sql: string): Mergeable | null {
  const known = mergeable.get(sql);
  if (known !== undefined) return known;
  const form = /\bselect\b|\breturning\b/i.test(sql)
    ? null
    : (mergeableInsert(sql) ?? mergeableUpdate(sql) ?? mergeableDelete(sql));
  if (mergeable.size < MAX_PREPARED) mergeable.set(sql, form);
  return form;
}

const countParameters = (sql: string): number => sql.split('?').length - 1;

/** Numbers the `?` in their order. */
function fillParameters(sql: string, columns: readonly string[], from = 0): string {
  let index = from;
  return sql.replaceAll('?', () => columns[index++] ?? '');
}

/** True when every row was touched exactly once. */
const ALL_TOUCHED = `${check('count(*) = $1 and count(distinct ord) = $1')} from done`;
const ALL_INSERTED = `${check('count(*) = $1')} from done`;

function mergeableInsert(sql: string): Mergeable | null {
  const [, table, columnNames, values, rest] = INSERT.exec(sql) ?? [];
  if (table === undefined || columnNames === undefined || values === undefined || rest === undefined) return null;
  const text = (columns: readonly string[], source: string): string =>
    `with done as (insert into ${table} (${columnNames}) select ${fillParameters(values, columns)} from ${source}${rest}
      returning 1) ${ALL_INSERTED}`;
  return { table, parameters: countParameters(sql), text, types: [] };
}

function mergeableUpdate(sql: string): Mergeable | null {
  const [, table, assignments, condition] = UPDATE.exec(sql) ?? [];
  if (table === undefined || assignments === undefined || condition === undefined) return null;
  const text = (columns: readonly string[], source: string): string =>
    `with done as (update ${table} set ${fillParameters(assignments, columns)} from ${source}
      where ${fillParameters(condition, columns, countParameters(assignments))} returning u.ord) ${ALL_TOUCHED}`;
  return { table, parameters: countParameters(sql), text, types: [] };
}

function mergeableDelete(sql: string): Mergeable | null {
  const [, table, condition] = DELETE.exec(sql) ?? [];
  if (table === undefined || condition === undefined) return null;
  const text = (columns: readonly string[], source: string): string =>
    `with done as (delete from ${table} using ${source} where ${fillParameters(condition, columns)} returning u.ord)
      ${ALL_TOUCHED}`;
  return { table, parameters: countParameters(sql), text, types: [] };
}

/** Returns the only table that a statement reads and writes; undefined when it is unknown. */
export const findTable = (sql: string): string | undefined => findMergeable(sql)?.table;

/**
 * Returns many runs, each of which must touch one row, as one statement. Undefined when their values have different
 * types.
 */
function mergeRuns(sql: string, rows: readonly (readonly Value[])[]): Statement | undefined {
  const mergeable = findMergeable(sql);
  if (mergeable === null || rows.some(({ length }) => length !== mergeable.parameters)) return undefined;
  const values: Value[] = [rows.length];
  const columns: string[] = [];
  const sources: string[] = [];
  const fields: string[] = [];
  for (let index = 0; index < mergeable.parameters; index++) {
    const column = rows.map((row) => row[index] ?? null);
    const type = typeOfColumn(column, mergeable.types[index]);
    if (type === 'mixed') return undefined;
    mergeable.types[index] ??= type;
    const name = `p${index + 1}`;
    if (type === undefined) columns.push('null');
    else {
      values.push(encodeArray(type, column));
      sources.push(`$${values.length}::${type}[]`);
      fields.push(name);
      columns.push(`u.${name}`);
    }
  }
  const source = `unnest(${sources.join(', ')}) with ordinality as u(${[...fields, 'ord'].join(', ')})`;
  return sources.length === 0 ? undefined : statement(mergeable.text(columns, source), values);
}

function typeOfColumn(column: readonly Value[], known: ElementType | undefined): ElementType | 'mixed' | undefined {
  let type = known;
  for (const value of column) {
    if (value === null) continue;
    const valueType = typeOf(value);
    if (type !== undefined && type !== valueType) return 'mixed';
    type = valueType;
  }
  return type;
}
