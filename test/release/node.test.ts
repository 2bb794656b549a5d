import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { sha256Of, sha512Of } from '../../scripts/release/node-binary.ts';
import { PLATFORMS, type Platform } from '../../scripts/release/tree.ts';
import { newLargeFolder, whyNoRelease } from '../fixtures/release.ts';
import { onlyLong } from '../scope.ts';

/**
 * The program of Node from two publishers who both take it from nodejs.org, and do not depend on each other: that of the npm packages
 * that a release contains, and that of Playwright on PyPI. A publisher who changed the program would be found by the other.
 */
const ROOT = join(import.meta.dirname, '..', '..');
/** A version of Node, and the version of Playwright on PyPI that contains it. Change both together. */
const SECOND = { node: '24.21.0', playwright: '1.63.0' };
/** The platforms of Python for which Playwright is published. */
const WHEELS: Readonly<Record<Platform, string>> = {
  'linux-x64': 'manylinux1_x86_64',
  'linux-arm64': 'manylinux_2_17_aarch64',
};
const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>;
};
const RELEASING = readFileSync(join(ROOT, 'docs', 'releasing.md'), 'utf8');
const skip = onlyLong || whyNoRelease() || whyNoPip();

function whyNoPip(): string | false {
  return spawnSync('python3', ['-m', 'pip', '--version']).status !== 0 && 'python3 with pip is not installed';
}

describe('the program of Node', { skip, timeout: 900_000 }, () => {
  const folder = skip === false ? newLargeFolder() : '';
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const platform of PLATFORMS)
    test(`for ${platform} has the same bytes from npm and from PyPI`, (context) => {
      const locked = lock.packages[`node_modules/node-${platform}`];
      assert.ok(locked);
      if (locked.version !== SECOND.node) {
        context.skip(`no version of Playwright with Node ${locked.version} is named here`);
        return;
      }
      const work = mkdtempSync(join(folder, `${platform}-`));
      const program = fetchFromPypi(platform, work);
      if (program === undefined) {
        context.skip(`PyPI does not serve Playwright ${SECOND.playwright} here`);
        return;
      }
      const digest = sha256Of(fetchFromNpm(platform, locked, work));
      assert.equal(sha256Of(program), digest);
      assert.ok(RELEASING.includes(`| \`${platform}\` | \`${digest}\` |`), 'docs/releasing.md names another digest');
    });
});

/** Fetches the package of the lock file by npm, compares it with its digest, and returns the path of the program in it. */
function fetchFromNpm(platform: Platform, { version, integrity }: { version: string; integrity: string }, to: string) {
  const args = ['pack', '--silent', `node-${platform}@${version}`];
  const archive = join(to, execFileSync('npm', args, { cwd: to, encoding: 'utf8' }).trim());
  assert.equal(createHash('sha512').update(readFileSync(archive)).digest('hex'), sha512Of(integrity));
  execFileSync('tar', ['-xzf', archive, '-C', to, 'package/bin/node']);
  return join(to, 'package', 'bin', 'node');
}

/** Returns the path of the program in the package of Playwright; undefined when pip does not get it. */
function fetchFromPypi(platform: Platform, to: string): string | undefined {
  const wheels = join(to, 'wheels');
  mkdirSync(wheels);
  const options = ['--no-deps', '--only-binary=:all:', '--platform', WHEELS[platform], '--dest', wheels];
  const args = ['-m', 'pip', 'download', '--quiet', ...options, `playwright==${SECOND.playwright}`];
  const [wheel] = spawnSync('python3', args).status === 0 ? globSync('*.whl', { cwd: wheels }) : [];
  if (wheel === undefined) return undefined;
  execFileSync('python3', ['-m', 'zipfile', '-e', join(wheels, wheel), wheels]);
  return join(wheels, 'playwright', 'driver', 'node');
}
