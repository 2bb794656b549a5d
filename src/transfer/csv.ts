/** Comma-separated values (RFC 4180): a comma between fields, double quotes around fields that need them. */

/** `open`: a quoted field continues on the next line; `malformed`: a quote is at a place where none may be. */
type CsvFault = 'open' | 'malformed';

/** Judges one line of a record. `isQuoted`: the line before it has left a quoted field open. */
export function scanCsvLine(line: string, isQuoted: boolean): 'complete' | CsvFault {
  if (!line.includes('"')) return isQuoted ? 'open' : 'complete';
  let field = isQuoted ? readQuoted(line, 0) : readField(line, 0);
  while (typeof field !== 'string') {
    if (field.end === line.length) return 'complete';
    field = readField(line, field.end + 1);
  }
  return field;
}

/** Returns the fields of a record; undefined for a text that is no complete one. */
export function parseCsvRecord(text: string): string[] | undefined {
  if (!text.includes('"')) return text.split(',');
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    const field = readField(text, at);
    if (typeof field === 'string') return undefined;
    fields.push(field.value);
    if (field.end === text.length) return fields;
    at = field.end + 1;
  }
}

interface CsvField {
  readonly value: string;
  /** The position of the comma behind it, or the end of the text. */
  readonly end: number;
}

const readField = (text: string, start: number): CsvField | CsvFault =>
  text[start] === '"' ? readQuoted(text, start + 1) : readPlain(text, start);

function readPlain(text: string, start: number): CsvField | 'malformed' {
  const comma = text.indexOf(',', start);
  const end = comma < 0 ? text.length : comma;
  const value = text.slice(start, end);
  return value.includes('"') ? 'malformed' : { value, end };
}

/** `start`: the position behind the first quote. */
function readQuoted(text: string, start: number): CsvField | CsvFault {
  let value = '';
  for (let from = start; ; ) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return 'open';
    value += text.slice(from, quote);
    const next = text[quote + 1];
    if (next === undefined || next === ',') return { value, end: quote + 1 };
    if (next !== '"') return 'malformed';
    value += '"';
    from = quote + 2;
  }
}
