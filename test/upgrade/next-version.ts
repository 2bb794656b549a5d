import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readMigrations } from '../../src/storage/migrate.ts';
import { PROGRAM, type ReleasedProgram } from './releases.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PRESENT = readMigrations().at(-1)?.version ?? 0;
const four = (version: number): string => String(version).padStart(4, '0');

/** The lines of a later migration, with the schema of this program as the oldest that works beside it. */
export const COMPATIBLE = `-- release: 9.0.0\n-- compatible-from: ${four(PRESENT)}\n`;
/** The same without a promise. */
export const INCOMPATIBLE = '-- release: 9.0.0\n';

/** Returns a copy of this program, to which a test adds migrations: the version after this one. */
export function copyProgram(folder: string): ReleasedProgram {
  mkdirSync(folder, { recursive: true });
  const isNeeded = (path: string): boolean => !path.endsWith('.test.ts');
  for (const part of PROGRAM) cpSync(join(ROOT, part), join(folder, part), { recursive: true, filter: isNeeded });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return { folder, bin: join(folder, 'bin', 'cardvault.mjs') };
}

/** Gives the copy these migrations in addition to those of this version. */
export function addMigrations({ folder }: ReleasedProgram, ...migrations: readonly string[]): void {
  for (const [index, sql] of migrations.entries())
    writeFileSync(join(folder, 'src/storage/migrations', `${four(PRESENT + 1 + index)}_later.sql`), sql);
}
