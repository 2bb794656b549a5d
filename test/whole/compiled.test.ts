import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BIN, olderNode, withoutSettings } from '../fixtures/command.ts';

const KEPT = join(import.meta.dirname, '..', '..', 'node_modules', '.cache', 'cardvault-compiled');

const PROBE = `
  import { getCompileCacheDir } from 'node:module';
  process.stdout.write(getCompileCacheDir() ?? 'nowhere');
`;

describe('compiled sources', () => {
  let directory: string;
  let probe: string;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    probe = join(directory, 'probe.mjs');
    writeFileSync(probe, PROBE);
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  const folderOf = (node: string, variables: NodeJS.ProcessEnv): string => {
    const { NODE_COMPILE_CACHE: _own, ...env } = withoutSettings(process.env);
    const { stdout } = spawnSync(node, [BIN, '--run', probe], { env: { ...env, ...variables }, encoding: 'utf8' });
    return stdout;
  };

  const nodes: readonly [string, string | undefined][] = [
    ['the Node of the project', process.execPath],
    ['an older Node', olderNode()],
  ];
  for (const [name, node] of nodes) {
    const skip = node === undefined && 'this machine has no Node from 20 to 23';
    test(`are kept beside the packages when ${name} starts the command`, { skip }, () => {
      assert.ok(folderOf(node ?? '', {}).startsWith(KEPT));
    });

    test(`are kept in a folder of the operator, or not at all, by ${name}`, { skip }, () => {
      const other = join(directory, name);
      assert.ok(folderOf(node ?? '', { NODE_COMPILE_CACHE: other }).startsWith(other));
      assert.equal(readdirSync(other).length, 1);
      assert.equal(folderOf(node ?? '', { NODE_DISABLE_COMPILE_CACHE: '1' }), 'nowhere');
    });
  }

  test('are not needed: a folder that cannot be made stops nothing', () => {
    assert.equal(folderOf(process.execPath, { NODE_COMPILE_CACHE: join(probe, 'below') }), 'nowhere');
  });
});
