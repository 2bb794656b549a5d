import { userInfo } from 'node:os';
import type { Actor, Origin } from '../audit/audit.ts';
import { escapeInvisible } from '../kernel/displayable.ts';

/** What the operating system reports of the user of this process. */
export interface SystemUser {
  readonly uid: number;
  readonly username: string;
}

/**
 * Returns the operator of a command, as the audit log names them. A name that is set says who acts where several people
 * share a user, as under sudo or in a container. The id is the operating system's in every case: setting a name hides no user.
 */
export function identifyOperator(named: string | undefined, readUser: () => SystemUser = readSystemUser): Origin {
  const { uid, username } = readUser();
  const name = named ?? escapeInvisible(username);
  const source = named === undefined ? 'os-user' : 'setting';
  return { actor: { type: 'operator', id: `uid:${uid}`, name, source } };
}

/** Returns the user; a container may run under a number that has no name. */
function readSystemUser(): SystemUser {
  try {
    return userInfo();
  } catch {
    const uid = process.geteuid?.() ?? -1;
    return { uid, username: `uid:${uid}` };
  }
}

const SOURCES = { setting: 'CARDVAULT_OPERATOR', 'os-user': 'user of the operating system' } as const;

/** Formats the line that says by which name a command recorded its operator. */
export const describeOperator = ({ name, source }: Actor): string =>
  `recorded in the audit log as operator ${name} (${SOURCES[source ?? 'os-user']})`;

/** Returns the same for programs. */
export const operatorView = ({ id, name, source }: Actor) => ({ id, name, source });
