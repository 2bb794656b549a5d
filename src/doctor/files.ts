import { type Check, ok, problem, warning } from './check.ts';

/** Rules about permissions and owners of files. */

/** A file or folder as `stat` describes it. */
export interface FileFacts {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** The user and the group that may use the files. */
export interface Access {
  /** The number of the user of the service; undefined where it is unknown. */
  readonly user: number | undefined;
  /** The number of the group of `CARDVAULT_ROOT_KEY_GROUP`; undefined without the setting. */
  readonly group: number | undefined;
}

const OTHERS = 0o007;
const GROUP = 0o070;
const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;
const ROOT = 0;

const modeOf = ({ mode }: FileFacts): string => (mode & 0o7777).toString(8).padStart(4, '0');

/**
 * Checks a file or folder that cardvault made: its user alone has access, and the group where one is configured. Returns
 * the faults.
 */
export function listFaultsOfOwnFile(name: string, file: FileFacts, { user, group }: Access): Check[] {
  const faults: Check[] = [];
  const { path, mode, uid, gid } = file;
  const shown = `${path} has mode ${modeOf(file)}`;
  const isOfForeignGroup = (mode & GROUP) !== 0 && gid !== group;
  if ((mode & OTHERS) !== 0)
    faults.push(
      problem(name, `${shown}: every user can reach it`, `chmod ${isOfForeignGroup ? 'go' : 'o'}-rwx ${path}`),
    );
  else if (isOfForeignGroup)
    faults.push(problem(name, `${shown}: the members of group ${gid} can reach it`, `chmod g-rwx ${path}`));
  if (user !== undefined && uid !== user)
    faults.push(
      problem(name, `${path} belongs to user ${uid}, and the service has user ${user}`, `chown ${user} ${path}`),
    );
  return faults;
}

/** Checks a file with a secret that the operator made: others cannot read it, and a group cannot change it. */
export function listFaultsOfSecret(name: string, file: FileFacts, { user, group }: Access): Check[] {
  const { path, mode, uid, gid } = file;
  if ((mode & OTHERS) !== 0)
    return [problem(name, `${path} has mode ${modeOf(file)}: every user can reach it`, `chmod o-rwx ${path}`)];
  if ((mode & GROUP_WRITE) !== 0)
    return [problem(name, `${path} can be changed by the members of group ${gid}`, `chmod g-w ${path}`)];
  if (user !== undefined && uid !== user && uid !== ROOT)
    return [problem(name, `${path} belongs to user ${uid}, who can change it`, `chown root ${path}`)];
  if ((mode & GROUP) !== 0 && gid !== group)
    return [
      warning(
        name,
        `${path} can be read by the members of group ${gid}`,
        `make sure that the service is its only member, or: chmod g-rwx ${path}`,
      ),
    ];
  return [];
}

/** Checks files of the program, which every process of the service executes. */
export function checkProgram(files: readonly FileFacts[]): Check {
  const open = files.find(({ mode }) => (mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0);
  if (open !== undefined) return problem('program', `every user can change ${open.path}`, `chmod -R o-w ${open.path}`);
  return ok('program', 'other users cannot change the program');
}
