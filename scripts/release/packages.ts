import { existsSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { copyFile, listFiles } from './run.ts';

/** The packages of others that a release contains. */

/** A package of `package-lock.json`. */
export interface LockedPackage {
  /** Its folder, such as `node_modules/ajv/node_modules/fast-uri`. */
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  /** `sha512-…` of the archive in the registry. */
  readonly integrity: string;
}

const FOLDER = /^node_modules\/(?:.*\/node_modules\/)?((?:@[^/]+\/)?[^/]+)$/;

/** Returns the packages of a lock file whose folders exist below `root`. */
export function listInstalled(root: string): LockedPackage[] {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { version?: string; integrity?: string; link?: boolean }>>;
  };
  return Object.entries(lock.packages).flatMap(([folder, { version, integrity, link }]) => {
    const name = FOLDER.exec(folder)?.[1];
    if (name === undefined || link === true || !existsSync(join(root, folder, 'package.json'))) return [];
    if (version === undefined || integrity === undefined)
      throw new Error(`${folder} has no integrity in the lock file`);
    return [{ folder, name, version, integrity }];
  });
}

const LOADED = new Set(['.js', '.cjs', '.mjs', '.json', '.wasm']);
const LEGAL = /^(licen[sc]e|copying|notice|unlicense|copyright)/i;
/** Folders at the top of a package that only its developers use. */
const DEVELOPMENT = /^(\.[^/]*|tests?|__tests__|spec|examples?|bench(marks?)?|docs?|scripts|coverage|typings)\//;
const TEST = /\.(test|spec)\.[cm]?js$/;

export const isLegal = (path: string): boolean => LEGAL.test(basename(path)) && !LOADED.has(extname(path));

/** Returns true for a file of a package that the service may load, or that states rights. Types, tests, maps and pages are left out. */
export const isShipped = (path: string): boolean =>
  isLegal(path) || (LOADED.has(extname(path)) && !DEVELOPMENT.test(path) && !TEST.test(path));

/** The files of the packages with Node itself; the headers and manuals are left out. */
const NODE_FILES = ['bin/node', 'LICENSE', 'package.json'];

export const isNode = (name: string): boolean => name.startsWith('node-linux-');

/** Packages within a package are listed by the lock file themselves. */
const NESTED = /^node_modules\//;

/** Copies an installed package, unchanged but for the files that are left out. */
export function copyPackage(root: string, to: string, { folder, name }: LockedPackage): void {
  const installed = join(root, folder);
  const paths = isNode(name)
    ? NODE_FILES
    : listFiles(installed).filter((path) => !NESTED.test(path) && isShipped(path));
  for (const path of paths) copyFile(join(installed, path), join(to, folder, path));
}
