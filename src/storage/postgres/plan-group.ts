import type { UnitOfWork, Value } from '../database.ts';
import { checkedRun, checkedRuns, findTable, plain, type Statement } from './statements.ts';

/** Runs of one statement, of different units, that take place at the same time. */
interface BatchStage {
  readonly sql: string;
  readonly expectedRows: number | undefined;
  readonly rows: (readonly Value[])[];
}

/**
 * The statements that do all of a group at once: those of equal text that touch one row each become one. A write joins
 * an earlier one only past writes to other tables, so that when every check holds, the group did what its units would
 * have done one after the other, in this order: those that begin with the same text together. When one does not hold,
 * the transaction fails as a whole, and the units are run one by one.
 */
export function planGroup(units: readonly UnitOfWork[], merge: boolean): Statement[] {
  const stages: BatchStage[] = [];
  /** The newest stage of a table. */
  const latest = new Map<string, number>();
  /** The newest stage of which it is not known what it touches. */
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

/** They were handed in at the same time, so any order of them is right. */
const byFirstText = (units: readonly UnitOfWork[]): UnitOfWork[] =>
  [...Map.groupBy(units, ({ writes }) => writes[0]?.sql).values()].flat();

function toStatements({ sql, rows, expectedRows }: BatchStage, merge: boolean): Statement[] {
  if (expectedRows === 1) return checkedRuns(sql, rows, merge);
  return rows.map((row) => (expectedRows === undefined ? plain(sql, row) : checkedRun(sql, row, expectedRows)));
}
