import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CustodyError } from '../custody.ts';

const OWN_FOLDER = join(import.meta.dirname, '..', '..', '..');

/**
 * Loads a library that the operator installed beside cardvault, which does not depend on it. `folder`: where its
 * `node_modules` is; absent: where cardvault is installed. Throws `CustodyError` with the command that installs it, or
 * all `packages` that it needs.
 */
export async function loadInstalledLibrary(
  name: string,
  folder: string | undefined,
  packages = name,
): Promise<Record<string, unknown>> {
  const path = findInstalled(name, folder ?? OWN_FOLDER);
  if (path === undefined) {
    const where = folder === undefined ? 'in the folder of cardvault' : `in ${folder}`;
    throw new CustodyError(
      `the library ${name} is not installed; run ${where}: npm install --no-save ${packages} (or set CARDVAULT_LIBRARIES)`,
    );
  }
  try {
    const loaded = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
    // A CommonJS module has its exports in `default` as well, and the analyzer of Node may not find all names.
    return { ...loaded, ...(loaded['default'] as Record<string, unknown> | undefined) };
  } catch {
    throw new CustodyError(`the library ${name} cannot be loaded; install it again for this version of Node`);
  }
}

/** Node also searches the folders above, where others than the operator may be allowed to write. */
function findInstalled(name: string, folder: string): string | undefined {
  try {
    const path = realpathSync(createRequire(join(folder, 'package.json')).resolve(name));
    return path.startsWith(`${realpathSync(join(folder, 'node_modules'))}${sep}`) ? path : undefined;
  } catch {
    return undefined;
  }
}
