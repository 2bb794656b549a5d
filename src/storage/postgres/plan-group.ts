import type { StoredUnit } from '../account-numbers.ts';
import type { Value } from '../database.ts';
import { checkedRun, checkedRuns, findTable, plain, type Statement } from './statements.ts';

/** Runs of one statement, of different units, that are executed together. */
interface BatchStage {
  readonly sql: string;
  readonly expectedRows: number | undefined;
  readonly rows: (readonly Value[])[];
}

/**
 * Plans the statements of a group: runs of equal text that touch one row each become one statement. A write joins an
 * earlier statement only when the statements between them write to other tables. So when every check holds, the effect
 * is that of the units one after the other, ordered by their first text. When a check fails, the transaction fails, and
 * the units are run one by one.
 */
export function planGroup(units: readonly StoredUnit[], merge: boolean): Statement[] {
  const stages: BatchStage[] = [];
  /** Index of the newest stage of a table. */
  const latest = new Map<string, number>();
  /** Index of the newest stage whose tables are unknown. */
  let unknown = -1;
  for (const unit of merge ? byFirstText(units) : units) {
    let after = -1;
    for (const { sql, rows, expectedRows } of unit.writes) {
      if (rows.length === 0) continue;
      const table = findTable(sql);
      const found = table === undefined ? -1 : (latest.get(table) ?? -1);
      const stage = stages[found];
      if (
        merge &&
        expectedRows === 1 &&
        found > Math.max(after, unknown) &&
        stage?.sql === sql &&
        stage.expectedRows === 1
      ) {
        stage.rows.push(...rows);
        after = found;
      } else {
        after = stages.push({ sql, expectedRows, rows: [...rows] }) - 1;
        if (table === undefined) unknown = after;
        else latest.set(table, after);
      }
    }
  }
  return stages.flatMap((stage) => toStatements(stage, merge));
}

/** The units were passed in at the same time, so any order is correct. */
const byFirstText = (units: readonly StoredUnit[]): StoredUnit[] =>
  [...Map.groupBy(units, ({ writes }) => writes[0]?.sql).values()].flat();

function toStatements({ sql, rows, expectedRows }: BatchStage, merge: boolean): Statement[] {
  if (expectedRows === 1) return checkedRuns(sql, rows, merge);
  return rows.map((row) => (expectedRows === undefined ? plain(sql, row) : checkedRun(sql, row, expectedRows)));
}
