import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { showTeam } from '../../../../wire/team.ts';
import type { CallError } from '../../api/call.ts';
import type { PersonalLink } from './link-dialog.tsx';
import type { AccountRole } from './role-choice.tsx';

export type Team = ValueOf<typeof showTeam.data>;
export type Person = Team['people'][number];
export type Invitation = Team['invitations'][number];

interface LinkHandlers {
  readonly onLink: (link: Omit<PersonalLink, 'text'>) => void;
  /** There is no link yet: a second person has to agree, which was said. */
  readonly onApprovalPending: () => void;
  readonly onError: (error: CallError) => void;
}

/** A change that makes a link. */
export interface LinkChange<Input> {
  readonly send: (input: Input, handlers: LinkHandlers) => void;
  readonly isBusy: boolean;
}

/** A change that is done, or is not, or waits for a second person, which was said then. */
export interface PlainChange<Input> {
  readonly send: (input: Input, onSent: (isDone: boolean) => void) => void;
  readonly isBusy: boolean;
  readonly error: CallError | null;
  readonly reset: () => void;
}

/** What can be done with a team by whoever looks at it; what is absent cannot. */
export interface TeamCalls {
  readonly invite?: LinkChange<{ email: string; role: AccountRole }>;
  /** Of the form; undefined: there is one role only. */
  readonly firstRole?: AccountRole;
  readonly withdraw?: PlainChange<string>;
  readonly changeRole?: PlainChange<{ person: string; role: AccountRole }>;
  readonly remove?: PlainChange<string>;
  readonly reset?: LinkChange<string>;
  /** What losing this team means. */
  readonly removeText: 'remove.text' | 'remove.operatorText';
}
