import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyFile, outputOf } from './run.ts';

/** The checkout that a release is made from. */
export interface Source {
  readonly root: string;
  readonly version: string;
  /** The commit, 40 hexadecimal digits. */
  readonly commit: string;
  /** True when the files differ from the commit. */
  readonly hasChanges: boolean;
  /** The time of all files of the release, in seconds since 1970. */
  readonly seconds: number;
}

const git = (root: string, ...args: readonly string[]): string => outputOf(root, 'git', args).trim();

/**
 * Describes the checkout in `root`. `epoch` is the value of SOURCE_DATE_EPOCH, in seconds; without it the time of the commit counts.
 */
export function describeSource(root: string, epoch: string | undefined): Source {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  if (epoch !== undefined && !/^[0-9]{1,11}$/.test(epoch))
    throw new Error('SOURCE_DATE_EPOCH: expected seconds since 1970');
  return {
    root,
    version,
    commit: git(root, 'rev-parse', 'HEAD'),
    hasChanges: git(root, 'status', '--porcelain') !== '',
    seconds: Number(epoch ?? git(root, 'log', '-1', '--format=%ct')),
  };
}

/** Returns the paths of the files under version control: no other file of the checkout can reach a release. */
export const listTracked = ({ root }: Source): string[] =>
  outputOf(root, 'git', ['ls-files', '-z'])
    .split('\0')
    .filter((path) => path !== '')
    .sort();

/** Copies the files under version control. */
export function copySource(source: Source, folder: string): void {
  for (const path of listTracked(source)) copyFile(join(source.root, path), join(folder, path));
}
