import { runInWorkbench } from '../../../src/http/workbench.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import { tryPayload } from '../../wire/proxy.ts';
import { type Route, route } from '../route.ts';

const toErrorView = ({ code, reason, values, field }: Failure) => ({
  code,
  explanation: reason === undefined ? null : { reason, values },
  field: field ?? null,
});

export const workbenchRoutes: readonly Route[] = [
  route(tryPayload, async (call) => {
    const { services, account, body, origin, now } = call;
    const { proxy, transactions, clock } = services;
    const { kind, hash_type: type, payload: text } = body;
    // Never production: card data of cardholders must not reach a browser.
    const tenant = { account, environment: 'sandbox' } as const;
    const query = type === undefined ? '' : `type=${type}`;
    const { status, response, failure } = await runInWorkbench({
      kind,
      text,
      proxy,
      transactions,
      tenant,
      origin,
      query,
    });
    return {
      status,
      response,
      error: failure === undefined ? null : toErrorView(failure),
      duration_ms: Math.max(0, clock() - now),
    };
  }),
];
