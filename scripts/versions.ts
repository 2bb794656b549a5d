/** Semantic versions, and the files that state the version of the project. */

const VERSION = /^([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9a-z][0-9a-z.-]*))?$/;

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** `dev` between two releases; undefined for a release. */
  readonly suffix: string | undefined;
}

/** Throws for a text that is no version. */
export function parseVersion(text: string): Version {
  const found = VERSION.exec(text);
  if (found === null) throw new Error('expected a version such as 0.2.0, or 0.3.0-dev');
  const [major, minor, patch] = found.slice(1, 4).map(Number) as [number, number, number];
  return { major, minor, patch, suffix: found[4] };
}

/** Negative when `one` is the older version. A version with a suffix is older than the release of the same numbers. */
export function compareVersions(one: string, other: string): number {
  const [a, b] = [parseVersion(one), parseVersion(other)];
  const numbers = a.major - b.major || a.minor - b.minor || a.patch - b.patch;
  if (numbers !== 0) return numbers;
  return Number(a.suffix === undefined) - Number(b.suffix === undefined);
}

/**
 * Throws unless `next` may follow `present`: a newer version that skips none. A release of the present numbers ends their
 * development.
 */
export function assertFollows(present: string, next: string): void {
  const [a, b] = [parseVersion(present), parseVersion(next)];
  if (compareVersions(present, next) >= 0) throw new Error(`${next} is not newer than ${present}`);
  const isSame = a.major === b.major && a.minor === b.minor && a.patch === b.patch;
  const isPatch = a.major === b.major && a.minor === b.minor && b.patch === a.patch + 1;
  const isMinor = a.major === b.major && b.minor === a.minor + 1 && b.patch === 0;
  const isMajor = b.major === a.major + 1 && b.minor === 0 && b.patch === 0;
  if (!isSame && !isPatch && !isMinor && !isMajor) throw new Error(`${next} skips versions after ${present}`);
}

/** The texts of the files that state the version, by path. */
export type VersionFiles = Readonly<Record<(typeof VERSION_FILES)[number], string>>;

export const VERSION_FILES = [
  'package.json',
  'sdk/package.json',
  'package-lock.json',
  'deploy/compose.yaml',
  'deploy/kubernetes/20-deployment.yaml',
] as const;

/**
 * Matches the version of the image in a file of `deploy/`. The image is the one that is built from the same state, also between two releases: a file may
 * set what the release before does not know.
 */
const IMAGE_VERSION = /(?<=\/cardvault:)[0-9a-z][0-9a-z.-]*/g;

const imageVersionOf = (text: string): string | undefined => text.match(IMAGE_VERSION)?.[0];
const withImageVersion = (text: string, version: string): string => text.replace(IMAGE_VERSION, version);

/** Returns each place that states the version, with what it states. The OpenAPI document takes it from package.json. */
export function listStated(files: VersionFiles): Record<string, unknown> {
  const lock = JSON.parse(files['package-lock.json']);
  return {
    'package.json': JSON.parse(files['package.json']).version,
    'sdk/package.json': JSON.parse(files['sdk/package.json']).version,
    'package-lock.json': lock.version,
    'package-lock.json packages[""]': lock.packages[''].version,
    'package-lock.json packages["sdk"]': lock.packages['sdk'].version,
    'deploy/compose.yaml': imageVersionOf(files['deploy/compose.yaml']),
    'deploy/kubernetes/20-deployment.yaml': imageVersionOf(files['deploy/kubernetes/20-deployment.yaml']),
  };
}

/** Returns the files with another version in all of these places. */
export function withVersion(files: VersionFiles, version: string): VersionFiles {
  const change = (text: string, apply: (document: ReturnType<typeof JSON.parse>) => void): string => {
    const document = JSON.parse(text);
    apply(document);
    return `${JSON.stringify(document, undefined, 2)}\n`;
  };
  const own = (document: { version: string }): void => {
    document.version = version;
  };
  return {
    'package.json': change(files['package.json'], own),
    'sdk/package.json': change(files['sdk/package.json'], own),
    'package-lock.json': change(files['package-lock.json'], (document) => {
      own(document);
      own(document.packages['']);
      own(document.packages['sdk']);
    }),
    'deploy/compose.yaml': withImageVersion(files['deploy/compose.yaml'], version),
    'deploy/kubernetes/20-deployment.yaml': withImageVersion(files['deploy/kubernetes/20-deployment.yaml'], version),
  };
}
