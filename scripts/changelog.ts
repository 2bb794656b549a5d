import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Commit, formatEntries, listReplaced, updateChangelog } from './changelog-entries.ts';
import { findLastRelease } from './last-release.ts';
import { parseVersion } from './versions.ts';

/**
 * Updates the generated part of the section "Not released" of CHANGELOG.md from the commits since the last release.
 *
 *     npm run changelog -- [--since REVISION] [--release 0.2.0]
 *
 * Without `--since` the commits are those since the newest release, by its tag or its commit; without a release nothing is
 * changed. `--release` closes the section: it gets the version and the date of the newest commit.
 */
const root = join(import.meta.dirname, '..');
const file = join(root, 'CHANGELOG.md');
const { values } = parseArgs({ options: { since: { type: 'string' }, release: { type: 'string' } } });
const git = (...args: readonly string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' });

const FIELD = '\x1f';
const RECORD = '\x1e';

function listCommits(since: string, except: readonly string[]): Commit[] {
  const text = git('log', '--reverse', `--format=%H${FIELD}%s${FIELD}%b${RECORD}`, `${since}..HEAD`);
  return text
    .split(RECORD)
    .map((record) => record.trim().split(FIELD))
    .filter(([hash = '']) => hash !== '' && !except.some((beginning) => hash.startsWith(beginning)))
    .map(([, subject = '', body = '']) => ({ subject, body }));
}

const since = values.since ?? findLastRelease(root);
const changelog = readFileSync(file, 'utf8');
const generated = formatEntries(listCommits(since, listReplaced(changelog)));
const version = values.release;
if (version !== undefined && parseVersion(version).suffix !== undefined)
  throw new Error('--release: expected a version without a suffix');
const release = version === undefined ? undefined : { version, date: git('log', '-1', '--format=%cs').trim() };
writeFileSync(file, updateChangelog(changelog, generated, release));
process.stdout.write(`generated since ${since}\n`);
