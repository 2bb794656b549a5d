import { openConsole } from '../console/open.ts';
import { startService } from '../src/app.ts';
import { parseConfig } from '../src/config.ts';
import type { ApiCall, Services } from '../src/http/endpoint.ts';
import { tokenizeCards } from '../src/http/endpoints/tokenize-cards.ts';
import { openLog } from '../src/http/log.ts';
import { collectWithoutHelpers } from '../src/start-memory.ts';
import type { Vault } from '../src/vault/vault.ts';
import { systemClocks } from '../test/fixtures/clock.ts';
import type { EchoReport } from './bare-echo.ts';
import { respond } from './child.ts';

/**
 * The service with an echo in the place of its vault: everything that a tokenization needs but the token, its cipher and
 * its database. The difference to the bare echo is the price of the server, the difference to the service that of the vault.
 */
const CREATED_AT = Date.now();

const echo: Pick<Vault, 'tokenize'> = {
  tokenize: async (_transaction, _tenant, { cards, tags, format, creator }) =>
    cards.map((card) => {
      const token = `${card.pan.slice(0, 6)}000000${card.pan.slice(12)}`;
      return { card, token: { token, scheme: format.scheme, card, tags, createdBy: creator, createdAt: CREATED_AT } };
    }),
};

const { run } = tokenizeCards;
if (typeof run !== 'function') throw new Error('an endpoint in stages has no echo');
let services: Services | undefined;
const endpoint = {
  ...tokenizeCards,
  run: (call: ApiCall) => {
    services ??= { ...call.services, vault: echo as Vault };
    // A copy of the call would be work that the service does not do.
    return run(Object.assign(call, { services }) as never);
  },
};

/** Starts at the first order, with the settings of this process's environment. */
respond(async (): Promise<EchoReport> => {
  collectWithoutHelpers();
  const config = parseConfig(process.env);
  const log = openLog(config.logLevel, () => Date.now());
  const running = await startService(config, systemClocks, log, { openConsole, endpoints: [endpoint] });
  return { port: running.ports.sandbox };
});
