import type { Definition } from '../../../wire/definition.ts';
import type { ExportLine } from '../../../wire/exports.ts';
import { type CallArgs, CallError, openStream } from './call.ts';

interface ExportedFile {
  readonly content: Blob;
  readonly rows: number;
  /** The limit that ended the export before the list did. */
  readonly limit: 'rows' | 'time' | null;
}

interface ExportProgress {
  readonly signal: AbortSignal;
  /** Gets the number of rows so far. */
  readonly onRows: (rows: number) => void;
}

/** Reads an export to its last line, without which the file is incomplete. Throws `CallError`. */
export async function readExport<Body>(
  definition: Definition<Body, undefined, string>,
  args: CallArgs<Body, undefined>,
  { signal, onRows }: ExportProgress,
): Promise<ExportedFile> {
  const pieces: string[] = [];
  for await (const text of readLines(await openStream(definition, args, signal), signal)) {
    const line = JSON.parse(text) as ExportLine;
    if ('limit' in line) return { content: new Blob(pieces), ...line };
    pieces.push(line.text);
    onRows(line.rows);
  }
  throw new CallError('offline', 0, '');
}

/** Throws `offline` when the connection breaks, and `cancelled` when the user ended it. */
async function* readLines(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let rest = '';
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new CallError(signal.aborted ? 'cancelled' : 'offline', 0, '');
    });
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}
