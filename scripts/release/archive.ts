import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { basename, dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/**
 * Writes a folder to a `.tgz` whose bytes depend on names, contents and modes alone: sorted, owned by root, with one time. Node's
 * own compression, because the version of Node is fixed and that of gzip is not.
 */
export async function writeArchive(folder: string, file: string, seconds: number): Promise<void> {
  const fixed = ['--sort=name', '--owner=root:0', '--group=root:0', '--numeric-owner', `--mtime=@${seconds}`];
  const args = ['--format=ustar', ...fixed, '-cf', '-', basename(folder)];
  const tar = spawn('tar', args, {
    cwd: dirname(folder),
    env: { ...process.env, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(tar, 'close');
  await pipeline(tar.stdout, createGzip({ level: 9 }), createWriteStream(file));
  const [code] = await closed;
  if (code !== 0) throw new Error(`tar ended with ${code}`);
}
