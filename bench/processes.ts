import { readdirSync, readFileSync } from 'node:fs';

/** Resources that the operating system accounts to processes. On other systems than Linux every figure is NaN. */
const NS_PER_US = 1000;
const BYTES_PER_KB = 1024;

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The name of a process precedes its parent in the line and can hold anything. */
const parentOf = (pid: number): number => Number(/^.*\) \S (\d+) /s.exec(readIfThere(`/proc/${pid}/stat`))?.[1]);

/** Returns the process and everything that it started, directly or not. */
function treeOf(root: number): number[] {
  const parents = new Map(
    list('/proc')
      .map(Number)
      .filter((pid) => pid > 0)
      .map((pid) => [pid, parentOf(pid)] as const),
  );
  const tree = [root];
  for (const known of tree) for (const [pid, parent] of parents) if (parent === known) tree.push(pid);
  return tree;
}

const cpuOfThread = (pid: number, thread: string): number =>
  Number(readIfThere(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]) / NS_PER_US;

/** Returns the CPU time of all threads of a process and of its children so far, in microseconds. */
export function cpuOf(root: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  let microseconds = 0;
  for (const pid of treeOf(root))
    for (const thread of list(`/proc/${pid}/task`)) microseconds += cpuOfThread(pid, thread);
  return microseconds;
}

/** Returns the CPU time of the threads of a process that have this name so far, in microseconds. */
export function cpuOfThreads(pid: number, name: string): number {
  const threads = list(`/proc/${pid}/task`).filter(
    (thread) => readIfThere(`/proc/${pid}/task/${thread}/comm`).trim() === name,
  );
  return threads.reduce((sum, thread) => sum + cpuOfThread(pid, thread), 0);
}

/** Ticks of all cores since the start of the machine; those of them without work; and those that it waited because the host ran other machines. */
export function readMachineTime(): { readonly total: number; readonly idle: number; readonly stolen: number } {
  const [, ...ticks] = (readIfThere('/proc/stat').split('\n')[0] ?? '').split(/ +/).map(Number);
  // The last two are guests of this machine, which the first two contain.
  const [idle = Number.NaN, waiting = Number.NaN] = ticks.slice(3);
  const total = ticks.slice(0, 8).reduce((sum, one) => sum + one, 0);
  return { total, idle: idle + waiting, stolen: ticks[7] ?? Number.NaN };
}

/** Returns the bytes that a process has written to files on a disk so far. */
export const writtenBytesOf = (pid: number): number =>
  Number(/^write_bytes: (\d+)/m.exec(readIfThere(`/proc/${pid}/io`))?.[1] ?? Number.NaN);

/** Resident memory of a process in bytes. `file`: pages of files, such as its program. `anonymous`: all other pages. */
export interface Memory {
  readonly resident: number;
  readonly file: number;
  readonly anonymous: number;
}

/** Returns the resident memory of a process, without its children. */
export function memoryPartsOf(pid: number): Memory {
  const status = readIfThere(`/proc/${pid}/status`);
  const bytesOf = (name: string): number => {
    const kilobytes = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1];
    return Number(kilobytes ?? Number.NaN) * BYTES_PER_KB;
  };
  return { resident: bytesOf('VmRSS'), file: bytesOf('RssFile'), anonymous: bytesOf('RssAnon') };
}
