import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  closeSync,
  cpSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  statfsSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

const STARTS_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 15;
const MEMORY = '/dev/shm';
const ROOM = 4 * 1024 ** 3;
/** Its shared memory is files in its folder, which go with that. */
const LEAVES_NOTHING = { dynamic_shared_memory_type: 'mmap' };

/** PostgreSQL refuses to run as root: its own user then, or one that nobody logs in as. Empty: as whoever we are. */
interface RunsAs {
  readonly uid?: number;
  readonly gid?: number;
}

function runsAs(): RunsAs {
  if (process.getuid?.() !== 0) return {};
  const users = readFileSync('/etc/passwd', 'utf8').split('\n');
  const line = ['postgres', 'nobody'].map((name) => users.find((user) => user.startsWith(`${name}:`))).find(Boolean);
  const [, , uid, gid] = line?.split(':') ?? [];
  if (uid === undefined) throw new Error('no user that PostgreSQL could run as: root must not');
  return { uid: Number(uid), gid: Number(gid) };
}

/** A folder that goes, with every server in it, when this process ends in whatever way. */
export class Home {
  readonly directory: string;
  readonly user = runsAs();
  readonly #keeper: ChildProcess;

  constructor(parent = tmpdir()) {
    this.directory = mkdtempSync(join(parent, 'cardvault-postgres-'));
    this.give(this.directory);
    this.#keeper = spawn('/bin/sh', ['-c', KEEPER, 'keeper', this.directory], {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#keeper.unref();
    (this.#keeper.stdin as unknown as { unref(): void }).unref();
  }

  /** Files that the server's user is to own. */
  give(path: string): void {
    const { uid, gid } = this.user;
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid);
  }

  /** The programs where their user can run them: a checkout of root's is closed to it. */
  reachable(bin: string): string {
    const { status } = spawnSync(join(bin, 'postgres'), ['--version'], { ...this.user, cwd: '/' });
    if (status === 0) return bin;
    const copy = join(this.directory, 'programs');
    cpSync(dirname(bin), copy, { recursive: true, verbatimSymlinks: true });
    chmodSync(copy, 0o755);
    return join(copy, basename(bin));
  }

  /** Runs one of the programs as the server's user; throws with what it said. */
  run(program: string, args: readonly string[]): void {
    const { error, status, stderr, stdout } = spawnSync(program, args, { ...this.options(), encoding: 'utf8' });
    if (status !== 0) throw new Error(`${basename(program)}: ${error?.message ?? stderr + stdout}`);
  }

  /** The same for what takes long, while this process goes on. */
  async runAside(program: string, args: readonly string[]): Promise<void> {
    await promisify(execFile)(program, args, this.options());
  }

  options() {
    const env = { PATH: process.env['PATH'], TZ: 'UTC' };
    return { ...this.user, cwd: this.directory, env };
  }

  /** Ends what runs in it and removes it. */
  async remove(): Promise<void> {
    if (this.#keeper.exitCode !== null) return;
    const gone = once(this.#keeper, 'exit');
    this.#keeper.ref();
    this.#keeper.stdin?.end();
    await gone;
  }
}

/** Waits until its input ends, as it does when the process that holds it dies, and then cleans up. */
const KEEPER = `
trap '' INT TERM HUP
cat > /dev/null
for file in "$1"/*/postmaster.pid; do
  read -r pid < "$file" || continue
  memory=$(sed -n '7s/.* //p' "$file")
  case "$(tr '\\0' ' ' < /proc/$pid/cmdline || ps -o command= -p "$pid")" in *"$1"*)
    kill -QUIT "$pid"
    for try in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$pid" || break; sleep 0.$try; done
    kill -KILL "$pid" ;;
  esac
  # What one that was killed could not give back.
  [ -e "$file" ] && [ -n "$memory" ] && ipcrm -m "$memory"
done
rm -rf "$1"
`;

/** A folder in memory when there is one with much room, for what a crash of the machine may take. */
export function memoryFolder(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > ROOM ? MEMORY : undefined;
  } catch {
    return undefined;
  }
}

/** A server process on a folder of data that `initdb` or a base backup has made. */
export class Server {
  readonly #home: Home;
  readonly #bin: string;
  readonly #data: string;
  readonly #settings: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;

  constructor(home: Home, bin: string, data: string, settings: Readonly<Record<string, string>>) {
    this.#home = home;
    this.#bin = bin;
    this.#data = data;
    this.#settings = settings;
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when it takes connections. */
  async start(): Promise<void> {
    if (this.isRunning) return;
    const settings = Object.entries({ ...LEAVES_NOTHING, ...this.#settings }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const log = openSync(this.#log, 'a', 0o600);
    const child = spawn(join(this.#bin, 'postgres'), ['-D', this.#data, ...settings], {
      ...this.#home.options(),
      detached: true,
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    child.unref();
    this.#child = child;
    const failed = new Promise<never>((_resolve, reject) => child.once('error', reject));
    await Promise.race([this.#untilReady(child), failed]);
  }

  async #untilReady({ pid }: ChildProcess): Promise<void> {
    for (const until = performance.now() + STARTS_WITHIN_MS; performance.now() < until; await wait(LOOK_EVERY_MS)) {
      if (!this.isRunning) break;
      const lines = readIfThere(join(this.#data, 'postmaster.pid')).split('\n');
      if (Number(lines[0]) === pid && /^(ready|standby)/.test(lines[7] ?? '')) return;
    }
    throw new Error(`PostgreSQL did not start: ${readIfThere(this.#log).slice(-2000)}`);
  }

  /** Ends it and all its processes without any warning. */
  async kill(): Promise<void> {
    const pid = this.#child?.pid;
    if (!this.isRunning || pid === undefined) return;
    // Standing still it starts no other.
    process.kill(pid, 'SIGSTOP');
    const children = childrenOf(pid).filter(isThere);
    for (const each of [...children, pid]) process.kill(each, 'SIGKILL');
    while (this.isRunning || children.some(isThere)) await wait(LOOK_EVERY_MS);
  }

  get #log(): string {
    return `${this.#data}.log`;
  }
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** State and parent of a process, undefined when there is none. */
function processAt(pid: number): { state: string; parent: number } | undefined {
  const [, state, parent] = /^.*\) (\S) (\d+) /s.exec(readIfThere(`/proc/${pid}/stat`)) ?? [];
  return state === undefined ? undefined : { state, parent: Number(parent) };
}

const isThere = (pid: number): boolean => !['Z', 'X', undefined].includes(processAt(pid)?.state);

/** Of Linux; elsewhere they end by themselves a moment after their parent. */
const childrenOf = (pid: number): number[] =>
  process.platform !== 'linux'
    ? []
    : readdirSync('/proc')
        .map(Number)
        .filter((each) => each > 0 && processAt(each)?.parent === pid);

/** Of 127.0.0.1, and none that the system gives to outgoing connections: it must be free again after a kill. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = randomInt(20_000, 32_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
  throw new Error('no free port');
}
