/** Comma-separated values (RFC 4180): a comma between fields, double quotes around fields that need them. */

/** True when a quoted field continues on the next line. */
export function isQuoteOpen(text: string): boolean {
  let quotes = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at + 1)) quotes++;
  return quotes % 2 === 1;
}

/** Returns the fields of a record; undefined when a quote is at a place where none may be. */
export function parseCsvRecord(text: string): string[] | undefined {
  if (!text.includes('"')) return text.split(',');
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    const field = text[at] === '"' ? readQuoted(text, at) : readPlain(text, at);
    if (field === undefined) return undefined;
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

function readPlain(text: string, start: number): CsvField | undefined {
  const comma = text.indexOf(',', start);
  const end = comma < 0 ? text.length : comma;
  const value = text.slice(start, end);
  return value.includes('"') ? undefined : { value, end };
}

function readQuoted(text: string, start: number): CsvField | undefined {
  let value = '';
  for (let from = start + 1; ; ) {
    const quote = text.indexOf('"', from);
    if (quote < 0) return undefined;
    value += text.slice(from, quote);
    const next = text[quote + 1];
    if (next === undefined || next === ',') return { value, end: quote + 1 };
    if (next !== '"') return undefined;
    value += '"';
    from = quote + 2;
  }
}
