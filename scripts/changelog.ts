import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Commit, formatEntries, updateChangelog } from './changelog-entries.ts';
import { parseVersion } from './versions.ts';

/**
 * Updates the generated part of the section "Not released" of CHANGELOG.md from the commits since the last release.
 *
 *     npm run changelog -- [--since REVISION] [--release 0.2.0]
 *
 * Without `--since` the commits are those since the newest tag of a release. `--release` closes the section: it gets the
 * version and the date of the newest commit.
 */
const root = join(import.meta.dirname, '..');
const file = join(root, 'CHANGELOG.md');
const { values } = parseArgs({ options: { since: { type: 'string' }, release: { type: 'string' } } });
const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' });

/** Empty when there is none: then the section has its manually written part alone. */
const newestTag = (): string =>
  git('tag', '--list', 'v[0-9]*', '--merged', 'HEAD', '--sort=-version:refname').split('\n')[0] ?? '';

const FIELD = '\x1f';
const RECORD = '\x1e';

function listCommits(since: string): Commit[] {
  const text = git('log', '--reverse', `--format=%s${FIELD}%b${RECORD}`, `${since}..HEAD`);
  return text
    .split(RECORD)
    .map((record) => record.trim().split(FIELD))
    .filter(([subject]) => subject !== undefined && subject !== '')
    .map(([subject = '', body = '']) => ({ subject, body }));
}

const since = values.since ?? newestTag();
const generated = since === '' ? '' : formatEntries(listCommits(since));
const version = values.release;
if (version !== undefined && parseVersion(version).suffix !== undefined)
  throw new Error('--release: expected a version without a suffix');
const release = version === undefined ? undefined : { version, date: git('log', '-1', '--format=%cs').trim() };
writeFileSync(file, updateChangelog(readFileSync(file, 'utf8'), generated, release));
process.stdout.write(since === '' ? 'no release is tagged yet: nothing was generated\n' : `generated since ${since}\n`);
