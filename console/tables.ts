import type { DigestColumn, RotatedColumns } from '../src/storage/digest-columns.ts';
import type { SealedColumns } from '../src/storage/sealed-columns.ts';
import type { Table } from '../src/storage/table.ts';
import { TABLES as alertMails } from './alerts/alert-mail-store.ts';
import { TABLES as alerts } from './alerts/alert-store.ts';
import { TABLES as personMails, SEALED_COLUMNS as sealedPersonMails } from './alerts/person-mail-store.ts';
import { TABLES as approvals, SEALED_COLUMNS as sealedApprovals } from './approvals/approval-store.ts';
import { TABLES as factors, SEALED_COLUMNS as sealedFactors } from './people/factor-store.ts';
import { TABLES as invitations, SEALED_COLUMNS as sealedInvitations } from './people/invitation-store.ts';
import { DIGEST_COLUMNS as membershipDigests, TABLES as memberships } from './people/membership-store.ts';
import {
  TABLES as people,
  DIGEST_COLUMNS as peopleDigests,
  SEALED_COLUMNS as sealedPeople,
} from './people/person-store.ts';
import { TABLES as savedViews, SEALED_COLUMNS as sealedViews } from './people/saved-view-store.ts';
import {
  SEALED_COLUMNS as sealedSessions,
  DIGEST_COLUMNS as sessionDigests,
  TABLES as sessions,
} from './people/session-store.ts';
import { SEALED_COLUMNS as sealedStates, TABLES as signInStates } from './people/sign-in-state-store.ts';
import { TABLES as activationRequests, SEALED_COLUMNS as sealedRequests } from './server/activation-request-store.ts';

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

/** The sealed columns of the tables of the console. */
const SEALED_COLUMNS: readonly SealedColumns[] = [
  ...sealedApprovals,
  ...sealedFactors,
  ...sealedInvitations,
  ...sealedPeople,
  ...sealedPersonMails,
  ...sealedRequests,
  ...sealedSessions,
  ...sealedStates,
  ...sealedViews,
];

/** The columns of keyed digests and MACs of the console. */
const DIGEST_COLUMNS: readonly DigestColumn[] = [...membershipDigests, ...peopleDigests, ...sessionDigests];

/** The columns of the console that depend on keys which can be rotated. */
export const ROTATED_CONSOLE_COLUMNS: RotatedColumns = { sealed: SEALED_COLUMNS, digests: DIGEST_COLUMNS };
