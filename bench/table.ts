/** Tables and numbers as Markdown. The first row is the head. */
export type Table = readonly (readonly string[])[];

/** Returns the table with columns padded to one width. */
export function aligned(table: Table): string {
  const widths = (table[0] ?? []).map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...rows] = table.map(line);
  return [head, `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...rows].join('\n');
}

export const whole = (value: number): string => Math.round(value).toLocaleString('en-US');

/** Returns a ratio with three digits, or two decimals below one. */
export const ratio = (value: number): string => (value < 10 ? value.toFixed(2) : value.toPrecision(3));

/** Returns a time in milliseconds with as many digits as mean something. */
export const milliseconds = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);

export const mebibytes = (bytes: number): string => `${whole(bytes / 2 ** 20)} MiB`;
