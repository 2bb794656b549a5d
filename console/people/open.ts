import { Repeats } from '../../src/audit/repeats.ts';
import { Invitations } from './invitations.ts';
import { Joining } from './joining.ts';
import { OwnFactors } from './own-factors.ts';
import { Passwords } from './passwords.ts';
import { People } from './people.ts';
import type { Means } from './sealing.ts';
import { Sessions } from './sessions.ts';
import { SignIn } from './sign-in.ts';
import { Team } from './team.ts';

/** What the console and the command line do with people. */
export interface PeopleParts {
  readonly people: People;
  readonly team: Team;
  readonly invitations: Invitations;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly joining: Joining;
  readonly ownFactors: OwnFactors;
  /** Refusals of people who go on; to be flushed now and then, and at the end. */
  readonly repeats: Repeats;
}

export function openPeople({ database, keyring, clock, time, random }: Means): PeopleParts {
  const means = { database, keyring, clock, time, random };
  const passwords = new Passwords(means);
  const repeats = new Repeats(means);
  const invitations = new Invitations(means);
  return {
    people: new People({ ...means, passwords }),
    team: new Team(means),
    invitations,
    sessions: new Sessions(means),
    signIn: new SignIn({ ...means, passwords, repeats }),
    joining: new Joining({ ...means, passwords, invitations }),
    ownFactors: new OwnFactors(means),
    repeats,
  };
}
