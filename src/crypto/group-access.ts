import { closeSync, constants, fchmodSync, fchownSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { OperatorError } from '../kernel/operator-error.ts';

/** Access for operators with separate users on the machine: through one group, and through nothing else. */

class GroupError extends OperatorError {
  override readonly name = 'GroupError';
}

class NoGroupError extends GroupError {
  override readonly isUsageError = true;
}

const SETTING = 'CARDVAULT_ROOT_KEY_GROUP';

/** Returns the number of a group that is given by its number, or by a name of this machine's group file. */
export function resolveGroupId(group: string, readGroups: () => string = readGroupFile): number {
  if (/^[0-9]+$/.test(group)) return Number(group);
  for (const line of readGroups().split('\n')) {
    const [name, , id = ''] = line.split(':');
    if (name === group && /^[0-9]+$/.test(id)) return Number(id);
  }
  throw new NoGroupError(
    `${SETTING}: there is no such group in /etc/group; create it, or give the number of the group`,
  );
}

function readGroupFile(): string {
  try {
    return readFileSync('/etc/group', 'utf8');
  } catch {
    return '';
  }
}

/**
 * Gives a file or folder that belongs to the user of this process to the group, with this mode. Files of other users
 * are unchanged.
 */
export function shareWithGroup(path: string, group: number, mode: number): void {
  try {
    // A link could point to a file that the members of the group must not reach.
    const handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const { uid, gid, mode: present } = fstatSync(handle);
      if (uid !== process.geteuid?.()) return;
      if (gid !== group) fchownSync(handle, -1, group);
      if ((present & 0o7777) !== mode) fchmodSync(handle, mode);
    } finally {
      closeSync(handle);
    }
  } catch (cause) {
    const { code = 'unknown' } = cause as NodeJS.ErrnoException;
    throw new GroupError(
      `${path} cannot be given to the group of ${SETTING} (${code}): its owner must be a member and run a command with this setting`,
    );
  }
}
