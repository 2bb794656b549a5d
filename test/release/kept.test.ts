import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { listFiles } from '../../scripts/release/run.ts';
import { whyNoCommit } from '../fixtures/release.ts';
import { isKept, listFinalReleases, PROGRAM, readCommit, unpackSources } from '../upgrade/releases.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const MAX_BYTES = 256 * 1024 * 1024;

describe('the sources kept of a release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));

  for (const release of listFinalReleases())
    test(`are those of the commit of ${release}`, { skip: whyNoCommit(readCommit(release)) }, () => {
      const [kept, committed] = [join(folder, release, 'kept'), join(folder, release, 'committed')];
      unpackSources(release, kept);
      unpackCommit(readCommit(release), committed);
      const paths = listFiles(kept);
      assert.ok(paths.length > 500);
      assert.deepEqual(paths, listFiles(committed).filter(isKept));
      for (const path of paths)
        assert.ok(readFileSync(join(kept, path)).equals(readFileSync(join(committed, path))), path);
      assert.equal(JSON.parse(readFileSync(join(kept, 'package.json'), 'utf8')).version, release);
    });
});

/** Writes the parts of a commit of which a release keeps files. */
function unpackCommit(commit: string, folder: string): void {
  const git = (...args: string[]): Buffer => execFileSync('git', args, { cwd: ROOT, maxBuffer: MAX_BYTES });
  const top = git('ls-tree', '-z', '--name-only', commit).toString('utf8').split('\0');
  const input = git('archive', commit, ...PROGRAM.filter((part) => top.includes(part)));
  mkdirSync(folder, { recursive: true });
  execFileSync('tar', ['-xf', '-', '-C', folder], { input });
}
