import type { ValueOf } from '../../../../../src/http/fields.ts';
import type { TextPosition } from '../../../../../src/kernel/text-position.ts';
import { OPERATIONS, type Operation, type runInWorkbench } from '../../../../wire/workbench.ts';
import { buildRequest } from '../../parts/curl-commands.ts';
import { isProxy } from './examples.ts';

/** Result of a workbench run. */
export type WorkbenchRun = ValueOf<typeof runInWorkbench.data>;

/** Returns where in the payload the fault is; undefined when the fault has no place in it. */
export function faultPosition(error: WorkbenchRun['error']): TextPosition | undefined {
  const { line, column } = error?.explanation?.values ?? {};
  return typeof line === 'number' && typeof column === 'number' ? { line, column } : undefined;
}

/** A request as the user composed it. */
export interface ComposedRequest {
  readonly operation: Operation;
  readonly parameter: string;
  readonly hashType: string;
  /** Undefined for an operation without a body. */
  readonly payload: string | undefined;
}

const CONTENT_TYPES: Partial<Record<Operation, string>> = { proxyWssec: 'application/xml', proxyHash: 'text/plain' };

/** Returns the command that sends the same request. `curl`: its beginning up to the path. */
export function toCurl(curl: string, { operation, parameter, hashType, payload }: ComposedRequest): string {
  const { method, path } = OPERATIONS[operation];
  const query = operation === 'proxyHash' ? `?type=${hashType}` : '';
  return buildRequest({
    curl,
    method,
    path: `${path.replace(/:[a-z]+/, () => encodeURIComponent(parameter))}${query}`,
    keyHeader: isProxy(operation) ? 'ft-access-key' : 'x-api-key',
    contentType: CONTENT_TYPES[operation] ?? 'application/json',
    body: payload,
  });
}
