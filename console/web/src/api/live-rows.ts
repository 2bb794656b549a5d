/** Rows of a list that changes while it is on the screen. */

type KeyOf<Row> = (row: Row) => string;

/** Returns the newest page, followed by the rows behind it that were read before. */
export function mergeNewest<Row>(newest: readonly Row[], before: readonly Row[], key: KeyOf<Row>): readonly Row[] {
  const keys = new Set(newest.map(key));
  const lastCommon = before.findLastIndex((row) => keys.has(key(row)));
  return lastCommon === -1 ? newest : [...newest, ...before.slice(lastCommon + 1)];
}

interface HeldRows<Row> {
  readonly rows: readonly Row[];
  /** Number of rows that are held back. */
  readonly waiting: number;
}

/**
 * Holds back rows that would move those on the screen. Rows that were changed or removed are shown as they are now, and
 * rows behind the last one on the screen are appended.
 */
export function holdRows<Row>(shown: readonly Row[], rows: readonly Row[], key: KeyOf<Row>): HeldRows<Row> {
  const keys = new Set(shown.map(key));
  const lastCommon = rows.findLastIndex((row) => keys.has(key(row)));
  if (shown.length === 0 || rows.length === 0) return { rows, waiting: 0 };
  if (lastCommon === -1) return { rows: shown, waiting: rows.length };
  const held = rows.filter((row, index) => index > lastCommon || keys.has(key(row)));
  return { rows: held, waiting: rows.length - held.length };
}
