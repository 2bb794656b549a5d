import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type Commit, formatEntries, updateChangelog } from '../scripts/changelog-entries.ts';
import { assertFollows, compareVersions, listStated, VERSION_FILES, withVersion } from '../scripts/versions.ts';
import { ENDPOINTS } from '../src/http/endpoints.ts';
import { buildOpenApi } from '../src/http/openapi.ts';
import { VERSION } from '../src/version.ts';

const root = join(import.meta.dirname, '..');
const files = Object.fromEntries(
  VERSION_FILES.map((path) => [path, readFileSync(join(root, path), 'utf8')]),
) as Parameters<typeof listStated>[0];

describe('the version', () => {
  test('is the same in the service, the client, the lock, the images of deploy/ and the OpenAPI document', () => {
    const { info } = buildOpenApi(ENDPOINTS, VERSION, () => 'https://localhost');
    const stated = { ...listStated(files), service: VERSION, openapi: info.version };
    for (const [place, version] of Object.entries(stated)) assert.equal(version, VERSION, place);
  });

  test('is changed in every place, and nothing else is', () => {
    const next = withVersion(files, '7.8.9');
    for (const version of Object.values(listStated(next))) assert.equal(version, '7.8.9');
    assert.deepEqual(withVersion(next, VERSION), files);
  });

  test('is followed by the next one', () => {
    for (const [present, next] of [
      ['0.1.0', '0.1.1'],
      ['0.1.0', '0.2.0-dev'],
      ['0.2.0-dev', '0.2.0'],
      ['0.2.3', '0.3.0'],
      ['0.9.1', '1.0.0'],
    ] as const) {
      assertFollows(present, next);
      assert.ok(compareVersions(present, next) < 0);
      assert.throws(() => assertFollows(next, present), /is not newer than/);
    }
    for (const next of ['0.1.2', '0.3.0', '0.2.1', '2.0.0', '1.1.0'])
      assert.throws(() => assertFollows('0.1.0', next), /skips versions after 0\.1\.0/);
    for (const text of ['1', '1.2', 'v1.2.3', '1.2.3+build', '01.2']) assert.throws(() => assertFollows('0.1.0', text));
  });
});

const commit = (subject: string, body = ''): Commit => ({ subject, body });

describe('the generated part of the changelog', () => {
  test('has a line for each change that concerns users, in groups, once', () => {
    const entries = formatEntries([
      commit('fix(payments): keep the amount of a refund'),
      commit('feat(vault): list tokens by tag'),
      commit('feat(vault): list tokens by tag'),
      commit('docs: explain tags'),
      commit('fix(test): wait longer'),
      commit('perf(storage): append rows'),
      commit('feat(cli): rename a command', 'Changelog: `audit check` replaces `audit test`.'),
      commit('fix(cli): an unfinished command', 'Changelog: none'),
      commit('test: more', 'Changelog: none'),
      commit('Merge branch'),
    ]);
    assert.equal(
      entries,
      '**Added**\n\n- List tokens by tag.\n- `audit check` replaces `audit test`.\n\n' +
        '**Changed**\n\n- Append rows.\n\n**Fixed**\n\n- Keep the amount of a refund.\n',
    );
    assert.equal(formatEntries([]), '');
  });

  test('begins with what an operator has to know before an upgrade', () => {
    const entries = formatEntries([
      commit('refactor(config)!: remove CARDVAULT_OLD'),
      commit(
        'feat(keys): rotate',
        'Why.\n\nBREAKING CHANGE: nodes of 0.1.0 cannot run\nbeside this version\nReviewed-by: A',
      ),
    ]);
    assert.equal(
      entries,
      '**Before you upgrade**\n\n- Remove CARDVAULT_OLD.\n- Nodes of 0.1.0 cannot run beside this version.\n\n**Added**\n\n- Rotate.\n',
    );
  });

  const HEAD =
    '# Changelog\n\n## Not released\n\nA manual line.\n\n**Added**\n\n- Manual.\n\n## 0.1.0 - 2026-11-26\n\nThe first.\n';

  test('follows the manually written part, and is replaced when it is generated again', () => {
    const once = updateChangelog(HEAD, '**Fixed**\n\n- One.\n');
    assert.match(
      once,
      /- Manual\.\n\n<!-- generated [\s\S]*- One\.\n\n<!-- end -->\n\n## 0\.1\.0 - 2026-11-26\n\nThe first\.\n$/,
    );
    const twice = updateChangelog(once, '**Fixed**\n\n- Two.\n');
    assert.equal(twice, once.replace('One', 'Two'));
    assert.equal(updateChangelog(twice, ''), HEAD);
  });

  test('becomes a release with a date, after an empty section', () => {
    const released = updateChangelog(HEAD, '**Fixed**\n\n- One.\n', { version: '0.2.0', date: '2027-01-31' });
    assert.equal(
      released,
      '# Changelog\n\n## Not released\n\n## 0.2.0 - 2027-01-31\n\nA manual line.\n\n**Added**\n\n- Manual.\n\n' +
        '**Fixed**\n\n- One.\n\n## 0.1.0 - 2026-11-26\n\nThe first.\n',
    );
    assert.throws(() => updateChangelog('# Changelog\n', ''), /has no section "## Not released"/);
  });
});

describe('npm run changelog', () => {
  const HEAD =
    '# Changelog\n\n## Not released\n\n<!-- generated by npm run changelog -->\n\n- Before.\n\n<!-- end -->\n';

  /** Returns a repository with a changelog and the script, and a commit for each subject. */
  function newRepository(t: TestContext, ...subjects: readonly string[]) {
    const folder = mkdtempSync(join(tmpdir(), 'cardvault-changelog-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const git = (...args: readonly string[]) =>
      execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=test@example.com', ...args], { cwd: folder });
    const commitAll = (...added: readonly string[]) => {
      for (const subject of added) git('commit', '--quiet', '--allow-empty', '-m', subject);
    };
    const write = (changelog: string) => writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
    cpSync(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    git('init', '--quiet');
    commitAll(...subjects);
    write(HEAD);
    const run = (...args: readonly string[]) =>
      spawnSync(process.execPath, [join(folder, 'scripts', 'changelog.ts'), ...args], { encoding: 'utf8' });
    return { git, commitAll, run, write, read: () => readFileSync(join(folder, 'CHANGELOG.md'), 'utf8') };
  }

  test('lists the commits since the newest release, by its tag or by its commit', (t) => {
    const { git, commitAll, run, read } = newRepository(
      t,
      'fix: before',
      'chore(release): 0.9.0',
      'fix: between',
      'chore(release): 0.10.0',
      'chore(release): begin 0.11.0',
      'fix: after',
    );
    assert.equal(run().status, 0);
    assert.deepEqual(read().match(/^- .*$/gm), ['- After.']);
    git('tag', 'v0.9.0', 'HEAD~4');
    assert.equal(run().status, 0);
    assert.deepEqual(read().match(/^- .*$/gm), ['- After.'], 'the tag of a release before the newest commit of one');
    commitAll('docs: the release notes');
    git('tag', 'v0.11.0');
    commitAll('fix: last');
    assert.equal(run().status, 0);
    assert.deepEqual(read().match(/^- .*$/gm), ['- Last.']);
    assert.equal(run('--since', 'HEAD~2').status, 0);
    assert.deepEqual(read().match(/^- .*$/gm), ['- Last.']);
  });

  test('leaves out commits that a manually written line replaces', (t) => {
    const { git, run, write, read } = newRepository(t, 'chore(release): 0.1.0', 'fix: unclear', 'fix: clear');
    const hash = git('rev-parse', '--short=8', 'HEAD~1').toString().trim();
    const section = `## Not released\n\n- Written. <!-- replaces 00000000, ${hash} -->\n`;
    write(HEAD.replace('## Not released\n', section));
    assert.equal(run().status, 0);
    assert.deepEqual(read().match(/^- .*$/gm), [`- Written. <!-- replaces 00000000, ${hash} -->`, '- Clear.']);
    assert.equal(run('--release', '0.2.0').status, 0);
    assert.deepEqual(read().match(/^- .*$/gm), ['- Written.', '- Clear.'], 'comments are no part of a release');
  });

  test('changes nothing without a release, and says what is missing', (t) => {
    const { run, read } = newRepository(t, 'feat: first', 'chore(release): begin 0.1.0');
    const { status, stderr } = run();
    assert.equal(status, 1);
    assert.match(stderr, /no release before HEAD: neither a tag such as v0\.1\.0 nor a commit .* by --since/);
    assert.equal(read(), HEAD);
  });
});

test('the changelog has a section for what is not released, or for this release', () => {
  const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8');
  assert.ok(changelog.includes('\n## Not released\n') || changelog.includes(`\n## ${VERSION} - `));
});
