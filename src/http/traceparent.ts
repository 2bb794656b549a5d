import { LIMITS } from '../kernel/limits.ts';
import { containsIssuedPan } from '../kernel/pan.ts';

/** The place of a request in the trace of a client, as `traceparent` states it (W3C Trace Context). */
export interface TraceParent {
  /** 32 hexadecimal digits in lower case. */
  readonly traceId: string;
  /** 16 hexadecimal digits in lower case. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** A newer version may append members. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?$/;
const FIRST_VERSION = '00';
const INVALID_VERSION = 'ff';
const SAMPLED = 1;
const HEXADECIMAL = 16;

/** Returns undefined for a text that is malformed, and for an id in which a client could hide a card number. */
export function parseTraceParent(text: string | undefined): TraceParent | undefined {
  const [, version, traceId = '', spanId = '', flags = '', rest] = FORM.exec(text ?? '') ?? [];
  if (version === undefined || version === INVALID_VERSION || (version === FIRST_VERSION && rest !== undefined))
    return undefined;
  if ([traceId, spanId].some((id) => /^0+$/.test(id) || mayHidePan(id))) return undefined;
  return { traceId, spanId, isSampled: (Number.parseInt(flags, HEXADECIMAL) & SAMPLED) === SAMPLED };
}

/** Every part of a run of digits is compared, because the run may be longer than the card number. */
function mayHidePan(id: string): boolean {
  const { min, max } = LIMITS.panDigits;
  for (const run of id.match(/[0-9]+/g) ?? [])
    for (let start = 0; start + min <= run.length; start++)
      for (let length = min; length <= max && start + length <= run.length; length++)
        if (containsIssuedPan(run.slice(start, start + length))) return true;
  return false;
}

export const formatTraceParent = ({ traceId, spanId, isSampled }: TraceParent): string =>
  `${FIRST_VERSION}-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
