import type { tryPayload } from '../../../../src/console/wire/proxy.ts';
import type { ReadBy } from '../../../../src/http/fields.ts';

/** What goes to the workbench, and what comes of it. */
export type BodyOf = ReadBy<NonNullable<typeof tryPayload.body>>;
export type Outcome = ReadBy<typeof tryPayload.data>;
