import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { enroll, enrollByTotp, showInvitation } from '../../../../wire/session.ts';

/** Invitation, as the service shows it. */
export type InvitationView = ValueOf<typeof showInvitation.data>;
/** Enrollment after the first step: the second factor to set up. */
export type Enrollment = ValueOf<typeof enroll.data>;
/** Completed enrollment with its recovery codes. */
export type EnrollmentResult = ValueOf<typeof enrollByTotp.data>;
