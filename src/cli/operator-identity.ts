import { userInfo } from 'node:os';
import type { Actor, Origin } from '../audit/audit.ts';
import { escapeInvisible } from '../kernel/displayable.ts';

/** The operating system's data about the user of this process. */
interface SystemUser {
  readonly uid: number;
  readonly username: string;
}

/**
 * Returns the operator of a command for the audit log. A configured name identifies the operator where several
 * operators share a user, as under sudo or in a container. The id is the operating system's in every case: a configured
 * name hides no user.
 */
export function identifyOperator(named: string | undefined, readUser: () => SystemUser = readSystemUser): Origin {
  const { uid, username } = readUser();
  const name = named ?? escapeInvisible(username);
  const source = named === undefined ? 'os-user' : 'setting';
  return { actor: { type: 'operator', id: `uid:${uid}`, name, source } };
}

/** Returns the user; a container may run under a number without a name. */
function readSystemUser(): SystemUser {
  try {
    return userInfo();
  } catch {
    const uid = process.geteuid?.() ?? -1;
    return { uid, username: `uid:${uid}` };
  }
}

const SOURCES = { setting: 'CARDVAULT_OPERATOR', 'os-user': 'user of the operating system' } as const;

/** Formats the line that states the name under which a command was recorded. */
export const describeOperator = ({ name, source }: Actor): string =>
  `recorded in the audit log as operator ${name} (${SOURCES[source ?? 'os-user']})`;

/** Returns the same as a member of JSON output. */
export const operatorView = ({ id, name, source }: Actor) => ({ id, name, source });
