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
import { setTimeout } from 'node:timers/promises';
import { parse } from 'yaml';
import { eventually } from './fixtures/eventually.ts';
import { startPostgres } from './fixtures/postgres.ts';
import { whyNoPostgres } from './fixtures/postgres-binaries.ts';
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

const START_MS = 240_000;
const CARD = JSON.stringify({
  chd: [{ card: '4111111111111111', name: 'Ana Lopez', exp: '12/29' }],
  tags: [],
  scheme: 1,
});

/** A mount of the OCI runtime specification. */
interface Mount {
  readonly destination: string;
  readonly type: string;
  readonly source: string;
  readonly options: readonly string[];
}

const readOnly = (destination: string, source: string): Mount => ({
  destination,
  type: 'bind',
  source,
  options: ['rbind', 'ro'],
});

const newRootKey = (): string => `${createHash('sha256').update('a key of this test').digest('hex')}\n`;

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

  /** A folder that belongs to the user of the image. */
  const newData = (name: string): string => {
    const data = join(folder, name);
    mkdirSync(data, { mode: 0o700 });
    chownSync(data, USER, USER);
    return data;
  };
  const freePorts = async () => ({
    PRODUCTION: await freePort(),
    SANDBOX: await freePort(),
    CONSOLE: await freePort(),
    CAPTURE: await freePort(),
  });

  /** Starts a container without root, rights and a root file system that can be written, as compose and Kubernetes do. */
  const start = (
    name: string,
    data: string,
    { variables, ports, mounts }: { variables: string[]; ports: Record<string, number>; mounts: Mount[] },
  ) => {
    assert.equal(config.User, `${USER}:${USER}`);
    assert.deepEqual(config.Cmd, ['serve']);
    for (const { destination } of mounts)
      if (destination === '/etc/hosts') writeFileSync(join(rootfs, destination), '');
      else mkdirSync(join(rootfs, destination), { recursive: true });
    const bundle = join(folder, `bundle-${name}`);
    mkdirSync(bundle);
    writeFileSync(
      join(bundle, 'config.json'),
      JSON.stringify({
        ociVersion: '1.0.2',
        process: {
          user: { uid: USER, gid: USER },
          args: [...config.Entrypoint, ...config.Cmd, '--json'],
          env: [
            ...config.Env.filter((each) => !each.startsWith('CARDVAULT_HOST=')),
            'CARDVAULT_HOST=127.0.0.1',
            ...Object.entries(ports).map(([listener, port]) => `CARDVAULT_${listener}_PORT=${port}`),
            ...variables,
          ],
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
          ...mounts,
        ],
        // The network of the machine: the test calls the ports directly.
        linux: { namespaces: ['pid', 'ipc', 'uts', 'mount'].map((type) => ({ type })) },
      }),
    );
    const [program = '', ...args] = crun('run', '--bundle', bundle, name);
    const running: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    const output = { printed: '', logged: '' };
    running.stdout?.setEncoding('utf8').on('data', (text) => {
      output.printed += text;
    });
    running.stderr?.setEncoding('utf8').on('data', (text) => {
      output.logged += text;
    });
    const ended = new Promise<number | null>((resolve) => running.on('exit', resolve));
    const isStarted = async (): Promise<boolean> => {
      if (running.exitCode !== null) throw new Error(`${name} ended: ${output.logged}`);
      return output.logged.includes('"msg":"started"');
    };
    return {
      output,
      ended,
      started: () => eventually(isStarted, START_MS),
      kill: (signal: string) => run(crun('kill', name, signal)),
      exec: (...command: string[]) => run(crun('exec', '--user', `${USER}:${USER}`, name, ...command)),
      end: () => {
        run(crun('delete', '--force', name));
        running.kill('SIGKILL');
      },
    };
  };

  /** The process of a container has no right, no core dump and a root file system that cannot be written. */
  const assertConfined = (name: string): void => {
    const { pid } = JSON.parse(run(crun('state', name)).stdout);
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    assert.match(status, new RegExp(`^Uid:\\t${USER}\\t${USER}\\t${USER}\\t${USER}$`, 'm'));
    assert.match(status, /^CapEff:\t0{16}$/m);
    assert.match(readFileSync(`/proc/${pid}/limits`, 'utf8'), /^Max core file size +0 +0 /m);
    assert.match(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'), / \/ ro,/);
  };

  test('is served without root, rights and a file system that can be written', async () => {
    const data = newData('data');
    const secrets = join(folder, 'secrets');
    mkdirSync(secrets);
    // A root key as Kubernetes mounts it: it belongs to root, and the group of the pod may read it.
    const rootKey = join(secrets, 'root.key');
    writeFileSync(rootKey, newRootKey(), { mode: 0o440 });
    chownSync(rootKey, 0, USER);
    const ports = await freePorts();
    const variables = ['CARDVAULT_ROOT_KEY_FILE=/etc/cardvault/secrets/root.key', `CARDVAULT_ROOT_KEY_GROUP=${USER}`];
    const vault = start('vault', data, { variables, ports, mounts: [readOnly('/etc/cardvault/secrets', secrets)] });
    try {
      await vault.started();
      await eventually(async () => /\n\}\n$/.test(vault.output.printed), START_MS);
      const { demo_key: key } = JSON.parse(vault.output.printed);
      const ca = readFileSync(join(data, 'tls', 'ca.pem'));
      for (const port of Object.values(ports)) assert.equal((await get(port, '/readyz', { ca })).status, 200);
      const tokenized = await get(ports.SANDBOX, '/v1/tokenization/simple', { ca, key, body: CARD });
      assert.equal(tokenized.status, 200, tokenized.text);

      assertConfined('vault');
      assert.doesNotMatch(vault.output.logged, /core dumps allowed/);
      const [kind, ...health] = config.Healthcheck.Test;
      assert.equal(kind, 'CMD');
      const checked = vault.exec(...health);
      assert.equal(checked.status, 0, checked.stderr);
      const listed = vault.exec('/usr/bin/cardvault', 'account', 'list');
      assert.match(listed.stdout, /Demo/, listed.stderr);
      assert.notEqual(vault.exec('/bin/sh', '-c', 'true').status, 0);

      vault.kill('TERM');
      assert.equal(await vault.ended, 0, vault.output.logged);
    } finally {
      vault.end();
    }
  });

  test('is two nodes over one PostgreSQL with the settings of the compose file, of which one continues alone', async (context) => {
    const why = whyNoPostgres();
    if (why !== false) return context.skip(why);
    const postgres = await startPostgres({ isCareless: true });
    const { services } = parse(readFileSync(join(ROOT, 'deploy', 'compose.yaml'), 'utf8'));
    // The secrets as docs/container.md creates them.
    const secrets = join(folder, 'run-secrets');
    mkdirSync(secrets);
    const rootKey = join(secrets, 'root.key');
    writeFileSync(rootKey, newRootKey(), { mode: 0o400 });
    chownSync(rootKey, USER, USER);
    const { username, password, port, pathname } = new URL(await postgres.newDatabase());
    writeFileSync(join(secrets, 'postgres-password'), password, { mode: 0o444 });
    const hosts = join(folder, 'hosts');
    writeFileSync(hosts, '127.0.0.1 localhost database\n');
    // User, port and database are those of the test; the host and the parameters are those of the file.
    const address = new URL(services.vault.environment.CARDVAULT_DATABASE_URL);
    assert.equal(address.host, 'database');
    Object.assign(address, { username, port, pathname });
    const settings = { ...services.vault.environment, CARDVAULT_DATABASE_URL: address.href };
    const variables = Object.entries<string>(settings).map(
      ([name, value]) => `${name}=${value.replace(/\$\{\w+:-([^}]*)\}/g, '$1')}`,
    );
    const mounts = [
      readOnly('/run/secrets', secrets),
      readOnly('/etc/hosts', hosts),
      {
        destination: '/tmp',
        type: 'tmpfs',
        source: 'tmpfs',
        options: ['size=16m', 'mode=1777', 'noexec', 'nosuid', 'nodev'],
      },
    ];
    const startNode = async (name: string) => {
      const data = newData(`data-${name}`);
      const ports = await freePorts();
      const node = start(name, data, { variables, ports, mounts });
      const ca = (): Buffer => readFileSync(join(data, 'tls', 'ca.pem'));
      const call = (path: string, options: { key?: string; body?: string } = {}) =>
        get(ports.SANDBOX, path, { ca: ca(), ...options });
      return { ...node, call };
    };
    const one = await startNode('one');
    try {
      await one.started();
      const other = await startNode('other');
      try {
        await other.started();
        for (const name of ['one', 'other']) assertConfined(name);
        const command = (...args: string[]) => {
          const { stdout, stderr, status } = one.exec('/usr/bin/cardvault', ...args, '--json');
          assert.equal(status, 0, stderr);
          return JSON.parse(stdout);
        };
        const account = command('account', 'create', '--name', 'Example Store').id;
        const toKey = ['--environment', 'sandbox', '--name', 'shop', '--ip', '127.0.0.1=shop'];
        const { key } = command('key', 'create', '--account', account, ...toKey);
        // Within 5 seconds of the command; more attempts with a key that is not known yet would be rate limited.
        for (const node of [one, other])
          await eventually(async () => {
            await setTimeout(500);
            return (await node.call('/v1/account', { key })).status === 200;
          });
        const tokenize = async (node: typeof one): Promise<string> => {
          const { status, text } = await node.call('/v1/tokenization/simple', { key, body: CARD });
          assert.equal(status, 200, text);
          return JSON.parse(text).data.tokens[0].token;
        };
        const read = async (token: string): Promise<void> => {
          const { status, text } = await other.call(`/v1/tokens/${token}/inspect`, { key });
          assert.equal(status, 200, text);
        };
        const token = await tokenize(one);
        await read(token);

        one.kill('KILL');
        await one.ended;
        await assert.rejects(one.call('/readyz'));
        assert.equal((await other.call('/readyz')).status, 200);
        await read(token);
        await read(await tokenize(other));
        other.kill('TERM');
        assert.equal(await other.ended, 0, other.output.logged);
      } finally {
        other.end();
      }
    } finally {
      one.end();
      await postgres.stop();
    }
    return undefined;
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
