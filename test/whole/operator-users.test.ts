import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { BIN, withoutSettings } from '../fixtures/command.ts';

/** Numbers without names: the test creates no users. */
const SERVICE = 61_001;
const COLLEAGUE = 61_002;
const STRANGER = 61_003;
const GROUP = 62_000;

/** The arguments that run Node as this user, in the group or not. */
const nodeAs = (user: number): string[] => [
  `--reuid=${user}`,
  `--regid=${user}`,
  user === STRANGER ? '--clear-groups' : `--groups=${GROUP}`,
  process.execPath,
];

/** Gives a user what this run has compiled so far, in a folder whose name ends in the number of its user. */
function giveCompiled(folder: string, user: number): void {
  const own = process.env['NODE_COMPILE_CACHE'] ?? '';
  for (const name of existsSync(own) ? readdirSync(own) : []) {
    const given = join(folder, name.replace(/-0$/, `-${user}`));
    cpSync(join(own, name), given, { recursive: true });
    for (const path of [given, ...readdirSync(given).map((each) => join(given, each))]) chownSync(path, user, user);
  }
}

const reaches = (): boolean =>
  spawnSync('setpriv', [...nodeAs(COLLEAGUE), BIN, '--version'], { env: withoutSettings(process.env) }).status === 0;

const skip =
  process.geteuid?.() !== 0
    ? 'only root can run commands as other users'
    : !reaches() && 'other users of this machine cannot run the project';

describe('users of a group, which may read the root key', { skip }, () => {
  let directory: string;
  /** Users cannot read that of the run. */
  let compileCache: string;
  let service: ChildProcess | undefined;
  /** The account that the colleague created beside the running service. */
  let beside = '';
  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    chownSync(directory, SERVICE, SERVICE);
    compileCache = mkdtempSync(join(tmpdir(), 'cardvault-test-'));
    chmodSync(compileCache, 0o777);
    for (const user of [SERVICE, COLLEAGUE]) giveCompiled(compileCache, user);
  });
  after(() => {
    service?.kill('SIGKILL');
    for (const each of [directory, compileCache]) rmSync(each, { recursive: true, force: true });
  });

  const environment = () => ({
    ...withoutSettings(process.env),
    NODE_COMPILE_CACHE: compileCache,
    CARDVAULT_DATA_DIR: directory,
    CARDVAULT_ROOT_KEY_GROUP: String(GROUP),
    CARDVAULT_HOST: '127.0.0.1',
    CARDVAULT_PRODUCTION_PORT: '0',
    CARDVAULT_SANDBOX_PORT: '0',
    CARDVAULT_CONSOLE_PORT: '0',
    CARDVAULT_CAPTURE_PORT: '0',
  });
  const run = (user: number, ...args: string[]) => {
    const options = { env: environment(), encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync('setpriv', [...nodeAs(user), BIN, ...args, '--json'], options);
    return { status, stderr, json: status === 0 ? JSON.parse(stdout) : undefined };
  };
  const access = (name: string): (string | number)[] => {
    const { mode, uid, gid } = statSync(join(directory, name));
    return [(mode & 0o7777).toString(8), uid, gid];
  };

  test('run commands while the service of another user runs, and are audited with their own names', async () => {
    service = spawn('setpriv', [...nodeAs(SERVICE), BIN, 'serve'], {
      env: environment(),
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [screen] = await once(service.stdout as NonNullable<typeof service.stdout>, 'data');
    assert.match(String(screen), /cardvault is running/);
    const parts = readdirSync(directory).filter((name) => name.startsWith('cardvault.db'));
    assert.deepEqual(parts.sort(), ['cardvault.db', 'cardvault.db-shm', 'cardvault.db-wal']);
    for (const name of parts) assert.deepEqual(access(name), ['660', SERVICE, GROUP], name);
    assert.deepEqual(access('root.key'), ['640', SERVICE, GROUP]);
    assert.deepEqual(access('.'), ['2770', SERVICE, GROUP]);
    assert.equal(access('tls')[0], '2700', 'keys of the listeners stay with the user of the service');

    const created = run(COLLEAGUE, 'account', 'create', '--name', 'A');
    assert.equal(created.status, 0, created.stderr);
    assert.deepEqual(created.json.recorded_operator, {
      id: `uid:${COLLEAGUE}`,
      name: `uid:${COLLEAGUE}`,
      source: 'os-user',
    });
    beside = created.json.id;
  });

  test('that are not members cannot run commands', () => {
    const refused = run(STRANGER, 'account', 'list');
    assert.notEqual(refused.status, 0);
  });

  test('run commands while no service runs, and the owner can still open the database', async () => {
    service?.kill('SIGTERM');
    if (service !== undefined) await once(service, 'close');
    const created = run(COLLEAGUE, 'account', 'create', '--name', 'B');
    assert.equal(created.status, 0, created.stderr);
    const ids = run(SERVICE, 'account', 'list').json.map(({ id }: { id: string }) => id);
    for (const id of [beside, created.json.id]) assert.ok(ids.includes(id), id);
    assert.deepEqual(access('cardvault.db'), ['660', SERVICE, GROUP]);
  });

  test('do not open a database through a symbolic link in its place', () => {
    const link = join(directory, 'cardvault.db-wal');
    const target = join(directory, 'target');
    writeFileSync(target, '', { mode: 0o600 });
    chownSync(target, SERVICE, SERVICE);
    symlinkSync(target, link);
    assert.match(run(SERVICE, 'account', 'list').stderr, /cardvault\.db-wal cannot be given to the group .*ELOOP/);
    assert.deepEqual(access('target'), ['600', SERVICE, SERVICE]);
    unlinkSync(link);
  });
});
