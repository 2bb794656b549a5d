import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openShareFile } from '../../src/crypto/custody/share-file.ts';
import { BIN, runCommand, withoutSettings } from '../fixtures/command.ts';
import { newCustodians, type TestCustodians } from '../fixtures/custodians.ts';
import { databaseSettings, dropDatabase } from '../fixtures/database.ts';
import { eventually } from '../fixtures/eventually.ts';
import { newDirectory, removeDirectory } from '../fixtures/service-process.ts';
import { onlyLong } from '../scope.ts';

const PORTS = ['PRODUCTION', 'SANDBOX', 'CONSOLE'].map((name) => [`CARDVAULT_${name}_PORT`, '0']);

/** Processes of their own: a node that is killed and unsealed again, a rotation, and what its memory contains. */
describe('a node of custodians over its life', { skip: onlyLong, timeout: 300_000 }, () => {
  let directory: string;
  let variables: Record<string, string>;
  let custodians: TestCustodians;
  let service: ChildProcess | undefined;
  let screen = '';
  before(async () => {
    directory = newDirectory();
    custodians = await newCustodians(directory, join(directory, 'shares'), ['Ana', 'Beto', 'Carla']);
    variables = {
      CARDVAULT_DATA_DIR: directory,
      CARDVAULT_HOST: '127.0.0.1',
      CARDVAULT_ROOT_KEY: 'custodians',
      ...Object.fromEntries(PORTS),
      ...(await databaseSettings(directory)),
      CARDVAULT_WORKERS: '2',
    };
  });
  after(async () => {
    service?.kill('SIGKILL');
    removeDirectory(directory);
    await dropDatabase(directory);
  });

  const must = async (...args: string[]) => {
    const result = await runCommand(args, variables);
    assert.equal(result.code, 0, result.stderr);
    return result;
  };
  const start = async (): Promise<void> => {
    screen = '';
    const env = { ...withoutSettings(process.env), ...variables };
    service = spawn(process.execPath, [BIN, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [service.stdout, service.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        screen += text;
      });
    await eventually(async () => screen.includes('vault sealed'), 60_000);
  };
  const unseal = async (...indexes: number[]): Promise<void> => {
    for (const index of indexes) await must('unseal', ...custodians.shareOptions(index));
    await eventually(async () => screen.includes('Stop with Ctrl-C'), 60_000);
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const ended = once(service as ChildProcess, 'close');
    service?.kill(signal);
    await ended;
    service = undefined;
  };

  test('holds no share in its memory once it is unsealed', async (t) => {
    await must(
      ...['keyring', 'ceremony', '--shares', '3', '--threshold', '2', '--out', join(directory, 'shares')],
      ...custodians.recipients,
    );
    await start();
    await must('unseal', ...custodians.shareOptions(1));
    const shares = await Promise.all([1, 2].map((index) => openTestShare(index)));
    const pid = findServicePid();
    if (pid === undefined || !canReadMemory(pid)) return t.skip('the memory of another process cannot be read here');
    const needles = shares.flatMap((share) => [share.subarray(0, 32), Buffer.from(share.toString('base64'))]);
    assert.deepEqual(countInMemory(pid, needles), [1, 0, 0, 0], 'the scan finds the one share that is held');
    await unseal(2);
    await eventually(async () => countInMemory(pid, needles).every((count) => count === 0), 30_000);
  });

  test('is sealed again after it was killed, and opens with other custodians', async () => {
    await end('SIGKILL');
    assert.ok(existsSync(join(directory, 'run', 'unseal.sock')), 'the socket of the killed process is still there');
    await start();
    assert.match((await runCommand(['account', 'list'], variables)).stderr, /the vault is sealed/);
    await unseal(3, 2);
    await must('account', 'list');
  });

  test('opens with the same shares after its root key was rotated', async () => {
    const before = (await must('keyring', 'custody', 'status', '--json')).json().key_check_value;
    await must('keyring', 'rotate', 'root');
    assert.notEqual((await must('keyring', 'custody', 'status', '--json')).json().key_check_value, before);
    await must('account', 'create', '--name', 'after the rotation');
    await end('SIGTERM');
    await start();
    await unseal(1, 3);
    assert.match((await must('account', 'list')).stdout, /after the rotation/);
    await must('audit', 'verify');
    await end('SIGTERM');
  });

  async function openTestShare(index: number): Promise<Buffer> {
    const [, path = ''] = custodians.shareOptions(index);
    const identities = [custodians.identities[index - 1] ?? ''];
    const { share } = await openShareFile(readFileSync(path, 'utf8'), { identities }, path);
    return Buffer.from(share);
  }

  /** The command starts the service in a process of its own. */
  function findServicePid(): number | undefined {
    const children = `/proc/${service?.pid}/task/${service?.pid}/children`;
    const [child] = existsSync(children) ? readFileSync(children, 'utf8').trim().split(' ') : [];
    return child ? Number(child) : service?.pid;
  }
});

function canReadMemory(pid: number): boolean {
  try {
    closeSync(openSync(`/proc/${pid}/mem`, 'r'));
    return true;
  } catch {
    return false;
  }
}

/** Counts each needle in the memory that the process may write to. */
function countInMemory(pid: number, needles: readonly Uint8Array[]): number[] {
  const counts = needles.map(() => 0);
  const handle = openSync(`/proc/${pid}/mem`, 'r');
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
      const [, from = '', to = ''] = /^([0-9a-f]+)-([0-9a-f]+) rw/.exec(line) ?? [];
      if (from === '') continue;
      const region = readRegion(handle, BigInt(`0x${from}`), Number(BigInt(`0x${to}`) - BigInt(`0x${from}`)));
      for (const [at, needle] of needles.entries()) counts[at] = (counts[at] ?? 0) + countIn(region, needle);
    }
  } finally {
    closeSync(handle);
  }
  return counts;
}

function readRegion(handle: number, from: bigint, size: number): Buffer {
  const region = Buffer.alloc(size);
  try {
    return region.subarray(0, readSync(handle, region, 0, size, from));
  } catch {
    // A region without pages.
    return Buffer.alloc(0);
  }
}

function countIn(region: Buffer, needle: Uint8Array): number {
  let count = 0;
  for (let at = region.indexOf(needle); at >= 0; at = region.indexOf(needle, at + 1)) count++;
  return count;
}
