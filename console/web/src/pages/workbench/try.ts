import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { tryPayload } from '../../../../wire/proxy.ts';

/** What goes to the workbench, and what comes of it. */
export type BodyOf = ValueOf<NonNullable<typeof tryPayload.body>>;
export type Outcome = ValueOf<typeof tryPayload.data>;
