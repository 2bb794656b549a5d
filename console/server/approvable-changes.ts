import { createWriter } from '../../src/http/envelopes.ts';
import { parseBody } from '../../src/http/request-body.ts';
import type { Json } from '../../src/kernel/json.ts';
import type { ApprovableChange, Route } from './route.ts';

/** The changes among the routes that can need approval, to be executed later with the same effect. */
export const listApprovableChanges = (routes: readonly Route[]): ReadonlyMap<string, ApprovableChange> =>
  new Map(
    routes.flatMap((route) => {
      const { dualControl } = route;
      return dualControl === undefined ? [] : [[dualControl, toApprovableChange(route)] as const];
    }),
  );

function toApprovableChange(route: Route): ApprovableChange {
  const write = createWriter(route);
  return {
    definition: route,
    commitsItself: route.commitsItself === true,
    execute: async (call, { params, body }, environment) => {
      const { body: read } = parseBody(route, Buffer.from(body, 'utf8'));
      const tenant = { account: call.account, environment };
      // Rendered through its own schema, so that the result is that of an immediate execution.
      const response = write(await route.run({ ...call, params, tenant, query: undefined, body: read }));
      return (JSON.parse(response) as { result: Json }).result;
    },
  };
}
