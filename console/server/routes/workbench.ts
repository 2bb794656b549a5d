import type { WorkbenchRequest } from '../../../src/http/workbench.ts';
import type { Failure } from '../../../src/kernel/failure.ts';
import { runInWorkbench } from '../../wire/workbench.ts';
import { type ConsoleServices, type Route, route } from '../route.ts';

const toErrorView = ({ code, reason, values, field }: Failure) => ({
  code,
  explanation: reason === undefined ? null : { reason, values },
  field: field ?? null,
});

type Response = Awaited<ReturnType<ConsoleServices['workbench']['run']>>;

export const workbenchRoutes: readonly Route[] = [
  route(runInWorkbench, {
    intend: async ({ account, person, origin, body, now }): Promise<WorkbenchRequest> => ({
      operationId: body.operation,
      parameter: body.parameter ?? '',
      query: body.hash_type === undefined ? '' : `type=${body.hash_type}`,
      text: body.payload ?? '',
      // Never production: card data of cardholders must not reach a browser.
      tenant: { account, environment: 'sandbox' },
      origin,
      creator: { id: person.id, name: person.name },
      now,
    }),
    // A request may call a processor, so it runs once, as the second stage of any operation.
    send: ({ workbench }, request: WorkbenchRequest) => workbench.run(request),
    conclude: async ({ services }, { now }, { status, response, failure }: Response) => ({
      status,
      response,
      error: failure === undefined ? null : toErrorView(failure),
      duration_ms: Math.max(0, services.clock() - now),
    }),
  }),
];
