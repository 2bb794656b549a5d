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
  /** The change needs approval first; the user was notified. */
  readonly onApprovalPending: () => void;
  readonly onError: (error: CallError) => void;
}

/** Change that returns a link. */
export interface LinkChange<Input> {
  readonly send: (input: Input, handlers: LinkHandlers) => void;
  readonly isBusy: boolean;
}

/** Change without a result; it is done, failed, or needs approval. */
export interface PlainChange<Input> {
  readonly send: (input: Input, onSent: (isDone: boolean) => void) => void;
  readonly isBusy: boolean;
  readonly error: CallError | null;
  readonly reset: () => void;
}

/** Changes that the user may make to a team; absent ones are not permitted. */
export interface TeamCalls {
  readonly invite?: LinkChange<{ email: string; role: AccountRole }>;
  /** Preselected role; undefined when there is only one. */
  readonly firstRole?: AccountRole;
  readonly withdraw?: PlainChange<string>;
  readonly changeRole?: PlainChange<{ person: string; role: AccountRole }>;
  readonly remove?: PlainChange<string>;
  readonly reset?: LinkChange<string>;
  /** Text about the effect of removing a user. */
  readonly removeText: 'remove.text' | 'remove.operatorText';
}
