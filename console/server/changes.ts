import { createJsonWriter } from '../../src/http/json-routes.ts';
import { parseBody } from '../../src/http/request-body.ts';
import type { Json } from '../../src/kernel/json.ts';
import type { Change, Route } from './route.ts';

/** The changes among the routes that can take two people, to be carried out later as they would have been at once. */
export const changesOf = (routes: readonly Route[]): ReadonlyMap<string, Change> =>
  new Map(
    routes.flatMap((route) => {
      const { byTwo } = route.definition;
      return byTwo === undefined ? [] : [[byTwo, changeOf(route)] as const];
    }),
  );

function changeOf({ definition, handle }: Route): Change {
  const write = createJsonWriter(definition.data.schema);
  return {
    definition,
    run: async (call, { params, body }, environment, consent) => {
      const { body: read } = parseBody(definition, Buffer.from(body, 'utf8'));
      const tenant = { account: call.account, environment };
      // Through its own schema, so that it answers what it would have answered at once.
      const answer = write(await handle({ ...call, params, tenant, consent, query: undefined, body: read }));
      return (JSON.parse(answer) as { result: Json }).result;
    },
  };
}
