import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { showProfile } from '../../../../wire/profile.ts';

/** Profile of the user, as the service shows it. */
export type Profile = ValueOf<typeof showProfile.data>;
