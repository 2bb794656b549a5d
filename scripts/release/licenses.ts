import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isLegal, type LockedPackage } from './packages.ts';
import { listFiles } from './run.ts';

/** Where a package is in the release, and the checkout that has all of its files. */
export interface LicensedPackage extends LockedPackage {
  readonly part: 'service' | 'console';
  readonly installed: string;
}

const LINE = '='.repeat(80);

/** Returns the text of `LICENSES.txt`: the license of each package, with the texts that its authors publish. */
export function formatLicenses(packages: readonly LicensedPackage[]): string {
  const introduction = [
    'cardvault is under the Apache License 2.0; its text is in the file LICENSE.',
    '',
    'This release contains the packages below. Those of the service are in node_modules; code of those of the console is',
    'in console/web/dist. The license of Node also states those of the libraries inside it.',
  ];
  return `${[...introduction, ...packages.map(describe)].join('\n')}\n`;
}

function describe({ name, version, part, installed }: LicensedPackage): string {
  const { license, author } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    license?: unknown;
    author?: unknown;
  };
  if (typeof license !== 'string') throw new Error(`${name} names no license in its package.json`);
  const texts = readTexts(installed);
  const without = `The package contains no text of its license. Its author: ${nameOf(author)}.`;
  return ['', LINE, `${name} ${version} (${part})`, `License: ${license}`, LINE, '', ...(texts ?? [without])].join(
    '\n',
  );
}

const nameOf = (author: unknown): string =>
  typeof author === 'string' ? author : ((author as { name?: string } | undefined)?.name ?? 'not named');

const LICENSE_HEADING = /^#+\s*(?:[\w. ]*\b)?licen[sc]e\b/im;

/** Returns the files with rights, or else the part about the license of the page README. */
function readTexts(installed: string): string[] | undefined {
  const top = listFiles(installed).filter((path) => !path.includes('/'));
  const files = top.filter(isLegal);
  if (files.length > 0) return files.map((path) => readFileSync(join(installed, path), 'utf8').trim());
  const readme = top.find((path) => /^readme/i.test(path));
  const page = readme === undefined ? '' : readFileSync(join(installed, readme), 'utf8');
  const start = page.search(LICENSE_HEADING);
  return start < 0 ? undefined : [page.slice(start).trim()];
}
