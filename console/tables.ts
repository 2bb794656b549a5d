import type { Table } from '../src/storage/table.ts';
import { TABLES as alertMails } from './alerts/alert-mail-store.ts';
import { TABLES as alerts } from './alerts/alert-store.ts';
import { TABLES as personMails } from './alerts/person-mail-store.ts';
import { TABLES as approvals } from './approvals/approval-store.ts';
import { TABLES as factors } from './people/factor-store.ts';
import { TABLES as invitations } from './people/invitation-store.ts';
import { TABLES as memberships } from './people/membership-store.ts';
import { TABLES as people } from './people/person-store.ts';
import { TABLES as savedViews } from './people/saved-view-store.ts';
import { TABLES as sessions } from './people/session-store.ts';
import { TABLES as signInStates } from './people/sign-in-state-store.ts';
import { TABLES as activationRequests } from './server/activation-request-store.ts';

/** The tables of the console. */
export const CONSOLE_TABLES: readonly Table[] = [
  ...activationRequests,
  ...alertMails,
  ...alerts,
  ...approvals,
  ...factors,
  ...invitations,
  ...memberships,
  ...people,
  ...personMails,
  ...savedViews,
  ...sessions,
  ...signInStates,
];
