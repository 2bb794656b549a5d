#!/usr/bin/env node
// Runs cardvault with the Node it was made for, whatever Node called this file: the project's own on Linux, else the
// caller's when it is new enough. Plain JavaScript that every Node from 20 up understands.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import nodeModule, { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

// A SQLite before 3.51.3 can lose a commit when another checkpoint begins while a commit restarts its log (sqlite.org/wal.html,
// "The WAL-Reset Bug"), and threads of this program make checkpoints beside commits.
const NEEDED = { node: '24.0.0', sqlite: '3.51.3' };
const root = dirname(dirname(fileURLToPath(import.meta.url)));

function ownNode() {
  try {
    const manifest = createRequire(import.meta.url).resolve(`node-${process.platform}-${process.arch}/package.json`);
    const binary = join(dirname(manifest), 'bin', 'node');
    return existsSync(binary) ? binary : undefined;
  } catch {
    return undefined;
  }
}

// A core dump holds keys and card numbers in clear. Only a shell can forbid it, soft and hard, to what it then becomes.
const SHELL = '/bin/sh';
const WITHOUT_CORE_DUMPS = 'ulimit -c 0; exec "$0" "$@"';

/** Returns whether this process, and so whatever it starts, may write core dumps; true where that is unknown. */
function mayDumpCore() {
  try {
    return !/^Max core file size +0 +0 /m.test(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    return true;
  }
}

const [first, file, ...rest] = process.argv.slice(2);
// `--run FILE` is for the project's own scripts.
const isScript = first === '--run';
const script = isScript ? file : join(root, 'src', 'main.ts');
const args = isScript ? rest : process.argv.slice(2);
const isNewEnough = Object.entries(NEEDED).every(
  ([name, needed]) => needed.localeCompare(process.versions[name] ?? '', 'en', { numeric: true }) <= 0,
);
const node = ownNode() ?? (isNewEnough ? process.execPath : undefined);
if (node === undefined) {
  process.stderr.write(
    `cardvault needs Node ${NEEDED.node} or newer with SQLite ${NEEDED.sqlite} or newer on ${process.platform} ${process.arch}; this is ${process.version} with SQLite ${process.versions.sqlite ?? 'missing'}\n`,
  );
  process.exit(1);
}

// Signatures are made by these threads, and Node has four however many cores there are. It reads the number once, early.
process.env.UV_THREADPOOL_SIZE ??= String(Math.max(4, availableParallelism()));

// The allocator of the system gives each thread an area of its own, which keeps what the thread has freed: 6 MB of an idle
// service. Two are enough, because V8 has its heaps elsewhere.
process.env.MALLOC_ARENA_MAX ??= '2';

// Compiling the sources takes half a second of each start, and 30 MB. A user who can write to this folder can change the
// sources beside it as well; where the user of the service cannot, Node compiles at each start.
process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules', '.cache', 'cardvault-compiled');

// Two areas of this many MiB for young objects in each thread. V8 takes 64 on a large machine, which leave the caches of the
// processor between two collections; only requests with many cards, whose objects live longer, gain by them.
const YOUNG_GENERATION = '--max-semi-space-size=16';

const isThisNode = realpathSync(node) === realpathSync(process.execPath);
const needsShell = !isScript && mayDumpCore() && existsSync(SHELL);
const given = isThisNode ? process.execArgv : [];
/** V8 reads the size when it starts. */
const needsYoungGeneration =
  !isScript && args.includes('serve') && !given.some((option) => /^--max.semi.space.size\b/.test(option));
const command = [node, ...(needsYoungGeneration ? [YOUNG_GENERATION] : []), ...given, script, ...args];
const [program, ...options] = needsShell ? [SHELL, '-c', WITHOUT_CORE_DUMPS, ...command] : command;

if (isThisNode && !needsShell && !needsYoungGeneration) {
  process.argv = [process.execPath, script, ...args];
  nodeModule.enableCompileCache();
  await import(pathToFileURL(script).href);
} else if (process.execve !== undefined) {
  // The shell, where it is needed, and then Node take the place of this process, with its id, its files and its signals.
  process.execve(program, [program, ...options]);
} else {
  // The channel closes when this process dies in any way, and the child ends with it.
  const child = spawn(program, options, { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code) => process.exit(code ?? 1));
}
