import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BIN, olderNode, withoutSettings } from '../fixtures/command.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** A shell that allows core dumps and then becomes its arguments. */
const ALLOWING = ['-c', 'ulimit -S -c unlimited && exec "$0" "$@"'];

const cannotAllow =
  process.platform !== 'linux'
    ? 'this is no Linux'
    : spawnSync('/bin/sh', [...ALLOWING, 'true']).status !== 0 && 'this machine permanently forbids core dumps';

/** Writes what is asked for of the process that runs `src/main.ts`, before that does anything. */
const PRELOAD = `
  import { readFileSync, writeFileSync } from 'node:fs';
  if (process.argv[1]?.endsWith('main.ts')) {
    const [, soft, hard] = /^Max core file size +(\\S+) +(\\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    writeFileSync(process.env.SEEN, JSON.stringify({ soft, hard, pid: process.pid, execArgv: process.execArgv, args: process.argv.slice(2) }));
    if (process.env.WAIT) {
      setInterval(() => undefined, 1000);
      process.on('SIGTERM', () => process.exit(7));
      process.stdout.write('waits');
      await new Promise(() => undefined);
    }
  }
`;

describe('core dumps', { skip: cannotAllow }, () => {
  let directory: string;
  let seen: string;
  let env: NodeJS.ProcessEnv;
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    seen = join(directory, 'seen.json');
    const preload = join(directory, 'preload.mjs');
    writeFileSync(preload, PRELOAD);
    env = { ...withoutSettings(process.env), SEEN: seen, NODE_OPTIONS: `--import=${preload}` };
  });
  after(() => rmSync(directory, { recursive: true, force: true }));
  const seenBy = () => JSON.parse(readFileSync(seen, 'utf8'));

  const nodes: readonly [string, string | undefined][] = [
    ['the Node of the project', process.execPath],
    ['an older Node', olderNode()],
  ];
  for (const [name, node] of nodes) {
    const skip = node === undefined && 'this machine has no Node from 20 to 23';
    test(`are disabled for a command that ${name} starts, which keeps its arguments and exit code`, {
      skip,
    }, () => {
      const args = ['account', 'show', "it's $HOME", '--json'];
      const { status, stderr } = spawnSync('/bin/sh', [...ALLOWING, node ?? '', BIN, ...args], {
        env: { ...env, CARDVAULT_DATA_DIR: join(directory, 'none') },
        encoding: 'utf8',
      });
      const { soft, hard, args: received } = seenBy();
      assert.deepEqual({ soft, hard, received }, { soft: '0', hard: '0', received: args });
      assert.equal(status, 2);
      assert.match(JSON.parse(stderr).error, /^there is no vault/);
    });

    for (const [limit, options] of [
      ['that allows core dumps', ALLOWING],
      ['that forbids them', ['-c', 'ulimit -c 0 && exec "$0" "$@"']],
    ] as const)
      test(`a service that ${name} starts in a shell ${limit} has the young generation of the product`, {
        skip,
      }, () => {
        // A setting that is refused ends the process.
        const variables = { ...env, CARDVAULT_DATA_DIR: directory, CARDVAULT_WORKERS: 'none' };
        spawnSync('/bin/sh', [...options, node ?? '', BIN, 'serve'], { env: variables });
        const { soft, args, execArgv } = seenBy();
        assert.deepEqual({ soft, args }, { soft: '0', args: ['serve'] });
        assert.deepEqual(
          execArgv.filter((option: string) => option.includes('semi-space')),
          ['--max-semi-space-size=16'],
        );
      });
  }

  test('are disabled without a second process, so that signals and exit codes are those of the service', async () => {
    const child = spawn('/bin/sh', [...ALLOWING, process.execPath, BIN, 'account', 'list'], {
      env: { ...env, WAIT: '1', CARDVAULT_DATA_DIR: join(directory, 'none') },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [first] = await once(child.stdout, 'data');
    assert.equal(String(first), 'waits');
    assert.equal(seenBy().pid, child.pid);
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'close'), [7, null]);
  });

  test('are disabled by npm start', () => {
    const commands = join(directory, 'commands');
    mkdirSync(commands);
    const stub = join(commands, 'node');
    writeFileSync(stub, '#!/bin/sh\nulimit -S -c; ulimit -H -c; echo "$@"\n');
    chmodSync(stub, 0o755);
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const { stdout } = spawnSync('/bin/sh', [...ALLOWING, '/bin/sh', '-c', scripts.start], {
      cwd: ROOT,
      env: { ...env, PATH: `${commands}:${env['PATH']}` },
      encoding: 'utf8',
    });
    assert.match(stdout, /0\n0\nbin\/cardvault\.mjs serve\n$/);
  });
});
