import { execFile } from 'node:child_process';
import {
  closeSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { promisify } from 'node:util';
import { type MonotonicClock, type Random, SECOND } from '../kernel/clock.ts';
import type { FileFacts } from './files.ts';
import { type HostResult, type ListeningSocket, parseListeningSockets, serverNameOf } from './network.ts';

/** Reads what the rules judge. Nothing is changed, and what a system lacks is empty or undefined. */

/** Returns the text of a file; empty when there is none that can be read. */
export function readTextOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Undefined for a path that does not exist, or cannot be reached. */
export function statOrNothing(path: string): FileFacts | undefined {
  try {
    const { mode, uid, gid } = statSync(path);
    return { path, mode, uid, gid };
  } catch {
    return undefined;
  }
}

/** Returns the path without symbolic links; as it is when it does not exist, or cannot be reached. */
export function resolveLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

export const listSocketsOfMachine = (): ListeningSocket[] =>
  ['tcp', 'tcp6'].flatMap((name) => parseListeningSockets(readTextOrNothing(`/proc/net/${name}`)));

/** Returns the process that has a socket; undefined for one of another user, which this one must not examine. */
export function findProcess({ inode }: ListeningSocket): string | undefined {
  const link = `socket:[${inode}]`;
  return listNames('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .find((id) => listNames(`/proc/${id}/fd`).some((descriptor) => readLink(`/proc/${id}/fd/${descriptor}`) === link));
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

/** Returns whether the block device, or the one below a file, is encrypted by dm-crypt; undefined where it is unknown. */
export function isOnEncryptedDevice(path: string): boolean | undefined {
  try {
    const stats = statSync(path);
    const device = stats.isBlockDevice() ? stats.rdev : stats.dev;
    const [major, minor] = [(device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00)];
    return isEncrypted(`/sys/dev/block/${major}:${minor}`);
  } catch {
    return undefined;
  }
}

/** A volume on encrypted devices alone is encrypted as well. */
function isEncrypted(device: string): boolean {
  if (readTextOrNothing(join(device, 'dm', 'uuid')).startsWith('CRYPT-')) return true;
  const below = listNames(join(device, 'slaves'));
  return below.length > 0 && below.every((name) => isEncrypted(join(device, 'slaves', name)));
}

const run = promisify(execFile);

/** Undefined where the system does not state it. */
export async function isClockSynchronized(): Promise<boolean | undefined> {
  try {
    const { stdout } = await run('timedatectl', ['show', '--property=NTPSynchronized', '--value'], {
      timeout: 5 * SECOND,
    });
    return stdout.trim() === 'yes';
  } catch {
    return undefined;
  }
}

const FLUSHES = 20;
const FLUSHED_BYTES = 4096;
const FLUSHING_MS = 2 * SECOND;

/**
 * Returns the median duration of a write with its flush, in milliseconds. The file has no name from its creation on, so that
 * nothing is left by a process that is killed.
 */
export function measureFlush(folder: string, stopwatch: MonotonicClock, random: Random): number {
  const path = join(folder, `.doctor-${Buffer.from(random.bytes(8)).toString('hex')}`);
  const handle = openSync(path, 'wx', 0o600);
  try {
    rmSync(path);
    const block = Buffer.alloc(FLUSHED_BYTES);
    const durations: number[] = [];
    const start = stopwatch();
    while (durations.length < FLUSHES && stopwatch() - start < FLUSHING_MS) {
      const before = stopwatch();
      writeSync(handle, block);
      fsyncSync(handle);
      durations.push(stopwatch() - before);
    }
    durations.sort((one, other) => one - other);
    return durations[Math.floor(durations.length / 2)] ?? 0;
  } finally {
    closeSync(handle);
  }
}

const CONNECT_MS = 5 * SECOND;

/** Connects with TLS as payments do, verifies the certificate, and sends nothing. */
export const connectToHost = ({ host, port }: { readonly host: string; readonly port: number }): Promise<HostResult> =>
  new Promise((resolve) => {
    const servername = serverNameOf(host);
    const socket = connect({ host, port, ...(servername !== undefined && { servername }) });
    const end = (fault: string | undefined): void => {
      socket.destroy();
      resolve({ host, port, fault });
    };
    socket.setTimeout(CONNECT_MS, () => end('no response within 5 seconds'));
    socket.once('secureConnect', () => end(undefined));
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.name));
  });
