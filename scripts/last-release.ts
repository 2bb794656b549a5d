import { execFileSync } from 'node:child_process';
import { compareVersions, parseVersion } from './versions.ts';

/** The subject of the commit that is a release. A copy of the repository may lack tags, and never lacks commits. */
const RELEASE = /^chore\(release\): ([0-9.]+)$/;

/** Returns the revision of the newest release before HEAD: its tag, or its commit. Throws when neither is there. */
export function findLastRelease(folder: string): string {
  const list = (...args: readonly string[]): string[] =>
    execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).split('\n');
  const tags = list('tag', '--list', 'v[0-9]*', '--merged', 'HEAD').map((tag) => ({
    revision: tag,
    version: tag.slice(1),
  }));
  const commits = list('log', '--format=%H %s').map((line) => {
    const [revision = '', ...subject] = line.split(' ');
    return { revision, version: RELEASE.exec(subject.join(' '))?.[1] ?? '' };
  });
  const releases = [...tags, ...commits].filter(({ version }) => isRelease(version));
  const [newest] = releases.sort((one, other) => compareVersions(other.version, one.version));
  if (newest === undefined)
    throw new Error(
      'no release before HEAD: neither a tag such as v0.1.0 nor a commit with the subject "chore(release): 0.1.0" is in ' +
        'this repository; fetch its history (git fetch --tags, --unshallow), or name the release by --since',
    );
  return newest.revision;
}

function isRelease(version: string): boolean {
  try {
    return parseVersion(version).suffix === undefined;
  } catch {
    return false;
  }
}
