import type { Captures, RetrievedCapture } from '../src/captures/captures.ts';
import type { Core } from '../src/cli/context.ts';
import type { ApiCall, Endpoint, Services } from '../src/http/endpoint.ts';
import { createCapture } from '../src/http/endpoints/create-capture.ts';
import { inspectToken } from '../src/http/endpoints/inspect-token.ts';
import { proxyHash } from '../src/http/endpoints/proxy-hash.ts';
import { retrieveCapture } from '../src/http/endpoints/retrieve-capture.ts';
import { tokenizeCards } from '../src/http/endpoints/tokenize-cards.ts';
import type { Transaction } from '../src/idempotency/transaction.ts';
import { DAY } from '../src/kernel/clock.ts';
import type { Pan } from '../src/kernel/pan.ts';
import type { PayloadProxy } from '../src/proxy/payload-proxy.ts';
import type { Token } from '../src/vault/token.ts';
import { Vault } from '../src/vault/vault.ts';

export const ECHO = '/echo';
export const UNSTORED = '/unstored';

/** The same endpoint under another path with other services behind it: all the rest of a request is what it was. */
function beside(prefix: string, endpoint: Endpoint, fakes: () => Partial<Services>): Endpoint {
  const { run } = endpoint;
  if (typeof run !== 'function') throw new Error('an endpoint in stages has no echo');
  let services: Services | undefined;
  return {
    ...endpoint,
    path: prefix + endpoint.path,
    run: (call: ApiCall) => {
      services ??= { ...call.services, ...fakes() };
      // A copy of the call would be work that the service does not do.
      return run(Object.assign(call, { services }) as never);
    },
  };
}

const EXPIRY = { month: '12', year: '2029' };

const TOKEN: Token = {
  token: '',
  scheme: 1,
  card: { pan: '4111111111111111' as Pan, name: 'Ana Lopez', expiry: EXPIRY },
  tags: ['web'],
  createdBy: { id: 'key_9m2k4x7p1d8q3r', name: 'bench' },
  createdAt: Date.now(),
};

const OPENED: RetrievedCapture = {
  capture: {
    id: '0f4e2c9a-5d1b-4b7e-9c3a-8a1d2e3f4b5c',
    pan: '4111111111111111' as Pan,
    name: 'Ana Lopez',
    expiry: EXPIRY,
    sad: { cvv: '123', track2: undefined },
    amount: 12_500,
    currency: 'USD',
    additionalInfo: { order: 'A-100001' },
    createdAt: Date.now(),
    expiresAt: Date.now() + DAY,
  },
  panIndex: '9f86d081884c7d659a2feaa0c55ad015',
};

/** Answers of the right shape at once: no draw, no cipher, no database. */
const echoVault: Pick<Vault, 'tokenize' | 'inspect'> = {
  tokenize: async (_transaction, _tenant, { cards, tags, format, creator }) =>
    cards.map((card) => {
      const token = `${card.pan.slice(0, 6)}000000${card.pan.slice(12)}`;
      const { scheme } = format;
      return { card, token: { token, scheme, card, tags, createdBy: creator, createdAt: TOKEN.createdAt } };
    }),
  inspect: async (_tenant, token) => ({ ...TOKEN, token }),
};

const echoCaptures: Pick<Captures, 'create' | 'retrieve'> = {
  create: async () => OPENED.capture.id,
  retrieve: async () => OPENED,
};

const echoProxy: Pick<PayloadProxy, 'hash'> = {
  hash: async () => 'n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg=',
};

/** Everything but the commit. */
function unstoredVault(options: Core): Pick<Vault, 'tokenize'> {
  const vault = new Vault(options);
  return {
    tokenize: (transaction, tenant, request) => {
      const unwritten = Object.assign(Object.create(transaction) as Transaction, { write: () => undefined });
      return vault.tokenize(unwritten, tenant, request);
    },
  };
}

/** The routes that the endpoints are compared with, on the same server. `core` is called at the first request. */
export function comparisons(core: () => Core): Endpoint[] {
  const echo = (): Partial<Services> => ({
    vault: echoVault as Vault,
    captures: echoCaptures as Captures,
    proxy: echoProxy as PayloadProxy,
  });
  const echoed = [tokenizeCards, inspectToken, createCapture, retrieveCapture, proxyHash];
  return [
    ...echoed.map((endpoint) => beside(ECHO, endpoint, echo)),
    beside(UNSTORED, tokenizeCards, () => ({ vault: unstoredVault(core()) as Vault })),
  ];
}
