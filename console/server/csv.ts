/** A byte order mark: without one, spreadsheets read UTF-8 as another encoding. */
export const CSV_START = '\uFEFF';

/**
 * Characters by which a spreadsheet takes a cell for a formula (OWASP, CSV injection). Behind a semicolon, a tab or a line
 * break as well, which end a cell where the comma is the decimal sign, and behind quotes that begin such a cell.
 */
const FORMULA = /(?=[=+\-@\t\r\n＝＋－＠])(?<=(?:^|[;\t\r\n])"*)/g;

/** Formats one record of RFC 4180. An apostrophe, which spreadsheets do not show, precedes what would be a formula. */
export const formatCsvRecord = (cells: readonly string[]): string =>
  `${cells.map((cell) => `"${cell.replace(FORMULA, "'").replaceAll('"', '""')}"`).join(',')}\r\n`;
