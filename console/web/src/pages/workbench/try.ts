import type { ReadBy } from '../../../../../src/http/fields.ts';
import type { tryPayload } from '../../../../wire/proxy.ts';

/** What goes to the workbench, and what comes of it. */
export type BodyOf = ReadBy<NonNullable<typeof tryPayload.body>>;
export type Outcome = ReadBy<typeof tryPayload.data>;
