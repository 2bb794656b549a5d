import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, lstatSync, mkdirSync, readdirSync, utimesSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Programs and files of a release. */

/** Runs a program in a folder; its output goes to the standard error, because the standard output names the results. */
export function run(folder: string, program: string, args: readonly string[], env = process.env): void {
  execFileSync(program, args, { cwd: folder, env, stdio: ['inherit', process.stderr, 'inherit'] });
}

const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** Returns what a program writes. */
export const outputOf = (folder: string, program: string, args: readonly string[]): string =>
  execFileSync(program, args, { cwd: folder, encoding: 'utf8', maxBuffer: MAX_OUTPUT_BYTES });

export function copyFile(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}

const listEntries = (folder: string): string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

/** Returns the paths of all files below a folder, relative to it and sorted. */
export const listFiles = (folder: string): string[] =>
  listEntries(folder).filter((path) => lstatSync(join(folder, path)).isFile());

const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;

/** Gives all files of a folder the same times, and modes that do not depend on the umask of the releaser. */
export function normalize(folder: string, seconds: number, modes: Readonly<Record<string, number>>): void {
  for (const path of [...listEntries(folder), '']) {
    const full = join(folder, path);
    const entry = lstatSync(full);
    if (entry.isSymbolicLink()) throw new Error(`${path} is a symbolic link, which a release must not have`);
    chmodSync(full, modes[path] ?? (entry.isDirectory() ? FOLDER_MODE : FILE_MODE));
    utimesSync(full, seconds, seconds);
  }
}
