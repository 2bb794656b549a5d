import { createWriter } from '../../src/http/envelopes.ts';
import { parseBody } from '../../src/http/request-body.ts';
import type { StagedHandler } from '../../src/http/route.ts';
import type { Json } from '../../src/kernel/json.ts';
import type { AnyCall, ApprovableChange, ConsoleServices, Route } from './route.ts';

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
  // Rendered through its own schema, so that the result is that of an immediate execution.
  const toResult = (data: unknown): Json => (JSON.parse(write(data)) as { result: Json }).result;
  return {
    definition: route,
    toCall: (call, { params, body }, environment) => {
      const { body: read } = parseBody(route, Buffer.from(body, 'utf8'));
      return { ...call, params, tenant: { account: call.account, environment }, query: undefined, body: read };
    },
    stages: toStages(route.run, toResult),
  };
}

/** A change without an effect outside the database has a result after its first stage. */
function toStages(run: Route['run'], toResult: (data: unknown) => Json): StagedHandler<AnyCall, Json, ConsoleServices> {
  if (typeof run !== 'function')
    return {
      intend: (call) => run.intend(call),
      send: (services, intent) => run.send(services, intent),
      conclude: async (call, intent, sent) => toResult(await run.conclude(call, intent, sent)),
    };
  return {
    intend: async (call) => toResult(await run(call)),
    send: async (_, result) => result,
    conclude: async (_, result) => result as Json,
  };
}
