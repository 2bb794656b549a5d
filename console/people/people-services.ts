import { AuditThrottle } from './audit-throttle.ts';
import { EmailConfirmation } from './email-confirmation.ts';
import { Enrollment } from './enrollment.ts';
import { FactorManagement } from './factor-management.ts';
import { Invitations } from './invitations.ts';
import { type DeriveKey, Passwords } from './passwords.ts';
import { People } from './people.ts';
import { SavedViews } from './saved-views.ts';
import type { PeopleDependencies } from './sealing.ts';
import { Sessions } from './sessions.ts';
import { SignIn } from './sign-in.ts';
import { Team } from './team.ts';

/** Use cases about users, for routes and commands. */
export interface PeopleServices {
  readonly people: People;
  readonly emailConfirmation: EmailConfirmation;
  readonly team: Team;
  readonly invitations: Invitations;
  readonly sessions: Sessions;
  readonly signIn: SignIn;
  readonly enrollment: Enrollment;
  readonly factorManagement: FactorManagement;
  readonly savedViews: SavedViews;
  /** Repeated denials; flushed periodically, and before the process ends. */
  readonly repeats: AuditThrottle;
}

export interface PeopleOptions extends PeopleDependencies {
  /** Computes the hashes of passwords; absent: argon2id. */
  readonly derive?: DeriveKey;
}

export function createPeopleServices({
  database,
  transactions,
  keyring,
  clock,
  time,
  random,
  derive,
}: PeopleOptions): PeopleServices {
  const dependencies = { database, transactions, keyring, clock, time, random };
  const passwords = new Passwords({ random, ...(derive && { derive }) });
  const repeats = new AuditThrottle(dependencies);
  const invitations = new Invitations(dependencies);
  return {
    people: new People({ ...dependencies, passwords }),
    emailConfirmation: new EmailConfirmation(dependencies),
    team: new Team(dependencies),
    invitations,
    sessions: new Sessions(dependencies),
    signIn: new SignIn({ ...dependencies, passwords, repeats }),
    enrollment: new Enrollment({ ...dependencies, passwords, invitations }),
    factorManagement: new FactorManagement(dependencies),
    savedViews: new SavedViews(dependencies),
    repeats,
  };
}
