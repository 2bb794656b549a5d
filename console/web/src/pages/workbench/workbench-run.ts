import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { tryPayload } from '../../../../wire/proxy.ts';

/** Request and result of a workbench run. */
export type WorkbenchBody = ValueOf<NonNullable<typeof tryPayload.body>>;
export type WorkbenchRun = ValueOf<typeof tryPayload.data>;
