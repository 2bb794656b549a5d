import { runInWorkbench } from '../../../src/http/workbench.ts';
import { tryPayload } from '../../wire/proxy.ts';
import { type Route, route } from '../route.ts';

export const workbenchRoutes: readonly Route[] = [
  route(tryPayload, async (call) => {
    const { services, account, body, origin, now } = call;
    const { proxy, transactions, clock } = services;
    const { kind, hash_type: type, payload: text } = body;
    // Never production: card data of cardholders must not reach a browser.
    const tenant = { account, environment: 'sandbox' } as const;
    const query = type === undefined ? '' : `type=${type}`;
    const {
      status,
      response: answer,
      failure,
    } = await runInWorkbench({
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
      answer,
      error: failure === undefined ? null : { code: failure.code, description: failure.message },
      duration_ms: Math.max(0, clock() - now),
    };
  }),
];
