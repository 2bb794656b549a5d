import { type Check, ok, problem, warning } from './check.ts';

/** Rules about the disk below a folder. */

/** A mounted file system. */
export interface Mount {
  readonly point: string;
  /** Such as `ext4`. */
  readonly type: string;
  readonly isReadOnly: boolean;
}

const GIBIBYTE = 2 ** 30;
/** The write-ahead log, a migration and a backup need room at the same time. */
const LEAST_BYTES = GIBIBYTE;
const LOW_SHARE = 0.1;
/** A commit waits for one flush: beyond these, in milliseconds, every change is slow, or too slow for clients. */
const SLOW_FLUSH_MS = 20;
const TOO_SLOW_FLUSH_MS = 200;
/** No disk keeps data in less time than this, in milliseconds. */
const UNLIKELY_FLUSH_MS = 0.01;

const VOLATILE = new Set(['tmpfs', 'ramfs', 'devtmpfs']);
const CONTAINER = new Set(['overlay', 'aufs']);
const NETWORK = /^(nfs4?|cifs|smb3?|9p|ceph|glusterfs|lustre|afs|fuse\..*(ssh|s3|gluster|ceph).*)$/;

/** Parses `/proc/self/mountinfo`. */
export const parseMounts = (text: string): Mount[] =>
  text.split('\n').flatMap((line) => {
    const [head = '', tail] = line.split(' - ');
    const fields = head.split(' ');
    const [point, options] = [fields[4], fields[5]];
    const type = tail?.split(' ')[0];
    if (point === undefined || options === undefined || type === undefined) return [];
    const isReadOnly = options.split(',').includes('ro');
    return [
      {
        point: point.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
        type,
        isReadOnly,
      },
    ];
  });

/** Returns the file system of an absolute path without links: the last one that was mounted at the longest of its folders. */
export function findMount(mounts: readonly Mount[], path: string): Mount | undefined {
  const contains = ({ point }: Mount): boolean => point === '/' || path === point || path.startsWith(`${point}/`);
  return mounts
    .filter(contains)
    .reduce<Mount | undefined>(
      (best, mount) => (best === undefined || mount.point.length >= best.point.length ? mount : best),
      undefined,
    );
}

/** `mount`: undefined where the system does not state it. `holdsDatabase`: true for the folder of SQLite's file. */
export function checkFileSystem(folder: string, mount: Mount | undefined, holdsDatabase: boolean): Check {
  const name = 'file system';
  if (mount === undefined) return ok(name, `the system does not state the file system of ${folder}`);
  const { type } = mount;
  if (mount.isReadOnly)
    return problem(name, `${folder} cannot be written: ${mount.point} is mounted read-only`, 'mount it for writing');
  if (VOLATILE.has(type))
    return problem(name, `${folder} is in memory (${type}) and lost with a restart`, 'move it to a disk');
  if (CONTAINER.has(type))
    return warning(
      name,
      `${folder} is in the layer of a container (${type}) and is lost when the container is removed`,
      'mount a volume there',
    );
  if (!NETWORK.test(type)) return ok(name, `${folder} is on ${type}`);
  const found = `${folder} is on a network (${type})`;
  return holdsDatabase
    ? problem(name, `${found}, where SQLite can lose data`, 'move the database to a local disk, or use PostgreSQL')
    : warning(name, found, 'use a local disk: the keys are read over the network, and a start needs it');
}

export function checkSpace(folder: string, free: number, total: number): Check {
  const name = 'disk space';
  const message = `${formatBytes(free)} of ${formatBytes(total)} are free at ${folder}`;
  if (free < LEAST_BYTES) return problem(name, message, 'free space: with a full disk nothing is stored');
  if (free < total * LOW_SHARE) return warning(name, message, 'free space, or use a larger disk');
  return ok(name, message);
}

/** `milliseconds`: the median duration of a write with its flush. */
export function checkFlush(milliseconds: number): Check {
  const name = 'disk flush';
  const message = `a write is on the disk after ${formatMilliseconds(milliseconds)} ms`;
  if (milliseconds > TOO_SLOW_FLUSH_MS) return problem(name, message, 'use a faster disk: each commit waits for it');
  if (milliseconds > SLOW_FLUSH_MS) return warning(name, message, 'use a faster disk: each commit waits for it');
  if (milliseconds < UNLIKELY_FLUSH_MS)
    return warning(name, `${message}, which no disk does`, 'find out what ignores flushes: a power failure loses data');
  return ok(name, message);
}

const formatMilliseconds = (value: number): string => (value < 1 ? value.toFixed(3) : value.toFixed(1));

const formatBytes = (bytes: number): string => `${(bytes / GIBIBYTE).toFixed(1)} GiB`;
