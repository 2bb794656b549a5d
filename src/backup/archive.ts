import { createReadStream } from 'node:fs';
import { LIMITS } from '../kernel/limits.ts';
import { OperatorError } from '../kernel/operator-error.ts';
import { formatManifest, type Manifest, parseManifest } from './manifest.ts';

/**
 * The content of a backup: a tar archive (POSIX.1-1988 ustar) of two files, so that `age --decrypt` and `tar` unpack it
 * without cardvault.
 */
const MANIFEST_NAME = 'manifest.json';
const DATABASE_NAME = 'cardvault.db';
const BLOCK_BYTES = 512;
const MODE = '0000600\0';
/** Owner and group 0, time 0: equal databases make equal archives. */
const ROOT = '0000000\0';
const CHECKSUM_OFFSET = 148;
const CHECKSUM_BYTES = 8;
const SIZE_OFFSET = 124;
const SIZE_BYTES = 12;
/** From this size on, GNU tar writes sizes in binary. */
const OCTAL_SIZES = 8 ** 11;

/** Thrown for a backup that is damaged, or has another format. */
export class BackupError extends OperatorError {
  override readonly name = 'BackupError';
}

const paddingFor = (bytes: number): number => (BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES;

function formatSize(bytes: number): Buffer {
  const field = Buffer.alloc(SIZE_BYTES);
  if (bytes < OCTAL_SIZES) field.write(`${bytes.toString(8).padStart(SIZE_BYTES - 1, '0')}\0`, 'latin1');
  else {
    field[0] = 0x80;
    field.writeBigUInt64BE(BigInt(bytes), SIZE_BYTES - 8);
  }
  return field;
}

function formatHeader(name: string, bytes: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0, 'latin1');
  header.write(MODE + ROOT + ROOT, 100, 'latin1');
  formatSize(bytes).copy(header, SIZE_OFFSET);
  header.write('00000000000\0', 136, 'latin1');
  header.write(' '.repeat(CHECKSUM_BYTES), CHECKSUM_OFFSET, 'latin1');
  // A regular file, and no name of a link.
  header.write('0', 156, 'latin1');
  header.write('ustar\u000000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, CHECKSUM_OFFSET, 'latin1');
  return header;
}

/** Returns the archive in pieces. `databaseFile`: the file that the manifest describes. */
export async function* packArchive(manifest: Manifest, databaseFile: string): AsyncGenerator<Uint8Array> {
  const text = formatManifest(manifest);
  const { bytes } = manifest.database;
  yield Buffer.concat([
    formatHeader(MANIFEST_NAME, text.length),
    text,
    Buffer.alloc(paddingFor(text.length)),
    formatHeader(DATABASE_NAME, bytes),
  ]);
  yield* createReadStream(databaseFile, { highWaterMark: LIMITS.backupChunkBytes });
  yield Buffer.alloc(paddingFor(bytes) + 2 * BLOCK_BYTES);
}

/** A backup that is being read: its manifest, and then its database. */
export interface OpenedArchive {
  readonly manifest: Manifest;
  /** The database in pieces. It is complete when the iteration has ended. */
  database(): AsyncGenerator<Uint8Array>;
}

/** Reads the manifest of an archive. Throws `BackupError` for another content. */
export async function openArchive(path: string, content: AsyncGenerator<Uint8Array>): Promise<OpenedArchive> {
  const reader = new PieceReader(content);
  const isOther = new BackupError(
    `${path} is no backup of this format: it was created by another version, or is another file`,
  );
  const length = parseHeader(await reader.read(BLOCK_BYTES), MANIFEST_NAME);
  if (length === undefined || length > LIMITS.backupManifestBytes) throw isOther;
  const text = await reader.read(length);
  const manifest = parseManifest(text.toString('utf8'));
  if (manifest === undefined) throw isOther;
  await reader.read(paddingFor(length));
  const bytes = parseHeader(await reader.read(BLOCK_BYTES), DATABASE_NAME);
  if (bytes !== manifest.database.bytes) throw isOther;
  return {
    manifest,
    async *database() {
      yield* reader.readPieces(bytes);
      if (reader.missing) throw new BackupError(`${path} is truncated: its database is incomplete`);
      await reader.drain();
    },
  };
}

/** Returns the size of the file with this header; undefined for another one. */
function parseHeader(header: Buffer, name: string): number | undefined {
  if (header.length < BLOCK_BYTES) return undefined;
  const field = header.subarray(SIZE_OFFSET, SIZE_OFFSET + SIZE_BYTES);
  const bytes =
    field[0] === 0x80
      ? Number(field.readBigUInt64BE(SIZE_BYTES - 8))
      : Number.parseInt(field.toString('latin1').replace('\0', ''), 8);
  return Number.isSafeInteger(bytes) && header.equals(formatHeader(name, bytes)) ? bytes : undefined;
}

/** Reads a number of bytes from pieces of any size. */
class PieceReader {
  readonly #pieces: AsyncGenerator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();
  /** True when the content ended before all bytes were read. */
  missing = false;

  constructor(pieces: AsyncGenerator<Uint8Array>) {
    this.#pieces = pieces;
  }

  /** Returns fewer bytes at the end of the content. */
  async read(bytes: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of this.readPieces(bytes)) parts.push(part);
    return Buffer.concat(parts);
  }

  async *readPieces(bytes: number): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0; ) {
      if (this.#rest.length === 0) {
        const next = await this.#pieces.next();
        if (next.done === true) {
          this.missing = true;
          return;
        }
        this.#rest = next.value;
      }
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  /** Reads to the end, where the encryption shows that nothing is missing. */
  async drain(): Promise<void> {
    for (let next = await this.#pieces.next(); next.done !== true; next = await this.#pieces.next());
  }
}
