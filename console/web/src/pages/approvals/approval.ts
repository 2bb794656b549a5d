import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listApprovals } from '../../../../wire/approvals.ts';

/** Change that needs approval, as the service lists it. */
export type Approval = ValueOf<typeof listApprovals.data>['approvals'][number];
