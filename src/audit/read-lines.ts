import { createReadStream } from 'node:fs';
import { LIMITS } from '../kernel/limits.ts';

const LINE_END = 0x0a;

export interface NumberedLine {
  /** From 1. */
  readonly number: number;
  readonly text: string;
}

/** Thrown for a line that cannot be read, with its number. */
export class LineError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/**
 * Reads the lines of a file, of which one is in memory at a time. Throws `LineError` for a line that is too long, is not
 * UTF-8, or has no end; rejects with the error of the system for a file that cannot be read.
 */
export async function* readLines(path: string): AsyncGenerator<NumberedLine> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  let number = 1;
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, start)) {
      const bytes = Buffer.concat([...rest, chunk.subarray(start, end)]);
      if (bytes.length > LIMITS.auditLineBytes) throw new LineError(number, 'the line is too long');
      [rest, restBytes, start] = [[], 0, end + 1];
      yield { number, text: decode(decoder, bytes, number) };
      number++;
    }
    rest.push(Buffer.from(chunk.subarray(start)));
    restBytes += chunk.length - start;
    if (restBytes > LIMITS.auditLineBytes) throw new LineError(number, 'the line is too long');
  }
  if (restBytes > 0) throw new LineError(number, 'the file ends within this line');
}

function decode(decoder: InstanceType<typeof TextDecoder>, bytes: Uint8Array, line: number): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new LineError(line, 'the line is not UTF-8');
  }
}
