import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually } from './fixtures/eventually.ts';
import { apt, onPath } from './receivers/install.ts';
import { onlyLong } from './scope.ts';

/**
 * The container image: built from a release and from packages of Debian, and started by a runtime for containers with a
 * root file system that cannot be written. TEST_RELEASE names an archive of a release; without it one is built.
 */
const ROOT = join(import.meta.dirname, '..');
const PROGRAMS = ['buildah', 'crun', 'mmdebstrap', 'strip', 'unshare'];
const PACKAGES = ['buildah', 'crun', 'mmdebstrap', 'binutils', 'util-linux'];
const WITHIN_MS = 1_500_000;
const USER = 65532;
/** Bytes of all files of the image. */
const MOST_BYTES = 150_000_000;
const SHELLS = /^(sh|bash|dash|ash|zsh|ksh|busybox|toybox|env|perl|python[0-9.]*|awk|curl|wget|nc)$/;

function findReason(): string | false {
  if (onlyLong !== false) return onlyLong;
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs root on Linux';
  const isMissing = (): string[] => PROGRAMS.filter((program) => !onPath(program));
  if (isMissing().length > 0 && onPath('apt-get')) {
    const until = performance.now() + WITHIN_MS;
    if (apt(['update'], until)) apt(['install', '-y', '--no-install-recommends', ...PACKAGES], until);
  }
  const missing = isMissing();
  return missing.length > 0 && `no ${missing.join(', ')}`;
}

/** An answer of the service, or undefined while there is none. */
function get(
  port: number,
  path: string,
  options: { ca: Buffer; key?: string; body?: string },
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const method = options.body === undefined ? 'GET' : 'POST';
    const headers = { 'x-api-key': options.key ?? '', 'content-type': 'application/json' };
    const call = request(
      { host: 'localhost', port, path, method, headers, ca: options.ca, agent: false },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    call.on('error', reject);
    call.end(options.body);
  });
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

describe('the container image', { skip: findReason(), timeout: WITHIN_MS }, () => {
  let folder: string;
  let layer: string;
  let environment: NodeJS.ProcessEnv;
  let archive: string;
  let rootfs: string;
  let config: { Entrypoint: string[]; Cmd: string[]; Env: string[]; User: string; Healthcheck: { Test: string[] } };
  /** `/sys/fs/cgroup` as the runtime needs it, in a space of its own. */
  const alone = ['unshare', '--mount', 'sh', '-c', 'mount -t cgroup2 none /sys/fs/cgroup && exec "$@"', 'sh'];
  const buildah = (...args: string[]): string =>
    execFileSync('buildah', args, { env: environment, encoding: 'utf8' }).trim();
  const build = (name: string): string =>
    execFileSync('sh', [join(ROOT, 'deploy', 'container', 'build.sh'), archive, name], {
      env: environment,
      encoding: 'utf8',
    })
      .trim()
      .split(' ')
      .at(-1) ?? '';
  const crun = (...args: string[]): string[] => [
    ...alone,
    'crun',
    '--root',
    join(folder, 'crun'),
    '--cgroup-manager=disabled',
    ...args,
  ];
  const run = ([program = '', ...args]: string[]) => spawnSync(program, args, { encoding: 'utf8' });
  const exec = (...args: string[]) => run(crun('exec', '--user', `${USER}:${USER}`, 'vault', ...args));

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'cardvault-container-'));
    const storage = join(folder, 'storage.conf');
    const places = `graphroot = "${join(folder, 'graph')}"\nrunroot = "${join(folder, 'run')}"\n`;
    writeFileSync(storage, `[storage]\ndriver = "vfs"\n${places}`);
    environment = { ...process.env, CONTAINERS_STORAGE_CONF: storage, TMPDIR: folder };
    archive = process.env['TEST_RELEASE'] ?? '';
    if (archive === '') {
      const script = join(ROOT, 'scripts', 'release.ts');
      execFileSync(process.execPath, [script, '--out', folder, '--allow-changes'], { cwd: ROOT, stdio: 'pipe' });
      archive = join(folder, globSync('cardvault-*.tgz', { cwd: folder })[0] ?? '');
    }
    layer = build('localhost/cardvault:test');
    const container = buildah('from', '--name', 'mounted', 'localhost/cardvault:test');
    rootfs = buildah('mount', container);
    config = JSON.parse(buildah('inspect', '--type', 'image', 'localhost/cardvault:test')).Docker.config;
  });
  after(() => {
    if (rootfs !== undefined) buildah('umount', 'mounted');
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  const filesOf = (place: string): string[] =>
    readdirSync(place, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() || entry.isSymbolicLink())
      .map((entry) => join(entry.parentPath, entry.name));

  test('has less than 150 MB', (context) => {
    const bytes = filesOf(rootfs)
      .map((path) => statSync(path, { throwIfNoEntry: false })?.size ?? 0)
      .reduce((sum, size) => sum + size, 0);
    context.diagnostic(`${(bytes / 1e6).toFixed(1)} MB`);
    assert.ok(bytes < MOST_BYTES, String(bytes));
  });

  test('has no shell, no package manager and no file with rights of another user', () => {
    const files = filesOf(rootfs);
    assert.deepEqual(
      files
        .filter((path) => SHELLS.test(basename(path)) || /\/(apt|dpkg|npm)(-[a-z]+)?$/.test(path))
        .filter((path) => !path.includes('/node_modules/')),
      [],
    );
    assert.deepEqual(readdirSync(join(rootfs, 'usr', 'bin')).sort(), ['cardvault', 'node', 'prlimit']);
    assert.deepEqual(
      files.filter((path) => (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o6022),
      [],
    );
  });

  test('loads the same bytes of Node as the release', () => {
    const unpacked = join(folder, 'unpacked');
    mkdirSync(unpacked);
    execFileSync('tar', ['-xzf', archive, '-C', unpacked, '--wildcards', '*/bin/node']);
    const [released = ''] = globSync('*/node_modules/node-linux-*/bin/node', { cwd: unpacked });
    const [stripped = ''] = globSync('opt/cardvault/node_modules/node-linux-*/bin/node', { cwd: rootfs });
    assert.equal(loadedOf(join(rootfs, stripped)), loadedOf(join(unpacked, released)));
    rmSync(unpacked, { recursive: true });
  });

  test('names what scanners of vulnerabilities read', () => {
    const folderOfPackages = join(rootfs, 'var', 'lib', 'dpkg', 'status.d');
    for (const name of ['libc6', 'libstdc++6', 'libgcc-s1', 'util-linux']) {
      const text = readFileSync(join(folderOfPackages, name), 'utf8');
      assert.match(text, new RegExp(`^Package: ${name.replaceAll('+', '\\+')}$`, 'm'));
      assert.match(text, /^Version: \S+$/m);
      assert.ok(existsSync(join(rootfs, 'usr', 'share', 'doc', name, 'copyright')));
    }
    assert.ok(existsSync(join(rootfs, 'opt', 'cardvault', 'sbom.cdx.json')));
  });

  test('has the same layer when it is built again', () => {
    assert.equal(build('localhost/cardvault:again'), layer);
  });

  test('is served without root, rights and a file system that can be written', async () => {
    const data = join(folder, 'data');
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, USER, USER);
    const secrets = join(folder, 'secrets');
    mkdirSync(secrets);
    // A root key as Kubernetes mounts it: it belongs to root, and the group of the pod may read it.
    const rootKey = join(secrets, 'root.key');
    writeFileSync(rootKey, `${createHash('sha256').update('a key of this test').digest('hex')}\n`, { mode: 0o440 });
    chownSync(rootKey, 0, USER);
    const [production, sandbox, console_, cards] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    const variables = [
      'CARDVAULT_HOST=127.0.0.1',
      'CARDVAULT_ROOT_KEY_FILE=/etc/cardvault/secrets/root.key',
      `CARDVAULT_ROOT_KEY_GROUP=${USER}`,
      `CARDVAULT_PRODUCTION_PORT=${production}`,
      `CARDVAULT_SANDBOX_PORT=${sandbox}`,
      `CARDVAULT_CONSOLE_PORT=${console_}`,
      `CARDVAULT_CAPTURE_PORT=${cards}`,
    ];
    assert.equal(config.User, `${USER}:${USER}`);
    assert.deepEqual(config.Cmd, ['serve']);
    mkdirSync(join(rootfs, 'etc', 'cardvault', 'secrets'), { recursive: true });
    writeFileSync(
      join(folder, 'config.json'),
      JSON.stringify({
        ociVersion: '1.0.2',
        process: {
          user: { uid: USER, gid: USER },
          args: [...config.Entrypoint, ...config.Cmd, '--json'],
          env: [...config.Env.filter((each) => !each.startsWith('CARDVAULT_HOST=')), ...variables],
          cwd: '/var/lib/cardvault',
          capabilities: { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] },
          noNewPrivileges: true,
        },
        root: { path: rootfs, readonly: true },
        mounts: [
          { destination: '/proc', type: 'proc', source: 'proc' },
          { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=65536k'] },
          {
            destination: '/var/lib/cardvault',
            type: 'bind',
            source: data,
            options: ['rbind', 'rw', 'nosuid', 'nodev', 'noexec'],
          },
          { destination: '/etc/cardvault/secrets', type: 'bind', source: secrets, options: ['rbind', 'ro'] },
        ],
        // The network of the machine: the test calls the ports directly.
        linux: { namespaces: ['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type })) },
      }),
    );
    const [program = '', ...args] = crun('run', '--bundle', folder, 'vault');
    const running: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    let logged = '';
    running.stdout?.setEncoding('utf8').on('data', (text) => {
      printed += text;
    });
    running.stderr?.setEncoding('utf8').on('data', (text) => {
      logged += text;
    });
    const ended = new Promise<number | null>((resolve) => running.on('exit', resolve));
    try {
      await eventually(async () => /\n\}\n$/.test(printed), 120_000);
      const { demo_key: key } = JSON.parse(printed);
      const ca = readFileSync(join(data, 'tls', 'ca.pem'));
      for (const port of [production, sandbox, console_, cards])
        assert.equal((await get(port, '/readyz', { ca })).status, 200);
      const body = JSON.stringify({
        chd: [{ card: '4111111111111111', name: 'Ana Lopez', exp: '12/29' }],
        tags: [],
        scheme: 1,
      });
      const tokenized = await get(sandbox, '/v1/tokenization/simple', { ca, key, body });
      assert.equal(tokenized.status, 200, tokenized.text);

      const { pid } = JSON.parse(run(crun('state', 'vault')).stdout);
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      assert.match(status, new RegExp(`^Uid:\\t${USER}\\t${USER}\\t${USER}\\t${USER}$`, 'm'));
      assert.match(status, /^CapEff:\t0{16}$/m);
      assert.match(readFileSync(`/proc/${pid}/limits`, 'utf8'), /^Max core file size +0 +0 /m);
      assert.doesNotMatch(logged, /core dumps allowed/);
      assert.match(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'), / \/ ro,/);

      const [kind, ...health] = config.Healthcheck.Test;
      assert.equal(kind, 'CMD');
      const checked = exec(...health);
      assert.equal(checked.status, 0, checked.stderr);
      const listed = exec('/usr/bin/cardvault', 'account', 'list');
      assert.match(listed.stdout, /Demo/, listed.stderr);
      assert.notEqual(exec('/bin/sh', '-c', 'true').status, 0);

      run(crun('kill', 'vault', 'TERM'));
      assert.equal(await ended, 0, logged);
    } finally {
      run(crun('delete', '--force', 'vault'));
      running.kill('SIGKILL');
    }
  });

  test('is unhealthy while nothing serves', () => {
    const health = readFileSync(join(rootfs, 'opt', 'cardvault', 'health.mjs'), 'utf8');
    const env = { ...process.env, CARDVAULT_PRODUCTION_PORT: '1' };
    assert.equal(spawnSync(process.execPath, ['--input-type=module', '-e', health], { env }).status, 1);
  });
});

/**
 * Returns a digest of what the machine loads of a program: its segments (ELF, 64 bits, little-endian), without the header
 * of the file, which says where symbols are.
 */
function loadedOf(path: string): string {
  const bytes = readFileSync(path);
  const header = 64;
  const [table, size, count] = [
    Number(bytes.readBigUInt64LE(0x20)),
    bytes.readUInt16LE(0x36),
    bytes.readUInt16LE(0x38),
  ];
  const digest = createHash('sha256');
  for (let index = 0; index < count; index++) {
    const at = table + index * size;
    // PT_LOAD
    if (bytes.readUInt32LE(at) !== 1) continue;
    const [start, length] = [Number(bytes.readBigUInt64LE(at + 8)), Number(bytes.readBigUInt64LE(at + 32))];
    digest.update(bytes.subarray(Math.max(start, header), start + length));
  }
  return digest.digest('hex');
}
