import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Small disks in memory. Mounting them needs a mount namespace, see `run.ts`. */

const CHUNK = 4 << 20;
const LEAST_CHUNK = 1024;
const FILLER = 'filler';

/** Only its user may access the folder, as PostgreSQL requires. */
export function mountDisk(user: { uid?: number; gid?: number }, folder: string, megabytes: number): void {
  mkdirSync(folder, { mode: 0o700 });
  const { uid = process.getuid?.(), gid = process.getgid?.() } = user;
  const options = `size=${megabytes}m,mode=0700,uid=${uid},gid=${gid}`;
  const args = ['-t', 'tmpfs', '-o', options, 'cardvault-chaos', folder];
  const { status, stderr } = spawnSync('mount', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`no disk could be mounted: ${stderr}`);
}

export const unmountDisk = (folder: string): void => {
  spawnSync('umount', ['-l', folder]);
};

/** Fills the disk to the last byte. */
export function fill(folder: string): void {
  const file = openSync(join(folder, FILLER), 'w');
  const zeros = Buffer.alloc(CHUNK);
  for (let size = CHUNK; size >= LEAST_CHUNK; ) {
    try {
      writeSync(file, zeros, 0, size);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      size /= 4;
    }
  }
  closeSync(file);
}

export const free = (folder: string): void => rmSync(join(folder, FILLER), { force: true });
