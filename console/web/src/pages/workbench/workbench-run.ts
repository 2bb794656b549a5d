import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { tryPayload } from '../../../../wire/proxy.ts';

/** What goes to the workbench, and what comes of it. */
export type WorkbenchBody = ValueOf<NonNullable<typeof tryPayload.body>>;
export type WorkbenchRun = ValueOf<typeof tryPayload.data>;
