import { PERMISSIONS } from '../accounts/permission.ts';
import type { Origin } from '../audit/audit.ts';
import type { Transactions } from '../idempotency/transaction.ts';
import type { Failure } from '../kernel/failure.ts';
import type { PayloadProxy } from '../proxy/payload-proxy.ts';
import { hashResponse, proxyHash } from './endpoints/proxy-hash.ts';
import { joseResponse, proxyJose } from './endpoints/proxy-jose.ts';
import type { ProxyCall } from './endpoints/proxy-parameters.ts';
import { proxyWssec, wssecResponse } from './endpoints/proxy-wssec.ts';
import { ENVELOPES } from './envelopes.ts';
import { PROBLEMS, toFailure } from './problems.ts';
import { parseBody } from './request-body.ts';

const PROXY_ENDPOINTS = {
  jose: { endpoint: proxyJose, compute: joseResponse },
  wssec: { endpoint: proxyWssec, compute: wssecResponse },
  hash: { endpoint: proxyHash, compute: hashResponse },
} as const;

interface WorkbenchRun extends Pick<ProxyCall, 'tenant' | 'query'> {
  readonly kind: keyof typeof PROXY_ENDPOINTS;
  readonly text: string;
  readonly proxy: PayloadProxy;
  readonly transactions: Transactions;
  readonly origin: Origin;
}

interface WorkbenchResult {
  readonly status: number;
  /** JSON text in lines. */
  readonly response: string;
  readonly failure: Failure | undefined;
}

const { success, failure: failed } = ENVELOPES.proxy;
const SERVER_ERROR = 500;

const formatJson = (body: unknown): string => JSON.stringify(body, undefined, 2);

/**
 * Returns the response of a proxy endpoint to a caller with all permissions. An error of the caller is a response, too;
 * any other error is thrown.
 */
export async function runInWorkbench({
  kind,
  text,
  proxy,
  transactions,
  origin,
  ...call
}: WorkbenchRun): Promise<WorkbenchResult> {
  const { endpoint, compute } = PROXY_ENDPOINTS[kind];
  const answer: (call: ProxyCall) => Promise<unknown> = compute;
  try {
    const payload = parseBody(endpoint, Buffer.from(text, 'utf8'));
    const key = { permissions: PERMISSIONS };
    const data = await transactions.run({ origin, account: call.tenant.account }, (transaction) =>
      answer({ ...call, transaction, key, headers: {}, text: payload.text, services: { proxy } }),
    );
    return { status: 200, response: formatJson(success(data)), failure: undefined };
  } catch (error) {
    const failure = toFailure(error);
    const { status } = PROBLEMS[failure.code];
    if (status >= SERVER_ERROR) throw error;
    return { status, response: formatJson(failed(failure, status)), failure };
  }
}
