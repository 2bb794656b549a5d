import type { ServerResponse } from 'node:http';
import { type ForcedOutcome, scaled } from './cybersource-ledger.ts';
import type { REQUEST_SCHEMAS } from './cybersource-request-schemas.ts';
import type { FakeResponse } from './cybersource-responses.ts';

/** Faults between the fake and its client. */

export type RequestKind = keyof typeof REQUEST_SCHEMAS | 'details';

/**
 * `drop-before`: the connection breaks and nothing was executed. `drop-after`, `never-answer`: it was executed.
 * `garbage`, `truncated`, `duplicate` (the previous response of its type), `wrong-amount`, `wrong-currency`,
 * `wrong-code`: it was executed and the response is wrong.
 */
type FaultKind =
  | 'drop-before'
  | 'drop-after'
  | 'never-answer'
  | '502-before'
  | '502-after'
  | 'garbage'
  | 'truncated'
  | 'duplicate'
  | 'wrong-amount'
  | 'wrong-currency'
  | 'wrong-code';

export type Fault = { readonly on: RequestKind; readonly times?: number } & (
  | { readonly fault: FaultKind }
  | { readonly fault: 'delay'; readonly ms: number }
  | { readonly fault: 'verdict'; readonly verdict: ForcedOutcome }
);

/** The response with one of its members changed. */
export function corrupted(response: FakeResponse, fault: Fault['fault'] | undefined): FakeResponse {
  const text = JSON.stringify(response.body);
  const more = (_: string, name: string, amount: string): string =>
    `"${name}":"${Number(scaled(amount) / 10_000n) + 1}"`;
  const changed =
    fault === 'wrong-amount'
      ? text.replace(/"(authorizedAmount|totalAmount|refundAmount|reversedAmount|voidAmount)":"([0-9.]+)"/g, more)
      : fault === 'wrong-currency'
        ? text.replace(/"currency":"[A-Z]{3}"/g, '"currency":"XTS"')
        : fault === 'wrong-code'
          ? text.replace(/"code":"[A-Za-z0-9_.-]*[a-z]{25}"/g, '"code":"somebodyelse"')
          : text;
  return { status: response.status, body: JSON.parse(changed) };
}

export function send(outgoing: ServerResponse, { status, body }: FakeResponse): void {
  outgoing.writeHead(status, { 'content-type': 'application/hal+json;charset=utf-8' });
  outgoing.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Sends half of a response, and then nothing more. */
export function cutOff(outgoing: ServerResponse, { status, body }: FakeResponse): void {
  const text = JSON.stringify(body);
  outgoing.writeHead(status, { 'content-length': String(Buffer.byteLength(text)) });
  outgoing.write(text.slice(0, text.length / 2), () => outgoing.destroy());
}
