import { PERMISSIONS } from '../accounts/permission.ts';
import type { Failure } from '../kernel/failure.ts';
import type { PayloadProxy } from '../proxy/proxy.ts';
import { hashAnswer, proxyHash } from './endpoints/proxy-hash.ts';
import { joseAnswer, proxyJose } from './endpoints/proxy-jose.ts';
import type { ProxyCall } from './endpoints/proxy-parameters.ts';
import { proxyWssec, wssecAnswer } from './endpoints/proxy-wssec.ts';
import { ENVELOPES } from './envelopes.ts';
import { failureOf, PROBLEMS } from './problems.ts';
import { readBody } from './request-body.ts';

const KINDS = {
  jose: { endpoint: proxyJose, answer: joseAnswer },
  wssec: { endpoint: proxyWssec, answer: wssecAnswer },
  hash: { endpoint: proxyHash, answer: hashAnswer },
} as const;

interface Trial extends Pick<ProxyCall, 'tenant' | 'origin' | 'query'> {
  readonly kind: keyof typeof KINDS;
  readonly text: string;
  readonly proxy: PayloadProxy;
}

interface Tried {
  readonly status: number;
  /** JSON text in lines. */
  readonly answer: string;
  readonly failure: Failure | undefined;
}

const { success, failure: failed } = ENVELOPES.proxy;
const BAD_SERVICE = 500;

const inLines = (body: unknown): string => JSON.stringify(body, undefined, 2);

/**
 * What an endpoint of the proxy would answer to whoever may do everything. What the caller did wrong is such an answer;
 * anything else is thrown.
 */
export async function tryOut({ kind, text, proxy, ...call }: Trial): Promise<Tried> {
  const { endpoint, answer } = KINDS[kind];
  try {
    const { source } = readBody(endpoint, Buffer.from(text, 'utf8'));
    const key = { permissions: PERMISSIONS };
    const data = await answer({ ...call, key, headers: {}, source, services: { proxy } });
    return { status: 200, answer: inLines(success(data)), failure: undefined };
  } catch (error) {
    const failure = failureOf(error);
    const { status } = PROBLEMS[failure.code];
    if (status >= BAD_SERVICE) throw error;
    return { status, answer: inLines(failed(failure, status)), failure };
  }
}
