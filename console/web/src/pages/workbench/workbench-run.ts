import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { TextPosition } from '../../../../../src/kernel/text-position.ts';
import type { tryPayload } from '../../../../wire/proxy.ts';

/** Request and result of a workbench run. */
export type WorkbenchBody = ValueOf<NonNullable<typeof tryPayload.body>>;
export type WorkbenchRun = ValueOf<typeof tryPayload.data>;

/** Returns where in the payload the fault is; undefined when the fault has no place in it. */
export function faultPosition(error: WorkbenchRun['error']): TextPosition | undefined {
  const { line, column } = error?.explanation?.values ?? {};
  return typeof line === 'number' && typeof column === 'number' ? { line, column } : undefined;
}
