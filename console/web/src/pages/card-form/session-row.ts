import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { listSessions } from '../../../../wire/card-form.ts';

/** A session of the list. */
export type SessionRow = ValueOf<typeof listSessions.data>['sessions'][number];
