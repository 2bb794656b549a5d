import type { DatabaseFacts } from '../storage/sqlite/inspect-file.ts';

/** The facts about a backup that are stored in it, before the database. */
export interface Manifest extends DatabaseFacts {
  readonly id: string;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
  /** The version of cardvault that created the backup. */
  readonly cardvault: string;
  readonly source: 'sqlite' | 'postgres';
  /** The check value of the root key that opens the database. */
  readonly rootKey: string;
  /** Size and hexadecimal SHA-256 of the database file. */
  readonly database: { readonly bytes: number; readonly sha256: string };
}

/** The version of the format: a reader refuses every other one. */
const FORMAT = 'cardvault backup 1';

export const formatManifest = (manifest: Manifest): Buffer =>
  Buffer.from(`${JSON.stringify({ format: FORMAT, ...manifest }, null, 2)}\n`);

/** Returns undefined for a manifest of another format, or none. The text is authentic: it was encrypted with the file. */
export function parseManifest(text: string): Manifest | undefined {
  try {
    const { format, ...manifest } = JSON.parse(text) as Manifest & { format?: unknown };
    return format === FORMAT ? manifest : undefined;
  } catch {
    return undefined;
  }
}
